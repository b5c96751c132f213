"""Tables of the best and worst workers for the terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..core.result import Result
from .studied import best_and_worst, between, number

# Half-width of a 95 % interval in standard errors.
WIDE = 1.96


def f1_ends(table: pl.DataFrame) -> pl.DataFrame:
    """Add f1_low and f1_high, an approximate 95 % interval.

    It is Wilson's interval as if F1 were a share of n answers, since classes or spans of one answer are right or wrong
    together (Wilson 1927, doi:10.1080/01621459.1927.10502953). This is a rule of thumb: a worker summary holds no
    single answers to resample. `evaluate` resamples tasks for its own intervals.
    """
    f1 = table["f1"].fill_null(float("nan")).to_numpy()
    n = np.maximum(table["n_labels"].to_numpy().astype(np.float64), 1e-9)
    middle = (f1 + WIDE**2 / (2 * n)) / (1 + WIDE**2 / n)
    half = WIDE * np.sqrt(np.maximum(f1 * (1 - f1), 0.0) / n + WIDE**2 / (4 * n**2)) / (1 + WIDE**2 / n)
    limits = {"f1_low": np.maximum(middle - half, 0.0), "f1_high": np.minimum(middle + half, 1.0)}
    return table.with_columns(
        pl.col("f1").fill_nan(None), *(pl.Series(name, values).fill_nan(None) for name, values in limits.items())
    )


def set_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Return the best and worst workers of label sets by F1."""
    more = {"precision": "precision", "recall": "recall", "false_alarms": "false alarms", "named": "classes named"}
    return _rows(result, limit, "F1", more)


def span_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Return the best and worst workers of spans by F1 against the others."""
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


# ----------------------------------------------------------------
# The best and worst workers of a result of classes or numbers.

WorkerRows = tuple[list[str], list[list[str]]]


def worker_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return the best and worst workers of classes by the ends of their skills' intervals; workers without labels left
    out.
    """
    best, worst = best_and_worst(result.worker_table(), limit)
    picked = best.vstack(worst.reverse())
    rows = [
        [str(w), f"{n:,}", f"{s:.3f}", f"{lo:.3f} – {hi:.3f}", bar(s, lo, hi)] for w, n, s, lo, hi in picked.iter_rows()
    ]
    if len(worst):
        rows.insert(limit, ["…", "", "", "", ""])
    return ["worker", "labels", "skill", "95 % interval", ""], rows


def number_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return the workers of numbers with the smallest and largest spread in the unit of the tasks.

    Workers who always give the same answer have no spread and a slope of 0: they carry no information and come last.
    """
    summary: Any = result.worker_summary
    answered = np.flatnonzero(result.labels_per_worker > 0)
    unit = np.maximum(np.abs(summary.slope), 1e-12)
    noise = np.log(np.maximum(summary.spread, 1e-300) / unit).mean(axis=1)
    order = answered[np.argsort(noise[answered], kind="stable")]
    selected = order if len(order) <= 2 * limit else np.concatenate([order[:limit], order[-limit:]])
    names = result.workers.gather(selected).to_list()
    ends = [f" {part}" if part else "" for part in summary.parts.to_list()]
    header = ["worker", "answers", *(f"{what}{end}" for end in ends for what in ("bias", "spread", "slope"))]
    rows = [
        [str(name), f"{result.labels_per_worker[w]:,}"]
        + [f"{values[w, j]:.3g}" for j in range(len(ends)) for values in (summary.bias, summary.spread, summary.slope)]
        for name, w in zip(names, selected, strict=True)
    ]
    if len(selected) < len(order):
        rows.insert(limit, ["…"] + [""] * (len(header) - 1))
    return header, rows


def bar(value: float, low: float, high: float, width: int = 24) -> str:
    """Draw an interval on 0..1 as text: ┄┄━━●━━┄┄."""
    cells = ["┄"] * width
    a, b, dot = (min(width - 1, max(0, int(x * width))) for x in (low, high, value))
    cells[a : b + 1] = "━" * (b + 1 - a)
    cells[dot] = "●"
    return "".join(cells)
