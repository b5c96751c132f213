"""The workers of a fit of boxes in a few rows."""

from __future__ import annotations

import polars as pl

from ...core.result import Result
from ..ranking import best_and_worst
from ..wording import between, number

Rows = tuple[list[str], list[list[str]]]


def worker_rows(result: Result, limit: int = 5) -> Rows:
    """The best and the worst, by the F1 of their boxes against the others'."""
    table = with_f1(result)
    best, worst = best_and_worst(table, limit, "f1")
    rows = [
        [str(r["worker"]), f"{r['n_labels']:,}", number(r["recall"]), between(r["recall_low"], r["recall_high"]),
         number(r["precision"]), between(r["precision_low"], r["precision_high"]), f"{r['missed']:,}",
         f"{r['spurious']:,}", number(r["overlap"])]
        for r in best.vstack(worst.reverse()).to_dicts()
    ]  # fmt: skip
    if len(worst):
        rows.insert(limit, ["…"] + [""] * 8)
    header = [
        "worker",
        "pictures",
        "recall",
        "95 % interval",
        "precision",
        "95 % interval",
        "missed",
        "spurious",
        "IoU",
    ]
    return header, rows


def with_f1(result: Result) -> pl.DataFrame:
    """The table of workers with f1, f1_low, f1_high: of recall and precision, and of the ends of their intervals."""

    def f1(end: str) -> pl.Expr:
        a, b = pl.col(f"recall{end}"), pl.col(f"precision{end}")
        both = pl.when(a.is_null()).then(b).when(b.is_null()).then(a).otherwise(2 * a * b / (a + b))
        return both.fill_nan(0.0).alias(f"f1{end}")

    return result.worker_table().with_columns(f1(""), f1("_low"), f1("_high"))
