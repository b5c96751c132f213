"""Bias checks of judges: position, length, own family, any covariate; with intervals and correction over judges.

Position needs verdicts in both orders and no gold. Covariates need gold: without it the same regression shows a
correlation of verdicts and covariate that quality alone may explain; it is reported as an association.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I8
from ..core.errors import DataError
from ..core.intake.frames import to_polars
from ..core.side_tables import column_by, side_table
from ..core.vocabulary import quote
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import GoldLabels
from ..kinds.classes.methods.judges import JudgeVerdicts
from ..stats.discovery import adjusted
from .maths import Effect, position_both, position_once, regression, smallest_visible

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
    return base | _effect_columns(regression(y, x[:, None])[0])


def _effect_columns(effect: Effect) -> dict[str, Any]:
    return {"effect": effect.value, "se": effect.se, "low": effect.low, "high": effect.high, "p": effect.p}


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


# ----------------------------------------------------------------
# Position bias of judges who compare two options: does the option shown first win too often?

TIES = ("tie", "draw", "both", "equal", "neither", "same", "c", "0", "0.5", "1.5")
ORDERS = ("ab", "ba")


def position_rows(votes: Annotations) -> list[dict[str, Any]]:
    """One row per judge; none where the votes have no column `order`."""
    if votes.about_rows is None or "order" not in votes.about_rows.columns:
        return []
    first = shown_first(votes)
    if first is None:
        return []
    label = np.asarray(votes.label, dtype=np.int64)
    win = np.where(first < 0, 0, np.where(label == first, 1, np.where(is_option(votes)[label], -1, 0)))
    return [_judge(votes, judge, first, label, win) for judge in range(votes.n_workers)]


def options(votes: Annotations) -> list[int] | None:
    """The two classes that name the options a and b, in the order of their names; None unless there are two."""
    names = [str(name).strip().lower() for name in votes.classes.cast(pl.String)]
    named = [i for i, name in enumerate(names) if name not in TIES] if len(names) > 2 else list(range(len(names)))
    return named if len(named) == 2 else None


def is_option(votes: Annotations) -> npt.NDArray[np.bool_]:
    """Mark the classes that name an option (not a tie)."""
    out = np.zeros(votes.n_classes, dtype=bool)
    out[options(votes) or []] = True
    return out


def shown_first(votes: Annotations) -> I8 | None:
    """Class of the option shown first in each row, -1 where it is not known; None where there are no orders."""
    pair = options(votes)
    assert votes.about_rows is not None
    order = votes.about_rows["order"].cast(pl.String).str.strip_chars().str.to_lowercase()
    if pair is None or not order.drop_nulls().len():
        return None
    names = {str(votes.classes[pair[i]]).strip().lower(): pair[i] for i in (0, 1)} | dict(
        zip(ORDERS, pair, strict=True)
    )
    unknown = order.drop_nulls().filter(~order.drop_nulls().is_in(list(names)) & (order.drop_nulls() != ""))
    if len(unknown):
        raise DataError(
            f"the order of a pair is {quote(unknown.unique(maintain_order=True))}; write ab or ba (a is "
            f"{votes.classes[pair[0]]}, b is {votes.classes[pair[1]]}), or the class that was shown first"
        )
    return np.array([names.get(value, -1) if value is not None else -1 for value in order], dtype=np.int64)


def _judge(votes: Annotations, judge: int, first: I8, label: I8, win: I8) -> dict[str, Any]:
    rows = np.flatnonzero((votes.worker == judge) & (first >= 0))
    base = {"check": "position", "judge": str(votes.workers[judge]), "n": 0, "note": ""}
    if not len(rows):
        return base | {"note": "no verdict has a known order"}
    won, flips, n_both = _by_task(votes, rows, first, label, win)
    if n_both:
        ff, ss = int((won > 0).sum()), int((won < 0).sum())
        note = f"first won twice {ff}, second won twice {ss}"
        more = {"n": n_both, "flips": flips, "smallest_visible": smallest_visible(ff, ss), "note": note}
        return base | _effect_columns(position_both(ff, ss)) | more
    if len(np.unique(first[rows])) < 2:
        return base | {"n": len(rows), "note": "one order only: no estimate"}
    decided = rows[win[rows] != 0]
    effect = position_once(int((win[decided] > 0).sum()), len(decided))
    note = "one order per pair, assumed random: share won by the first option minus a half"
    return base | _effect_columns(effect) | {"n": len(decided), "note": note}


def swap_table(votes: Annotations) -> pl.DataFrame:
    """Table with a row per judge that saw tasks in both orders: does it name the same winner in both?

    Columns: judge, n (tasks), same (share with the same label in both orders), chance (the share expected of verdicts
    that ignore the task, from the labels in either order), p (one-sided).
    """
    from scipy.stats import norm

    schema = {"judge": pl.String, "n": pl.Int64, "same": pl.Float64, "chance": pl.Float64, "p": pl.Float64}
    first = None if votes.about_rows is None or "order" not in votes.about_rows.columns else shown_first(votes)
    if first is None:
        return pl.DataFrame(schema=schema)
    rows, label = [], np.asarray(votes.label, dtype=np.int64)
    for judge in range(votes.n_workers):
        judged = np.flatnonzero((votes.worker == judge) & (first >= 0))
        pairs = _in_both_orders(votes, judged, first, label, label).unique("task", maintain_order=True)
        n = len(pairs)
        if n < 2:
            continue
        one, two = (np.bincount(pairs[name], minlength=votes.n_classes) / n for name in ("label", "label_swapped"))
        same, chance = float((pairs["label"] == pairs["label_swapped"]).mean()), float(one @ two)  # type: ignore[arg-type]
        # Variance of the agreement of two sequences of labels, one of them permuted.
        spread = chance + chance**2 - float(one @ (two * (one + two)))
        se = np.sqrt(max(spread, 0.0) / (n - 1))
        p = float(norm.sf((same - chance) / se)) if se > 0 else 1.0
        rows.append({"judge": str(votes.workers[judge]), "n": n, "same": same, "chance": chance, "p": p})
    return pl.DataFrame(rows, schema=schema)


def _in_both_orders(votes: Annotations, rows: I8, first: I8, label: I8, win: I8) -> pl.DataFrame:
    """Rows of the same task, prompt and repeat in both orders: task, label, win, and with _swapped the other row's."""
    occasion = votes.about_rows
    assert occasion is not None
    context = [name for name in ("prompt", "repeat") if name in occasion.columns]
    columns_of_pair = [pl.col(n).cast(pl.String).fill_null("") for n in context]
    text = (
        occasion[rows].select(pl.concat_str(columns_of_pair, separator="\x1f")).to_series()
        if context
        else [""] * len(rows)
    )
    columns = {"task": votes.task[rows], "other": text, "first": first[rows]}
    frame = pl.DataFrame({**columns, "label": label[rows], "win": win[rows]})
    shown = np.unique(first[rows])
    one, two = (
        frame.filter(pl.col("first") == x).unique(["task", "other"], maintain_order=True) for x in (shown[0], shown[-1])
    )
    return one.join(
        two if len(shown) > 1 else two.clear(), on=["task", "other"], suffix="_swapped", maintain_order="left"
    )


def _by_task(votes: Annotations, rows: I8, first: I8, label: I8, win: I8) -> tuple[I8, float, int]:
    """For tasks seen in both orders: winner (+1 first twice, -1 second twice, 0 neither), share of flips, number."""
    paired = _in_both_orders(votes, rows, first, label, win)
    if not len(paired):
        return np.empty(0, dtype=np.int64), float("nan"), 0
    twice = paired.with_columns(
        twice=pl.when(pl.col("win") == pl.col("win_swapped")).then(pl.col("win")).otherwise(0),
        flip=(pl.col("label") != pl.col("label_swapped")).cast(pl.Float64),
    )
    # Prompts and repeats of a task are not separate pairs: the task counts once, for the position that won more often.
    task = twice.group_by("task").agg(pl.col("twice").sum().sign(), pl.col("flip").mean())
    return task["twice"].to_numpy().astype(np.int64), float(task["flip"].mean()), len(task)  # type: ignore[arg-type]
