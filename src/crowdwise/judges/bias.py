"""Bias checks of judges: position, length, own family, any covariate; with intervals and correction over judges.

Position needs verdicts in both orders and no gold. Covariates need gold: without it the same regression shows a
correlation of verdicts and covariate that quality alone may explain; it is reported as an association.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.intake.frames import to_polars
from ..core.side_tables import column_by, side_table
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import GoldLabels
from ..kinds.classes.methods.judges import JudgeVerdicts
from ..stats.discovery import adjusted
from .maths import Effect, regression
from .position import position_rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

LEVEL = 0.05
MIN_TASKS = 20
# Number of groups of a text column that are tested, the largest first.
GROUPS = 10
ASSOCIATION = "association; bias cannot be tested without gold"
SCHEMA: dict[str, Any] = {
    "check": pl.String, "judge": pl.String, "effect": pl.Float64, "se": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "p": pl.Float64, "p_adjusted": pl.Float64, "biased": pl.Boolean, "n": pl.Int64,
    "flips": pl.Float64, "smallest_visible": pl.Float64, "note": pl.String,
}  # fmt: skip


def bias_table(
    votes: Annotations, verdicts: JudgeVerdicts, gold: GoldLabels | None, family: pl.Series, covariates: Any = None
) -> pl.DataFrame:
    """Table with a row per check and judge; `biased` after Benjamini-Hochberg over the judges of each check at .05."""
    rows = position_rows(votes)
    if covariates is not None:
        rows += _covariate_rows(votes, verdicts, gold, family, covariates)
    table = pl.DataFrame(rows, schema=SCHEMA)
    corrected = []
    for (_,), part in table.group_by("check", maintain_order=True):
        p = part["p"].fill_null(1.0).fill_nan(1.0).to_numpy()
        q = adjusted(p)
        is_biased = (q <= LEVEL) & (part["note"] != ASSOCIATION).to_numpy()
        corrected.append(part.with_columns(pl.Series("p_adjusted", q), pl.Series("biased", is_biased)))
    return pl.concat(corrected) if corrected else table


def _covariate_rows(
    votes: Annotations, verdicts: JudgeVerdicts, gold: GoldLabels | None, family: pl.Series, covariates: Any
) -> list[dict[str, Any]]:
    table = side_table(to_polars(covariates), "task", votes.tasks)
    if table.width < 2 or not len(table):
        raise DataError("the table of covariates has nothing about these tasks; it needs a column task and others")
    outcome, tasks = _outcome(votes, verdicts, gold)
    note = "" if gold is not None else ASSOCIATION
    out = []
    for name in table.columns[1:]:
        column = column_by(table, name, votes.tasks)
        assert column is not None
        for check, values in _designs(name, column, votes, family):
            for judge in range(verdicts.n_judges):
                x = values[:, judge]
                rows = np.flatnonzero((verdicts.judge == judge) & tasks[verdicts.task] & np.isfinite(x[verdicts.task]))
                out.append(_row(check, str(votes.workers[judge]), outcome[rows], x[verdicts.task[rows]], note))
    return out


def _row(check: str, judge: str, y: F8, x: F8, note: str) -> dict[str, Any]:
    base = {"check": check, "judge": judge, "n": len(y), "note": note}
    if len(y) < MIN_TASKS or np.ptp(x) < 1e-12:
        reason = "too few tasks" if len(y) < MIN_TASKS else "it never varies on this judge's tasks"
        return base | {"note": reason}
    estimate = regression(y, x[:, None])[0]
    return base | effect(estimate)


def effect(estimate: Effect) -> dict[str, Any]:
    """Return an effect as columns of the table."""
    return {"effect": estimate.value, "se": estimate.se, "low": estimate.low, "high": estimate.high, "p": estimate.p}


def _outcome(votes: Annotations, verdicts: JudgeVerdicts, gold: GoldLabels | None) -> tuple[F8, npt.NDArray[np.bool_]]:
    """The outcome of the regression for each verdict, and a mask of the tasks that take part.

    With two classes: the share of verdicts for the last one minus whether it is true. With numeric classes: the mean
    minus the true one. Else the share of wrong verdicts. Without gold nothing is subtracted.
    """
    k = votes.n_classes
    scores = votes.classes.cast(pl.String).cast(pl.Float64, strict=False)
    values = np.array([0.0, 1.0]) if k == 2 else scores.to_numpy() if not scores.null_count() else None
    if gold is None:
        outcome = verdicts.share @ values if values is not None else verdicts.share[:, -1]
        return outcome, np.ones(votes.n_tasks, dtype=bool)
    true = np.where(gold.mask, gold.label, 0)
    if values is None:
        return 1 - verdicts.share[np.arange(len(verdicts.task)), true[verdicts.task]], gold.mask
    return verdicts.share @ values - values[true][verdicts.task], gold.mask


def _designs(name: str, column: pl.Series, votes: Annotations, family: pl.Series) -> list[tuple[str, F8]]:
    """(name of the check, x[task, judge]) of a covariate: a standardized number, an own family, or groups."""
    m = votes.n_workers
    if name == "family" or name.startswith("family_"):
        is_same = column.cast(pl.String).to_numpy()[:, None] == family.cast(pl.String).to_numpy()[None, :]
        values = np.where(column.is_null().to_numpy()[:, None], np.nan, is_same.astype(np.float64))
        return [("own family" if name == "family" else f"own family ({name.removeprefix('family_')})", values)]
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    if numbers.null_count() == column.null_count():
        x = numbers.fill_null(np.nan).to_numpy()
        sd = np.nanstd(x)
        x = (x - np.nanmean(x)) / sd if sd > 0 else x * 0.0
        return [(f"{name} (per sd)", np.repeat(x[:, None], m, axis=1))]
    counts = column.drop_nulls().cast(pl.String).value_counts(sort=True).head(GROUPS)
    text = column.cast(pl.String)
    out = []
    for group in counts[column.name]:
        x = np.where(text.is_null().to_numpy(), np.nan, (text == group).fill_null(False).to_numpy().astype(np.float64))
        out.append((f"{name} = {group}", np.repeat(x[:, None], m, axis=1)))
    return out
