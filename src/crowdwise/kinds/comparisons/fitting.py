"""From scores of items to an estimate: intervals and places, the outcome of every pair; and the workers' picture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.model import Model
from ...core.params import Share
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...em.ascent import Climb, Point, climb
from ...evaluation.calibration import Decided, checked, wanted
from ...stats.gold_calibration import GoldCalibration
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import WORDS, Comparisons, rows_of, sides_of_tasks, told_by, winner_of
from .estimate import ComparisonEstimate, ComparisonWorkers
from .kind import comparison_votes
from .maths.leaderboard import places, reliability
from .maths.models import PairFit, PairRows, outcome

F8 = npt.NDArray[np.float64]


def estimate_of(
    votes: Votes[Comparisons], rows: PairRows, fit: PairFit, known: Any, level: float, seed: int
) -> ComparisonEstimate:
    """Scores with intervals and places that hold with the chance `level`, and who wins each task's pair."""
    from scipy.stats import norm

    left, right = sides_of_tasks(votes)
    heard = left >= 0
    chance = np.full((votes.n_tasks, 3), 1 / 3)
    chance[heard] = outcome(fit.score, left[heard], right[heard], fit.tie_level, fit.tie_spread)
    if known is not None:
        chance = known.clamped(chance, left)
    se = np.full(rows.n_items, np.nan)
    place = np.ones((3, rows.n_items), dtype=np.int64)
    asked = rows.asked > 0
    place[1] = np.bincount(rows.component, minlength=1)[rows.component] if rows.n_items else 1
    if fit.blocks is not None and rows.n_items:
        for block in fit.blocks:
            se[block.members] = np.sqrt(block.variance)
        found = places(fit.score, fit.blocks, level, seed)
        place = np.stack([found.rank_low, found.rank_high, found.group])
    se = np.where(asked, se, np.nan)
    half = float(norm.ppf((1 + level) / 2)) * se
    counts = np.bincount(np.concatenate([rows.left, rows.right]), minlength=rows.n_items)
    return ComparisonEstimate(
        score=fit.score,
        se=se,
        score_low=fit.score - half,
        score_high=fit.score + half,
        rank_low=place[0],
        rank_high=place[1],
        group=place[2],
        component=rows.component,
        n_asked=counts.astype(np.int64),
        left=left,
        right=right,
        chance=chance,
        items=votes.answers.items,
    )


def picture_of(votes: Votes[Comparisons], rows: PairRows, fit: PairFit) -> ComparisonWorkers:
    """How far each worker follows the scores, and what else the fit says of them; NaN for who said nothing."""
    judged = reliability(rows, fit.score)
    silent = votes.labels_per_worker == 0
    trust = {"reliability": judged.mean, "reliability_low": judged.low, "reliability_high": judged.high}
    own = {name: _cut(getattr(fit, name), votes.n_workers) for name in ("slope", "position", "tie")}
    return ComparisonWorkers(**{name: np.where(silent, np.nan, value) for name, value in (trust | own).items()})


def _cut(values: F8 | None, m: int) -> F8:
    """Without the worker that is gold."""
    return np.full(m, np.nan) if values is None else values[:m]


# ---------------------------------------------------------------- Known winners of some pairs

# Answers that a known winner weighs as much as, in the scores of its two items.
GOLD_WEIGHT = 5.0


@dataclass(frozen=True, eq=False)
class PairGold:
    """outcome[task] on the task's own sides: 0 left, 1 right, 2 tie, -1 not known."""

    outcome: npt.NDArray[np.int8]

    def clamped(self, chance: F8, left: npt.NDArray[np.int64]) -> F8:
        """The known tasks are certain."""
        at = np.flatnonzero((self.outcome >= 0) & (left >= 0))
        out = chance.copy()
        out[at] = np.eye(3)[self.outcome[at]]
        return out


def outcomes(labels: pl.Series, left: pl.Series, right: pl.Series) -> npt.NDArray[np.int8]:
    """0, 1, 2 of labels that are a side, a tie, or the name of one of the two items; -1 of anything else."""
    words = {word: code for code, some in WORDS.items() for word in some}
    text = labels.cast(pl.String).str.strip_chars()
    by_word = text.str.to_lowercase().replace_strict(words, default=-1, return_dtype=pl.Int8).fill_null(-1).to_numpy()
    is_left = (text == left.cast(pl.String)).fill_null(False).to_numpy()
    is_right = (text == right.cast(pl.String)).fill_null(False).to_numpy()
    return np.where(is_left, 0, np.where(is_right, 1, by_word)).astype(np.int8)


def refuse_items(table: pl.DataFrame, tasks: pl.Series, items: pl.Series, wanted: str) -> None:
    """One line where gold speaks of items, of which nothing can be held to."""
    names = table["task"].cast(pl.String)
    of_items = names.is_in(items.cast(pl.String).implode()) & ~names.is_in(tasks.cast(pl.String).implode())
    if len(names) and bool(of_items.all()):
        raise DataError(f"gold names items ({quote(table['task'])}); here gold is {wanted}. evaluate takes items")


def pair_gold(gold: Any, votes: Votes[Comparisons]) -> PairGold | None:
    """The known outcomes; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return None
    table = truth_table(gold, like=("winner",))
    refuse_items(table, votes.tasks, votes.answers.items, "known pairs: left, right, winner")
    task, known = place_gold(table, votes.tasks)
    left, right = sides_of_tasks(votes)
    rows = np.flatnonzero(known)
    rows = rows[left[task[rows]] >= 0]
    at = task[rows]
    items = votes.answers.items
    found = outcomes(table["label"].gather(rows), items.gather(left[at]), items.gather(right[at]))
    if (found < 0).any():
        row = int(np.flatnonzero(found < 0)[0])
        raise DataError(
            f"the truth of task {quote([votes.tasks[int(at[row])]])} is {quote([table['label'][int(rows[row])]])}, "
            "neither left, right or tie nor one of its items"
        )
    out = np.full(votes.n_tasks, -1, dtype=np.int8)
    out[at] = found
    return PairGold(out)


def known(votes: Votes[Comparisons], gold: Any) -> tuple[npt.NDArray[np.int64], Comparisons]:
    """Codes of the known tasks and their answers."""
    found = pair_gold(gold, votes)
    assert found is not None
    left, right = sides_of_tasks(votes)
    at = np.flatnonzero(found.outcome >= 0)
    sides = (left[at].astype(np.int32), right[at].astype(np.int32))
    return at, Comparisons(*sides, found.outcome[at], votes.answers.items)


def said(votes: Votes[Comparisons], result: Any) -> Comparisons:
    """The estimates as one answer a task, over the items of the votes."""
    answers: Comparisons = result.estimate.answers()
    if answers.items.equals(votes.answers.items):
        return answers
    table, _ = lookup(votes.answers.items, answers.items)
    return Comparisons(table[answers.left], table[answers.right], answers.outcome, votes.answers.items)


# ----------------------------------------------------------------
# What every method for comparisons shares: checks, gold, scores with intervals and places, workers, the Result.


@dataclass(frozen=True, kw_only=True)
class ComparisonAggregator(Method):
    """A method for comparisons. `level` is the chance that an interval is meant to hold the truth."""

    takes: ClassVar[str] = "comparisons"
    level: Share = 0.95

    def fit(
        self,
        votes: Votes[Comparisons] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Scores of the items, the outcome of every pair and a picture of the workers, from votes or a table left,
        right, winner (worker, task).

        `gold` is the known winner of some tasks (a mapping, or a table task, label): it stays put and teaches.
        `calibrate` corrects the chances of the outcomes by gold; the default method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_comparisons(votes)
        known = pair_gold(gold, votes)
        rows = rows_of(votes)
        fit = self.solve(_with_gold(rows, votes, known), callback)
        self.warn_unless_settled(fit.converged, fit.n_iter)
        result = self._result(votes, rows, fit, known)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """The method itself. The last worker may be gold itself (see `gold_worker`)."""

    def reason(self, rows: PairRows) -> str | None:  # noqa: ARG002
        """What was chosen and why, where there was a choice."""
        return None

    def _result(self, votes: Votes[Comparisons], rows: PairRows, fit: PairFit, known: Any) -> Result:
        reason = self.reason(rows)
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate_of(votes, rows, fit, known, self.level, self.seed),
            picture=picture_of(votes, rows, fit),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if known is None else known.outcome >= 0,
            trace=fit.trace,
            stage=np.zeros(len(fit.trace), dtype=np.int64),
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={"tie_level": _json(fit.tie_level), "tie_spread": float(fit.tie_spread)}
            | ({} if reason is None else {"reason": reason}),
            versions=versions(),
        )


def _with_gold(rows: PairRows, votes: Votes[Comparisons], known: Any) -> PairRows:
    """The rows, and one row more for each known pair, of a worker who is always right."""
    if known is None:
        return rows
    left, right = sides_of_tasks(votes)
    at = np.flatnonzero((known.outcome >= 0) & (left >= 0))
    return GoldRows(
        np.concatenate([rows.left, left[at]]).astype(np.int32),
        np.concatenate([rows.right, right[at]]).astype(np.int32),
        np.concatenate([rows.outcome, known.outcome[at]]).astype(np.int8),
        np.concatenate([rows.worker, np.full(len(at), rows.n_workers)]).astype(np.int32),
        np.concatenate([rows.weights, np.full(len(at), GOLD_WEIGHT)]),
        rows.n_items,
        rows.n_workers + 1,
    )


@dataclass(frozen=True, eq=False)
class GoldRows(PairRows):
    """Rows whose last worker is gold."""


def gold_worker(rows: PairRows) -> npt.NDArray[np.bool_] | None:
    """Marks the worker that is gold, where there is one."""
    return np.arange(rows.n_workers) == rows.n_workers - 1 if isinstance(rows, GoldRows) else None


def _json(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def as_comparisons(votes: Any) -> Votes[Comparisons]:
    """Votes of comparisons as they are, a table as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Comparisons):
            return votes
        raise DataError(
            f"comparisons are needed, got {votes.kind.people}; read the file with kind='comparisons' "
            "(--kind comparisons), or take a method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; columns go through cw.comparison_votes(left, right, winner, worker=...)")
    frame: pl.DataFrame = to_polars(votes)
    found = told_by(frame.columns)
    if found is None:
        raise DataError(
            f"a table of comparisons needs the columns left, right, winner; it has {', '.join(frame.columns)}"
        )
    named: dict[str, Any] = {role: frame[column] for role, column in found.items()}
    more: dict[str, Any] = {name: frame[name] for name in ("task", "worker", "weight") if name in frame.columns}
    if "won_left" in named:
        named["winner"] = winner_of(named)
    if "chosen" in named:
        named["left"], named["right"] = named.pop("chosen"), named.pop("rejected")
        named["winner"] = pl.Series(["left"] * len(frame))
    named.pop("topic", None)
    return comparison_votes(**named, **more)


# ---------------------------------------------------------------- Climbing an objective of comparisons


def climbed(
    objective: Callable[[F8], tuple[float, F8, F8]], start: F8, max_iter: int, tol: float, callback: Callback | None
) -> Climb:
    """By L-BFGS in the metric of each parameter's curvature."""
    return climb(lambda x: Point(*objective(x)), start, max_iter=max_iter, tol=tol, callback=callback)


# ----------------------------------------------------------------
# Outcomes of pairs as decisions: left, right or tie, right where it is the known outcome.

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("outcomes", "the known outcome of the pair", _outcomes, _right, _apply)


def _own(result: Result) -> ComparisonEstimate:
    assert isinstance(result.estimate, ComparisonEstimate)
    return result.estimate


def _outcomes(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    task = np.arange(len(own))
    return task, own.chance[task, own.outcome]


def _right(votes: Votes[Comparisons], result: Result, gold: Any) -> F8:
    known = pair_gold(gold, votes)
    assert known is not None
    equal = (_own(result).outcome == known.outcome).astype(np.float64)
    return np.where(known.outcome >= 0, equal, np.nan)


def _apply(estimate: ComparisonEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> ComparisonEstimate:
    del parts
    return replace(estimate, chance=np.where(kept[:, None], estimate.chance, learnt.apply(estimate.chance)))


# ----------------------------------------------------------------
# What a fit of comparisons has learnt: other pairs of the same items, with or without new answers.


@dataclass(frozen=True, eq=False)
class ComparisonModel(Model[Votes[Comparisons]]):
    """Scores of the items, the crowd's ties, and how far each worker can be trusted; items and workers by code."""

    score: F8
    tie_level: float
    tie_spread: float
    reliability: F8

    def posterior(self, votes: Votes[Comparisons]) -> F8:
        """chance[task, outcome]: what the scores say of the task's two items, and the answers to it on top."""
        left, right = sides_of_tasks(votes)
        heard = left >= 0
        chance = np.full((votes.n_tasks, 3), 1 / 3)
        chance[heard] = outcome(self.score, left[heard], right[heard], self.tie_level, self.tie_spread)
        return chance

    def row_loglik(self, votes: Votes[Comparisons]) -> F8:
        """Log-likelihood of each answer under the scores and its worker's reliability; of a tie under the crowd's."""
        said = votes.answers
        p = outcome(
            self.score, said.left.astype(np.int64), said.right.astype(np.int64), self.tie_level, self.tie_spread
        )
        e = self.reliability[votes.worker]
        e = np.where(np.isnan(e), np.nanmean(self.reliability) if np.isfinite(self.reliability).any() else 0.5, e)
        side = np.where(said.outcome == 1, 1, 0)
        rows = np.arange(len(votes))
        follows = e * p[rows, side] + (1 - e) * p[rows, 1 - side]
        return np.log(np.maximum(np.where(said.outcome == 2, p[:, 2], follows), 1e-300))


def model_of(result: Result) -> ComparisonModel:
    """The model behind a result."""
    estimate, picture = result.estimate, result.picture
    assert isinstance(estimate, ComparisonEstimate)
    assert isinstance(picture, ComparisonWorkers)
    level, spread = result.extra.get("tie_level"), result.extra.get("tie_spread", 0.0)
    for value in (level, spread):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError("what the method has learnt is damaged (the rate of ties is no number)")
    return ComparisonModel(
        estimate.score, -np.inf if level is None else float(level), float(spread), picture.reliability
    )


def infer(result: Result, votes: Votes[Comparisons], unknown_workers: Policy) -> Result:
    """Winners of other pairs of the same items. The answers tell which pairs are meant; scores are held fixed."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    table, there = lookup(estimate.items, votes.answers.items)
    if not there.all():
        strange = votes.answers.items.filter(~pl.Series(there))
        raise DataError(f"items {quote(strange)} were not there when {result.method} was fitted; fit again")
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    said = votes.answers
    moved = table if len(table) else np.zeros(0, dtype=np.int32)
    answers = Comparisons(moved[said.left], moved[said.right], said.outcome, estimate.items)
    judged = replace(votes, answers=answers)
    model = result.model
    assert isinstance(model, ComparisonModel)
    left, right = sides_of_tasks(judged)
    picture: Any = result.picture
    own = {n: np.where(known, getattr(picture, n)[old], np.nan) for n in ComparisonWorkers.rules} if len(old) else {
        n: np.empty(0) for n in ComparisonWorkers.rules}  # fmt: skip
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=replace(estimate, left=left, right=right, chance=model.posterior(judged)),
        picture=ComparisonWorkers(**own),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
    )
