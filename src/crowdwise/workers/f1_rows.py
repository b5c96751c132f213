"""Workers by the F1 of what they name or mark, in a few rows; luck with a few answers leads neither end."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..core.result import Result
from .ranking import best_and_worst
from .wording import between, number

# Half-width of a 95 % interval in standard errors.
WIDE = 1.96


def f1_ends(table: pl.DataFrame) -> pl.DataFrame:
    """With f1_low and f1_high, about 95 %: Wilson's interval as if F1 were a share of so many answers, since classes or
    spans of one answer are right or wrong together (Wilson 1927, doi:10.1080/01621459.1927.10502953). A rule of thumb:
    a picture of workers holds no single answers to draw again. `evaluate` draws tasks again for its own intervals."""
    f1 = table["f1"].fill_null(float("nan")).to_numpy()
    n = np.maximum(table["n_labels"].to_numpy().astype(np.float64), 1e-9)
    middle = (f1 + WIDE**2 / (2 * n)) / (1 + WIDE**2 / n)
    half = WIDE * np.sqrt(np.maximum(f1 * (1 - f1), 0.0) / n + WIDE**2 / (4 * n**2)) / (1 + WIDE**2 / n)
    ends = {"f1_low": np.maximum(middle - half, 0.0), "f1_high": np.minimum(middle + half, 1.0)}
    return table.with_columns(
        pl.col("f1").fill_nan(None), *(pl.Series(name, each).fill_nan(None) for name, each in ends.items())
    )


def set_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Of label sets: the surest good and the surest bad ones by F1."""
    more = {"precision": "precision", "recall": "recall", "false_alarms": "false alarms", "named": "classes named"}
    return _rows(result, limit, "F1", more)


def span_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Of spans: the surest good and the surest bad ones by F1 against the others."""
    return _rows(result, limit, "F1 with the others", {"precision": "precision", "recall": "recall"})


def _rows(result: Result, limit: int, title: str, more: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    table = f1_ends(result.worker_table())
    best, worst = best_and_worst(table.filter(pl.col("f1").is_not_null()), limit, "f1")
    rows = [
        [str(row["worker"]), f"{row['n_labels']:,}", number(row["f1"]), between(row["f1_low"], row["f1_high"])]
        + [number(row[name], 2 if name == "named" else 3) for name in more]
        for row in best.vstack(worst.reverse()).to_dicts()
    ]
    header = ["worker", "answers", title, "about 95 %", *more.values()]
    if len(worst):
        rows.insert(limit, ["…"] + [""] * (len(header) - 1))
    return header, rows
