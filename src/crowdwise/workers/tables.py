"""Tables of the best and worst workers for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ..core.result import Result
from .studied import best_and_worst, between, number

# Half-width of a 95 % interval in standard errors.
WIDE = 1.96


# Header and rows of a table.
WorkerRows = tuple[list[str], list[list[str]]]


def end_rows(
    table: pl.DataFrame, limit: int, by: str, header: list[str], cells: Callable[[dict[str, Any]], list[str]]
) -> WorkerRows:
    """Return the header, and the `limit` best and worst workers by a score with a row of dots between them."""
    best, worst = best_and_worst(table, limit, by)
    return header, _with_dots([cells(row) for row in best.vstack(worst.reverse()).to_dicts()], limit, bool(len(worst)))


def _with_dots(rows: list[list[str]], limit: int, is_cut: bool) -> list[list[str]]:
    return [*rows[:limit], ["…"] + [""] * (len(rows[0]) - 1), *rows[limit:]] if is_cut else rows


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


def set_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return the best and worst workers of label sets by F1."""
    more = {"precision": "precision", "recall": "recall", "false_alarms": "false alarms", "named": "classes named"}
    return _rows(result, limit, "F1", more)


def span_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return the best and worst workers of spans by F1 against the others."""
    return _rows(result, limit, "F1 with the others", {"precision": "precision", "recall": "recall"})


def _rows(result: Result, limit: int, title: str, more: dict[str, str]) -> WorkerRows:
    def cells(row: dict[str, Any]) -> list[str]:
        fixed = [str(row["worker"]), f"{row['n_labels']:,}", number(row["f1"]), between(row["f1_low"], row["f1_high"])]
        return fixed + [number(row[name], 2 if name == "named" else 3) for name in more]

    table = f1_ends(result.worker_table()).filter(pl.col("f1").is_not_null())
    return end_rows(table, limit, "f1", ["worker", "answers", title, "about 95 %", *more.values()], cells)


# ----------------------------------------------------------------
# The best and worst workers of a result of classes or numbers, or by a score of the worker summary.


def worker_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return the best and worst workers of classes by the ends of their skills' intervals; workers without labels left
    out.
    """

    def cells(row: dict[str, Any]) -> list[str]:
        worker, n, skill, low, high = row.values()
        return [str(worker), f"{n:,}", f"{skill:.3f}", f"{low:.3f} – {high:.3f}", bar(skill, low, high)]

    return end_rows(result.worker_table(), limit, "skill", ["worker", "labels", "skill", "95 % interval", ""], cells)


def summary_rows(result: Result, limit: int, by: str, more: Sequence[str], answers: str = "answers") -> WorkerRows:
    """Return the best and worst workers by the ends of the intervals of an attribute of the worker summary.

    `more` are further attributes that are shown.
    """
    summary: Any = result.worker_summary
    score, low, high = (getattr(summary, f"{by}{end}") for end in ("", "_low", "_high"))
    answered = np.flatnonzero((result.labels_per_worker > 0) & np.isfinite(score))
    selected = best = answered[np.argsort(-np.nan_to_num(low[answered]), kind="stable")]
    if len(best) > 2 * limit:
        worst = answered[np.argsort(-np.nan_to_num(high[answered]), kind="stable")][-limit:]
        selected = np.concatenate([best[:limit], worst])
    further = [getattr(summary, name) for name in more]
    rows = [
        [str(name), f"{result.labels_per_worker[w]:,}", f"{score[w]:.3f}", f"{low[w]:.3f} – {high[w]:.3f}"]
        + [number(values[w], 2) for values in further]
        for name, w in zip(result.workers.gather(selected).to_list(), selected.tolist(), strict=True)
    ]
    header = ["worker", answers, by, "95 % interval", *more]
    return header, _with_dots(rows, limit, len(selected) < len(best))


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
    return header, _with_dots(rows, limit, len(selected) < len(order))


def interval_cells(row: Mapping[str, Any], name: str, lowest: float = 0.0) -> list[str]:
    """Return a score of a table's row, its interval, and both drawn on the scale lowest..1."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    drawn = ""
    if None not in (value, low, high):
        at, start, end = ((x - lowest) / (1 - lowest) for x in (value, low, high))
        drawn = bar(at, start, end, 16)
    return [number(value, 2), between(low, high), drawn]


def bar(value: float, low: float, high: float, width: int = 24) -> str:
    """Draw an interval on 0..1 as text: ┄┄━━●━━┄┄."""
    cells = ["┄"] * width
    a, b, dot = (min(width - 1, max(0, int(x * width))) for x in (low, high, value))
    cells[a : b + 1] = "━" * (b + 1 - a)
    cells[dot] = "●"
    return "".join(cells)
