"""Bias checks of judges: position, length, own family, any covariate; each with an interval, judges corrected together.

Position needs verdicts in both orders and no gold. Covariates need gold: without people the same regression shows that
verdicts and covariate go together, which quality alone can do; it is called an association.
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
from ..kinds.classes.methods.gold import Gold
from ..kinds.classes.methods.judges import Voices
from ..stats.discovery import adjusted
from .maths import Effect, regression
from .position import position_rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

LEVEL = 0.05
MIN_TASKS = 20
# Groups of a text column that are looked at, the largest first.
GROUPS = 10
ASSOCIATION = "association, no bias can be told without gold"
SCHEMA: dict[str, Any] = {
    "check": pl.String, "judge": pl.String, "effect": pl.Float64, "se": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "p": pl.Float64, "p_adjusted": pl.Float64, "biased": pl.Boolean, "n": pl.Int64,
    "flips": pl.Float64, "smallest_visible": pl.Float64, "note": pl.String,
}  # fmt: skip


def bias_table(
    votes: Annotations, said: Voices, gold: Gold | None, family: pl.Series, covariates: Any = None
) -> pl.DataFrame:
    """A row a check and judge; `biased` after Benjamini-Hochberg over the judges of each check at .05."""
    rows = position_rows(votes)
    if covariates is not None:
        rows += _covariate_rows(votes, said, gold, family, covariates)
    table = pl.DataFrame(rows, schema=SCHEMA)
    parts = []
    for (_,), part in table.group_by("check", maintain_order=True):
        p = part["p"].fill_null(1.0).fill_nan(1.0).to_numpy()
        q = adjusted(p)
        said_so = (q <= LEVEL) & (part["note"] != ASSOCIATION).to_numpy()
        parts.append(part.with_columns(pl.Series("p_adjusted", q), pl.Series("biased", said_so)))
    return pl.concat(parts) if parts else table


def _covariate_rows(
    votes: Annotations, said: Voices, gold: Gold | None, family: pl.Series, covariates: Any
) -> list[dict[str, Any]]:
    table = side_table(to_polars(covariates), "task", votes.tasks)
    if table.width < 2 or not len(table):
        raise DataError("the table of covariates tells nothing of these tasks; it needs a column task and others")
    outcome, tasks = _outcome(votes, said, gold)
    note = "" if gold is not None else ASSOCIATION
    out = []
    for name in table.columns[1:]:
        column = column_by(table, name, votes.tasks)
        assert column is not None
        for check, values in _designs(name, column, votes, family):
            for judge in range(said.n_judges):
                x = values[:, judge]
                rows = np.flatnonzero((said.judge == judge) & tasks[said.task] & np.isfinite(x[said.task]))
                out.append(_row(check, str(votes.workers[judge]), outcome[rows], x[said.task[rows]], note))
    return out


def _row(check: str, judge: str, y: F8, x: F8, note: str) -> dict[str, Any]:
    base = {"check": check, "judge": judge, "n": len(y), "note": note}
    if len(y) < MIN_TASKS or np.ptp(x) < 1e-12:
        few = "too few tasks" if len(y) < MIN_TASKS else "it never varies on this judge's tasks"
        return base | {"note": few}
    found = regression(y, x[:, None])[0]
    return base | effect(found)


def effect(found: Effect) -> dict[str, Any]:
    """An effect as columns of the table."""
    return {"effect": found.value, "se": found.se, "low": found.low, "high": found.high, "p": found.p}


def _outcome(votes: Annotations, said: Voices, gold: Gold | None) -> tuple[F8, npt.NDArray[np.bool_]]:
    """What is regressed, for each voice, and which tasks take part.

    With two classes: the share that says the last one, less whether it is true; with classes that are numbers: the mean
    less the true one; else the share that is wrong. Without gold nothing is taken off.
    """
    k = votes.n_classes
    scores = votes.classes.cast(pl.String).cast(pl.Float64, strict=False)
    values = np.array([0.0, 1.0]) if k == 2 else scores.to_numpy() if not scores.null_count() else None
    if gold is None:
        spoken = said.share @ values if values is not None else said.share[:, -1]
        return spoken, np.ones(votes.n_tasks, dtype=bool)
    true = np.where(gold.mask, gold.label, 0)
    if values is None:
        return 1 - said.share[np.arange(len(said.task)), true[said.task]], gold.mask
    return said.share @ values - values[true][said.task], gold.mask


def _designs(name: str, column: pl.Series, votes: Annotations, family: pl.Series) -> list[tuple[str, F8]]:
    """(what the check is called, x[task, judge]) of a covariate: a number per standard deviation, a family, groups."""
    m = votes.n_workers
    if name == "family" or name.startswith("family_"):
        own = column.cast(pl.String).to_numpy()[:, None] == family.cast(pl.String).to_numpy()[None, :]
        values = np.where(column.is_null().to_numpy()[:, None], np.nan, own.astype(np.float64))
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
