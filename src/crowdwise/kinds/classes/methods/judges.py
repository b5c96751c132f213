"""What is said of judges: people or models, families; and what is to be said of models without gold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ....core.errors import DataError, IdentifiabilityWarning
from ....core.params import Count, NonNegative, Note, Positive, PositiveShare, Share
from ....core.result import Result
from ....core.side_tables import column_by
from ....core.vocabulary import quote
from ....core.votes import Votes
from ....stats.logspace import normalise_rows, segment_sum, shares
from ....stats.platt import fit_platt, logit, why_ignored
from ..annotations import Annotations
from ..maths.judges import BINS, GRID, fit_symbols, learn_stack, prior_counts, terciles
from .base import Aggregator, Run
from .dependence import GroupAware, find_groups, given_groups
from .gold import Gold
from .infer import ClassModel
from .spread import Solution

I8 = npt.NDArray[np.int64]


def kinds_of(votes: Votes[Any]) -> list[str | None]:
    """human, model, or None where nobody says, of each worker: by a column `kind`, or `source`."""
    for name in ("kind", "source"):
        column = column_by(votes.about_workers, name, votes.workers)
        if column is not None and column.drop_nulls().len():
            return [None if each is None else str(each).strip().lower() or None for each in column]
    return [None] * votes.n_workers


def all_models(votes: Votes[Any]) -> bool:
    """Whether these are several judges, all said to be models."""
    return votes.n_workers >= 2 and all(kind == "model" for kind in kinds_of(votes))


def told_families(votes: Votes[Any]) -> I8 | None:
    """Families by the column `family` of the table about workers; who has none is alone. None without the column."""
    names = column_by(votes.about_workers, "family", votes.workers)
    if names is None or names.null_count() == len(names):
        return None
    own = [f"\0{i}" if name is None or not str(name).strip() else str(name) for i, name in enumerate(names)]
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


def without_gold(n_judges: int) -> str:
    """What is to be said of several judges without gold."""
    return (
        f"{n_judges} judges and no gold: they may err together; confidence is the share of families and nothing is "
        "guaranteed"
    )


# ----------------------------------------------------------------
# Voices: all that one judge said of one task, in repeats, prompts and orders, as one.

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Voices:
    """A pair each (task, judge) that has rows: share[pair, class] of them that say each class, how many rows they are,
    and the mean confidence that was stated with them (NaN: none)."""

    task: I8
    judge: I8
    share: F8
    rows: I8
    confidence: F8
    n_tasks: int
    n_judges: int

    @property
    def mode(self) -> I8:
        """The class that a pair's rows say most often, the first of several."""
        return np.asarray(self.share.argmax(axis=1), dtype=np.int64)

    def of_tasks(self, tasks: I8) -> F8:
        """share[task, judge, class] less 1/K of these tasks, 0 where a judge is absent."""
        place = np.full(self.n_tasks, -1)
        place[tasks] = np.arange(len(tasks))
        pick = np.flatnonzero(place[self.task] >= 0)
        out = np.zeros((len(tasks), self.n_judges, self.share.shape[1]))
        out[place[self.task[pick]], self.judge[pick]] = self.share[pick] - 1 / self.share.shape[1]
        return out

    def score(self, weight: F8) -> F8:
        """score[task, class]: the judges' shares by weight[pair]."""
        k = self.share.shape[1]
        columns = [np.bincount(self.task, weights=weight * self.share[:, c], minlength=self.n_tasks) for c in range(k)]
        return np.stack(columns, axis=1).astype(np.float64)


def voices(annotations: Annotations) -> Voices:
    """One voice a task and judge; rows of weight 0 say nothing."""
    votes = annotations
    start = np.flatnonzero(np.r_[True, (np.diff(votes.task) != 0) | (np.diff(votes.worker) != 0)][: len(votes)])
    ends = np.append(start, len(votes))
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    said = np.zeros((len(votes), votes.n_classes))
    said[np.arange(len(votes)), votes.label] = weight
    share = said if len(start) == len(votes) else segment_sum(said, ends)  # mostly every voice has one row
    total = share.sum(axis=1)
    sure = np.full(len(votes), np.nan) if votes.confidence is None else votes.confidence
    stated = np.isfinite(sure)
    both = np.column_stack([np.where(stated, sure, 0.0), stated.astype(np.float64)])
    summed = both if len(start) == len(votes) else segment_sum(both, ends)
    heard = total > 0
    return Voices(
        task=votes.task[start][heard].astype(np.int64),
        judge=votes.worker[start][heard].astype(np.int64),
        share=share[heard] / total[heard, None],
        rows=np.diff(ends)[heard],
        confidence=np.where(summed[:, 1] > 0, summed[:, 0] / np.maximum(summed[:, 1], 1.0), np.nan)[heard],
        n_tasks=votes.n_tasks,
        n_judges=votes.n_workers,
    )


@dataclass(frozen=True, kw_only=True)
class FamilyVote(Aggregator):
    """Family vote: each family of judges has one vote, shared out among what its members say.

        P(y_n = k) ∝ s + Σ_families mean share of its judges' verdicts on n that say k

    For judges without gold: relatives err together, and a posterior of Dawid-Skene then is sure of what is wrong.
    The share of families is the confidence that can be defended. Families come from `groups`, from a column `family`
    about the workers, or are looked for among the votes.

    `groups` lists the judges of each family, as for `group_aware`; None takes the column `family` about the workers,
    or looks for families at the false-discovery `level` (0..1). `smoothing` votes for every class.

    >>> votes = Annotations.from_arrays([1, 1, 1], [*"abc"], [*"xxy"])
    >>> FamilyVote(groups=(("a", "b"),), smoothing=0).fit(votes).posterior
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "family_vote"
    worker_extra: ClassVar[tuple[str, ...] | None] = None
    groups: Annotated[tuple[tuple[Any, ...], ...] | str, Note("the workers of each group")] | None = None
    level: PositiveShare = 0.001
    excess: Share = 0.1
    smoothing: NonNegative = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", GroupAware(groups=self.groups).groups)

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Shares within families, then between them."""
        said = voices(annotations)
        family = self.families(annotations)
        key = said.task * np.int64(family.max(initial=0) + 1) + family[said.judge]
        size = np.unique(key, return_inverse=True, return_counts=True)
        score = said.score(1.0 / size[2][size[1]]) + self.smoothing
        posterior = shares(score)
        posterior = posterior if gold is None else gold.clamp(posterior)
        extra: dict[str, Any] = {"group": family}
        models = sum(kind == "model" for kind in kinds_of(annotations))
        if gold is None and models >= 2:
            extra["warning"] = without_gold(models)
        return Solution(posterior, posterior.mean(axis=0), extra=extra)

    def families(self, annotations: Annotations) -> I8:
        """Family number of each judge."""
        if self.groups is not None:
            assert not isinstance(self.groups, str)
            return given_groups(self.groups, annotations.workers)
        told = told_families(annotations)
        return find_groups(annotations, self.level, self.excess) if told is None else told


# ----------------------------------------------------------------
# How much a judge's stated confidence is worth: calibrated on gold, or ignored.

# Nobody is surer than this: log-odds are cut here.
MOST = 6.0


class Sureness:
    """Calibrations of the judges of some voices; truth[task] is a class, or K where it is not known."""

    def __init__(self, said: Voices, truth: I8, use: bool) -> None:
        self.said, self.truth = said, truth
        self.stated = np.isfinite(said.confidence)
        self.use = use and bool(self.stated.any())
        self.ones = np.ones(len(said.task))

    def fit(self, tasks: I8) -> F8:
        """platt[judge, (shift, slope, scale)] learnt on these gold tasks; NaN where the confidence is ignored."""
        said, k = self.said, self.said.share.shape[1]
        out = np.full((said.n_judges, 3), np.nan)
        if not self.use:
            return out
        rows = np.flatnonzero(np.isin(said.task, tasks) & self.stated)
        right = (said.mode[rows] == self.truth[said.task[rows]]).astype(np.float64)
        for judge in np.unique(said.judge[rows]):
            own = said.judge[rows] == judge
            sure = said.confidence[rows[own]]
            if why_ignored(sure):
                continue
            found = fit_platt(sure, right[own])
            scale = float(np.abs(log_odds(found(sure), k)).mean())
            if scale > 1e-6:
                out[judge] = found.shift, found.slope, scale
        return out

    def factor(self, platt: F8) -> F8:
        """What each voice is multiplied by: 1, or calibrated log-odds over their mean."""
        return self.apply(self.said, platt) if self.use else self.ones

    @staticmethod
    def apply(said: Voices, platt: F8) -> F8:
        """The same for other voices of these judges."""
        own = platt[said.judge]
        rows = np.flatnonzero(np.isfinite(own[:, 0]) & np.isfinite(said.confidence))
        out = np.ones(len(said.task))
        if len(rows):
            p = 1 / (1 + np.exp(-(own[rows, 0] + own[rows, 1] * logit(said.confidence[rows]))))
            out[rows] = log_odds(p, said.share.shape[1]) / own[rows, 2]
        return out


def log_odds(p: F8, k: int) -> F8:
    """log of p against an equal share of the rest for each other class."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(np.clip(np.log(p * (k - 1) / (1 - p)) if k > 1 else np.zeros_like(p), -MOST, MOST))


ENOUGH = 30


@dataclass(frozen=True, kw_only=True)
class JudgeStack(Aggregator):
    """The judges' stack: one weight a judge, learnt on the labels of people.

        P(y_n = k) ∝ exp(b_k + Σ_m w_m f_nm v[n, m, k]),   v: share of judge m's verdicts on task n that say k

    No unsupervised model can see errors that all judges make together; a few dozen gold labels can, and M + K
    numbers are all that is learnt from them (penalised, the penalty chosen by held-out gold). f_nm is 1, or, where a
    judge states confidences that vary, the calibrated log-odds of being right over their mean. Gold tasks get
    out-of-fold beliefs in `extra["gold_posterior"]`. Fails where gold is not like the rest. Wolpert (1992),
    doi:10.1016/S0893-6080(05)80023-1.

    `penalty` on the squared weights (None: the one that predicts held-out gold best); judges with fewer than
    `own_weight` gold labels share one weight; fewer than `min_gold` gold labels are refused; `confidence` uses what
    judges state, calibrated on gold.

    >>> votes = Annotations.from_arrays([*range(40)] * 2, ["a"] * 40 + ["b"] * 40, [*"xy"] * 20 + [*"xxyy"] * 10)
    >>> gold = {task: "xy"[task % 2] for task in range(36)}
    >>> JudgeStack().fit(votes, gold=gold).to_table()["label"].to_list()[36:]
    ['x', 'y', 'x', 'y']
    """

    name: ClassVar[str] = "judge_stack"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("weight", "platt")
    penalty: Positive | None = None
    own_weight: Count = 5
    min_gold: Count = 10
    confidence: bool = True

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Voices of the gold tasks, the stack, and what it says of all tasks."""
        assert gold is not None
        said = voices(annotations)
        known = gold.known[np.isin(gold.known, said.task)]
        self._look(annotations, gold, known)
        truth = gold.label[known].astype(np.int64)
        column = columns(said, known, self.own_weight)
        sure = Sureness(said, gold.label.astype(np.int64), self.confidence)

        def make(learnt: npt.NDArray[np.bool_]) -> F8:
            factor = sure.factor(sure.fit(known[learnt]))
            return tied(said, known, factor, column)

        grid = GRID if self.penalty is None else (float(self.penalty),)
        found, held_out = learn_stack(make, truth, np.random.default_rng(self.seed), grid)
        platt = sure.fit(known)
        posterior = normalise_rows(found.bias + said.score(found.weight[column][said.judge] * sure.factor(platt)))[0]
        beliefs = np.full((annotations.n_tasks, annotations.n_classes), np.nan)
        beliefs[known] = held_out
        return Solution(
            posterior=gold.clamp(posterior),
            class_prior=posterior.mean(axis=0),
            extra={
                "weight": found.weight[column],
                "bias": found.bias,
                "platt": platt,
                "penalty": found.l2,
                "held_out_log_loss": min(found.losses),
                "gold_posterior": beliefs,
            },
        )

    def silent(self) -> dict[str, float]:
        """A task without verdicts has no out-of-fold belief."""
        return {"gold_posterior": np.nan}

    def _look(self, annotations: Annotations, gold: Gold, known: I8) -> None:
        """Refuse too little gold, warn of little and of classes that it lacks."""
        n = len(known)
        if n == 0:
            raise DataError("no worker labelled a gold task, so nobody's weight can be learnt; use another method")
        if n < self.min_gold:
            raise DataError(
                f"judge_stack needs at least {self.min_gold} gold labels of tasks with verdicts, there are {n}; label "
                "some more tasks, or take group_aware or family_vote, which need none"
            )
        if n < ENOUGH:
            _warn(f"{n} gold labels are few for judge_stack; {ENOUGH} or more are worth their price")
        missing = np.setdiff1d(np.arange(gold.n_classes), gold.label[known])
        if len(missing) and n >= ENOUGH:
            names = annotations.classes.gather(missing)
            _warn(f"no gold task is {quote(names)}: judge_stack learns that such tasks are rare; label some if not")

    @staticmethod
    def fitted(result: Result) -> StackedJudges | None:
        """Weights and calibrations, for other tasks of these judges."""
        own = result.extra
        return StackedJudges(result, own["weight"], own["bias"], own["platt"]) if "platt" in own else None


@dataclass(frozen=True, eq=False)
class StackedJudges(ClassModel):
    """weight[judge], bias[class], platt[judge, (shift, slope, scale)]."""

    weight: F8
    bias: F8
    platt: F8

    def posterior(self, votes: Annotations) -> F8:
        """The weighted voices; a judge who was not there has the average weight, and no say by confidence."""
        said = voices(votes)
        factor = Sureness.apply(said, self.spread(self.platt, votes.workers))
        score = said.score(self.spread(self.weight, votes.workers)[said.judge] * factor)
        found = normalise_rows(self.bias + score)[0]
        silent = np.bincount(said.task, minlength=votes.n_tasks) == 0
        return np.where(silent[:, None], self.result.class_prior, found) if silent.any() else found


def columns(said: Voices, known: I8, own_weight: int) -> I8:
    """Which weight each judge has: an own one, or the one that all with few gold labels share."""
    met = np.isin(said.task, known)
    n = np.bincount(said.judge[met], minlength=said.n_judges)
    few = n < own_weight
    column = np.cumsum(~few) - 1
    column[few] = (~few).sum()
    return np.asarray(column, dtype=np.int64)


def tied(said: Voices, tasks: I8, factor: F8, column: I8) -> F8:
    """voices[task, column, class] of these tasks, judges with one weight added up."""
    place = np.full(said.n_tasks, -1)
    place[tasks] = np.arange(len(tasks))
    pick = np.flatnonzero(place[said.task] >= 0)
    out = np.zeros((len(tasks), int(column.max(initial=0)) + 1, said.share.shape[1]))
    values = (said.share[pick] - 1 / said.share.shape[1]) * factor[pick, None]
    np.add.at(out, (place[said.task[pick]], column[said.judge[pick]]), values)
    return out


def _warn(text: str) -> None:
    warnings.warn(text, IdentifiabilityWarning, stacklevel=5)


@dataclass(frozen=True, kw_only=True)
class JudgeSymbols(Aggregator):
    """Judges' symbols: Dawid-Skene over what was said and how firmly, for judges with confidences or repeats, without
    gold.

        y_n ~ Cat(class_prior),   (label, strength) of judge m on task n | y_n = k ~ Cat(A[m, k, :])

    The strength is the tercile of the stated confidence among the judge's own; without confidences, whether at least
    `agreement` of the repeats say the same. What a strength is worth is learnt, not believed. Without either this is
    `dawid_skene`. Fails, as every method without gold, where judges err together.
    Dawid & Skene (1979), doi:10.2307/2346806.

    `smoothing` pseudo-counts for each label, `diagonal` more for the right one; `agreement` (0..1) of repeats makes
    a firm verdict.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxyx"], confidence=[0.9, 0.8, 0.9, 0.4])
    >>> JudgeSymbols().fit(votes).to_table()["label"].to_list()[0]
    'x'
    """

    name: ClassVar[str] = "judge_symbols"
    smoothing: Positive = 0.1
    diagonal: NonNegative = 1.0
    agreement: Share = 0.8
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Symbols, then EM from the shares of the votes."""
        said, k = voices(annotations), annotations.n_classes
        bin_, bins = strengths(said, self.agreement)
        counts = prior_counts(said.judge, bin_, said.n_judges, k, bins, self.smoothing, self.diagonal)
        start = shares(said.score(np.ones(len(said.task))))
        start = start if gold is None else gold.clamp(start)
        known = None if gold is None else gold.label.astype(np.int64)
        # A tie between two classes is broken towards neither: a voice that says both says half of each.
        pair, label = np.nonzero(said.share >= said.share.max(axis=1, keepdims=True) - 1e-9)
        weight = 1.0 / np.bincount(pair, minlength=len(said.task))[pair]
        found = fit_symbols(
            said.task[pair],
            said.judge[pair],
            label * bins + bin_[pair],
            weight,
            start,
            counts,
            known,
            self.max_iter,
            self.tol,
        )
        confusion = found.table.reshape(said.n_judges, k, k, bins).sum(axis=3)
        return Solution(
            posterior=found.posterior,
            class_prior=found.prior,
            confusion=confusion / confusion.sum(axis=2, keepdims=True),
            trace=found.trace,
            n_iter=len(found.trace),
            converged=found.converged,
            extra={"strengths": bins},
        )


def strengths(said: Voices, agreement: float) -> tuple[I8, int]:
    """The strength bin of each voice, and how many bins there are."""
    top = said.share.max(axis=1) if len(said.share) else np.zeros(0)
    if np.isfinite(said.confidence).any():
        found = terciles(said.judge, said.confidence * np.where(np.isfinite(said.confidence), top, 1.0), said.n_judges)
        return found, BINS + 1
    if (said.rows > 1).any():
        return (top >= agreement - 1e-9).astype(np.int64), 2
    return np.zeros(len(said.task), dtype=np.int64), 1
