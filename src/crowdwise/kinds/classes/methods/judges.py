"""Methods for judges (people or models that give verdicts): votes by family, a stack learnt on gold, symbols."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ....core import method_registry as registry
from ....core.arrays import F8, I8, Mask
from ....core.errors import DataError, IdentifiabilityWarning
from ....core.params import Count, NonNegative, Note, Positive, PositiveShare, Share
from ....core.result import Result
from ....core.side_tables import column_by
from ....core.truth import truth_table
from ....core.vocabulary import lookup, quote
from ....core.votes import Votes
from ....em.rows import row_weights
from ....stats.logspace import normalise_rows, segment_sum, shares
from ....stats.platt import fit_platt, logit, why_ignored
from ..annotations import Annotations
from ..maths.judges import BINS, GRID, fit_symbols, learn_stack, prior_counts, terciles
from .base import Aggregator, SolveOptions
from .dependence import GroupAware, find_groups, given_groups
from .gold import GoldLabels
from .infer import ClassModel
from .partitioned import Solution


def kinds_of(votes: Votes[Any]) -> list[str | None]:
    """Return human, model, or None of each worker, by a column `kind` or `source` of the table about workers."""
    for name in ("kind", "source"):
        column = column_by(votes.about_workers, name, votes.workers)
        if column is not None and column.drop_nulls().len():
            return [None if kind is None else str(kind).strip().lower() or None for kind in column]
    return [None] * votes.n_workers


def all_models(votes: Votes[Any]) -> bool:
    """Whether there are several judges and all are marked as models."""
    return votes.n_workers >= 2 and all(kind == "model" for kind in kinds_of(votes))


def families_from_table(votes: Votes[Any]) -> I8 | None:
    """Return the family number of each worker, by the column `family` of the table about workers.

    Workers without a family are a family of their own. None without the column.
    """
    names = column_by(votes.about_workers, "family", votes.workers)
    if names is None or names.null_count() == len(names):
        return None
    families = [f"\0{i}" if name is None or not str(name).strip() else str(name) for i, name in enumerate(names)]
    return np.unique(families, return_inverse=True)[1].astype(np.int64)


def without_gold(n_judges: int) -> str:
    """Return the warning about several judges without gold."""
    return (
        f"{n_judges} judges and no gold: they may err together; confidence is the share of families and nothing is "
        "guaranteed"
    )


# ----------------------------------------------------------------
# JudgeVerdicts: all rows of one judge on one task (repeats, prompts, orders), combined.


@dataclass(frozen=True)
class JudgeVerdicts:
    """The (task, judge) pairs that have rows.

    Attributes:
        task: Task of each pair.
        judge: Judge of each pair.
        share: Share of the pair's rows with each class, [pair, class].
        rows: Number of rows of each pair.
        confidence: Mean confidence stated in the rows of each pair (NaN: none).
        n_tasks: Number of tasks.
        n_judges: Number of judges.
    """

    task: I8
    judge: I8
    share: F8
    rows: I8
    confidence: F8
    n_tasks: int
    n_judges: int

    @property
    def mode(self) -> I8:
        """The most frequent class of each pair, the first of several."""
        return np.asarray(self.share.argmax(axis=1), dtype=np.int64)

    def of_tasks(self, tasks: I8) -> F8:
        """Return share[task, judge, class] minus 1/K of these tasks, 0 where a judge has no verdict."""
        position = np.full(self.n_tasks, -1)
        position[tasks] = np.arange(len(tasks))
        pairs = np.flatnonzero(position[self.task] >= 0)
        out = np.zeros((len(tasks), self.n_judges, self.share.shape[1]))
        out[position[self.task[pairs]], self.judge[pairs]] = self.share[pairs] - 1 / self.share.shape[1]
        return out

    def score(self, weight: F8) -> F8:
        """Return score[task, class]: the shares summed with weight[pair]."""
        k = self.share.shape[1]
        columns = [np.bincount(self.task, weights=weight * self.share[:, c], minlength=self.n_tasks) for c in range(k)]
        return np.stack(columns, axis=1).astype(np.float64)


def judge_verdicts(annotations: Annotations) -> JudgeVerdicts:
    """Combine the rows of each task and judge; pairs of weight 0 are left out."""
    votes = annotations
    start = np.flatnonzero(np.r_[True, (np.diff(votes.task) != 0) | (np.diff(votes.worker) != 0)][: len(votes)])
    ends = np.append(start, len(votes))
    weight = row_weights(votes)
    counts = np.zeros((len(votes), votes.n_classes))
    counts[np.arange(len(votes)), votes.label] = weight
    one_row_each = len(start) == len(votes)  # the usual case
    share = counts if one_row_each else segment_sum(counts, ends)
    total = share.sum(axis=1)
    confidence = np.full(len(votes), np.nan) if votes.confidence is None else votes.confidence
    stated = np.isfinite(confidence)
    stated_sums = np.column_stack([np.where(stated, confidence, 0.0), stated.astype(np.float64)])
    sums = stated_sums if one_row_each else segment_sum(stated_sums, ends)
    has_weight = total > 0
    return JudgeVerdicts(
        task=votes.task[start][has_weight].astype(np.int64),
        judge=votes.worker[start][has_weight].astype(np.int64),
        share=share[has_weight] / total[has_weight, None],
        rows=np.diff(ends)[has_weight],
        confidence=np.where(sums[:, 1] > 0, sums[:, 0] / np.maximum(sums[:, 1], 1.0), np.nan)[has_weight],
        n_tasks=votes.n_tasks,
        n_judges=votes.n_workers,
    )


@dataclass(frozen=True, kw_only=True)
class FamilyVote(Aggregator):
    """Family vote: each family of judges has one vote, split between the verdicts of its members.

        P(y_n = k) ∝ s + Σ_families mean share of its judges' verdicts on n for class k

    For judges without gold: judges of one family err together, and a Dawid-Skene posterior is then confident of the
    errors. The share of families is a confidence that can be justified. Families come from `groups`, from a column
    `family` of the table about workers, or from a search for dependent judges.

    `groups` lists the judges of each family, as for `group_aware`; None takes the column `family`, or searches for
    families at the false-discovery `level` (0..1). `smoothing` is added to the score of every class.

    Args:
        groups: Judges of each family, as for `group_aware`; None uses the column `family`, or a search if there is
            none.
        level: False-discovery level of the search; smaller values join fewer judges.
        excess: Agreement beyond the fit that the search requires; larger values join fewer judges.
        smoothing: Votes added to every class; larger values lower the confidence, and 0 gives the shares of the
            families.

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

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Average the shares within families, then sum over families."""
        verdicts = judge_verdicts(annotations)
        family = self.families(annotations)
        key = verdicts.task * np.int64(family.max(initial=0) + 1) + family[verdicts.judge]
        _, index, size = np.unique(key, return_inverse=True, return_counts=True)
        score = verdicts.score(1.0 / size[index]) + self.smoothing
        posterior = shares(score)
        posterior = posterior if gold is None else gold.clamp(posterior)
        extra: dict[str, Any] = {"group": family}
        n_models = sum(kind == "model" for kind in kinds_of(annotations))
        if gold is None and n_models >= 2:
            extra["warning"] = without_gold(n_models)
        return Solution(posterior, posterior.mean(axis=0), extra=extra)

    def families(self, annotations: Annotations) -> I8:
        """Return the family number of each judge."""
        if self.groups is not None:
            assert not isinstance(self.groups, str)
            return given_groups(self.groups, annotations.workers)
        families = families_from_table(annotations)
        return find_groups(annotations, self.level, self.excess) if families is None else families


# ----------------------------------------------------------------
# The confidence that judges state: calibrated on gold, or ignored.

# Log-odds of calibrated confidences are clipped here.
MAX_LOG_ODDS = 6.0


class ConfidenceCalibration:
    """Calibration of the confidence that judges state; truth[task] is a class, or K where it is not known."""

    def __init__(self, verdicts: JudgeVerdicts, truth: I8, use: bool) -> None:
        self.verdicts, self.truth = verdicts, truth
        self.stated = np.isfinite(verdicts.confidence)
        self.use = use and bool(self.stated.any())
        self.ones = np.ones(len(verdicts.task))

    def fit(self, tasks: I8) -> F8:
        """Return platt[judge, (shift, slope, scale)] learnt on these gold tasks; NaN where confidence is ignored."""
        verdicts, k = self.verdicts, self.verdicts.share.shape[1]
        out = np.full((verdicts.n_judges, 3), np.nan)
        if not self.use:
            return out
        pairs = np.flatnonzero(np.isin(verdicts.task, tasks) & self.stated)
        right = (verdicts.mode[pairs] == self.truth[verdicts.task[pairs]]).astype(np.float64)
        for judge in np.unique(verdicts.judge[pairs]):
            mask = verdicts.judge[pairs] == judge
            confidence = verdicts.confidence[pairs[mask]]
            if why_ignored(confidence):
                continue
            platt = fit_platt(confidence, right[mask])
            scale = float(np.abs(log_odds(platt(confidence), k)).mean())
            if scale > 1e-6:
                out[judge] = platt.shift, platt.slope, scale
        return out

    def factor(self, platt: F8) -> F8:
        """Return the factor of each verdict: 1, or its calibrated log-odds divided by their mean."""
        return self.apply(self.verdicts, platt) if self.use else self.ones

    @staticmethod
    def apply(verdicts: JudgeVerdicts, platt: F8) -> F8:
        """Return the factors of any verdicts of these judges."""
        pair_platt = platt[verdicts.judge]
        pairs = np.flatnonzero(np.isfinite(pair_platt[:, 0]) & np.isfinite(verdicts.confidence))
        out = np.ones(len(verdicts.task))
        if len(pairs):
            p = 1 / (1 + np.exp(-(pair_platt[pairs, 0] + pair_platt[pairs, 1] * logit(verdicts.confidence[pairs]))))
            out[pairs] = log_odds(p, verdicts.share.shape[1]) / pair_platt[pairs, 2]
        return out


def log_odds(p: F8, k: int) -> F8:
    """Return the log odds of p against each other class, which share 1 - p equally."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    odds = np.log(p * (k - 1) / (1 - p)) if k > 1 else np.zeros_like(p)
    return np.asarray(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))


# With this many gold labels a stack is reliable; fewer cause a warning.
ENOUGH = 30


def class_default(votes: Annotations, gold: Any = None) -> str:
    """Return the default method for class labels.

    Judges that are all models make the same errors: the default is a vote by model family without gold, and a stack
    with enough gold. Ordered classes have a default of their own.
    """
    if all_models(votes):
        if gold is None:
            return "family_vote"
        if int(lookup(votes.tasks, truth_table(gold)["task"])[1].sum()) >= ENOUGH:
            return "judge_stack"
    return registry.DEFAULT if votes.answers.order is None else "ordinal_committee"


@dataclass(frozen=True, kw_only=True)
class JudgeStack(Aggregator):
    """Judge stack: one weight per judge, learnt on gold labels.

        P(y_n = k) ∝ exp(b_k + Σ_m w_m f_nm v[n, m, k]),   v: share of judge m's verdicts on task n for class k

    No unsupervised model can detect errors that all judges make together; a few dozen gold labels can. Only M + K
    numbers are learnt from them (penalised, with the penalty chosen on held-out gold). f_nm is 1, or, where a judge
    states confidences that vary, the calibrated log-odds of being right divided by their mean. Gold tasks get
    out-of-fold posteriors in `extra["gold_posterior"]`. Fails where gold tasks differ from the others. Wolpert
    (1992), doi:10.1016/S0893-6080(05)80023-1.

    `penalty` is on the squared weights (None: the one that predicts held-out gold best). Judges with fewer than
    `own_weight` gold labels share one weight; fewer than `min_gold` gold labels are refused. `confidence` makes use of
    the confidence that judges state, calibrated on gold.

    Args:
        penalty: Penalty on the squared weights; larger values shrink the weights to zero. None chooses the one of six
            values (0.1 to 30) that predicts held-out gold best.
        own_weight: Number of gold labels from which a judge has a weight of its own; judges with fewer share one
            weight.
        min_gold: Minimum number of gold tasks with verdicts; a fit with fewer is refused.
        confidence: Whether verdicts count by the judges' stated confidences, calibrated on gold, where these vary.

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

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Learn the stack on the gold tasks, then estimate all tasks."""
        assert gold is not None
        verdicts = judge_verdicts(annotations)
        gold_tasks = gold.tasks[np.isin(gold.tasks, verdicts.task)]
        self._check_gold(annotations, gold, gold_tasks)
        truth = gold.label[gold_tasks].astype(np.int64)
        column = weight_columns(verdicts, gold_tasks, self.own_weight)
        calibration = ConfidenceCalibration(verdicts, gold.label.astype(np.int64), self.confidence)

        def make_features(train: Mask) -> F8:
            factor = calibration.factor(calibration.fit(gold_tasks[train]))
            return tied(verdicts, gold_tasks, factor, column)

        grid = GRID if self.penalty is None else (float(self.penalty),)
        stack, held_out = learn_stack(make_features, truth, np.random.default_rng(self.seed), grid)
        platt = calibration.fit(gold_tasks)
        pair_weight = stack.weight[column][verdicts.judge] * calibration.factor(platt)
        posterior = normalise_rows(stack.bias + verdicts.score(pair_weight))[0]
        gold_posterior = np.full((annotations.n_tasks, annotations.n_classes), np.nan)
        gold_posterior[gold_tasks] = held_out
        return Solution(
            posterior=gold.clamp(posterior),
            class_prior=posterior.mean(axis=0),
            extra={
                "weight": stack.weight[column],
                "bias": stack.bias,
                "platt": platt,
                "penalty": stack.l2,
                "held_out_log_loss": min(stack.losses),
                "gold_posterior": gold_posterior,
            },
        )

    def empty_task_values(self) -> dict[str, float]:
        """Return NaN: a task without verdicts has no out-of-fold posterior."""
        return {"gold_posterior": np.nan}

    def _check_gold(self, annotations: Annotations, gold: GoldLabels, gold_tasks: I8) -> None:
        """Refuse too little gold; warn about little gold and about missing classes."""
        n = len(gold_tasks)
        if n == 0:
            raise DataError("no worker labelled a gold task, so no weight can be learnt; use another method")
        if n < self.min_gold:
            raise DataError(
                f"judge_stack needs at least {self.min_gold} gold labels of tasks with verdicts, there are {n}; label "
                "some more tasks, or take group_aware or family_vote, which need none"
            )
        if n < ENOUGH:
            _warn(f"{n} gold labels are few for judge_stack; {ENOUGH} or more are worth their price")
        missing = np.setdiff1d(np.arange(gold.n_classes), gold.label[gold_tasks])
        if len(missing) and n >= ENOUGH:
            names = annotations.classes.gather(missing)
            _warn(f"no gold task is {quote(names)}: judge_stack learns that such tasks are rare; label some if not")

    @staticmethod
    def fitted(result: Result) -> StackedJudges | None:
        """Return the model of weights and calibrations."""
        extra = result.extra
        return StackedJudges(result, extra["weight"], extra["bias"], extra["platt"]) if "platt" in extra else None


@dataclass(frozen=True, eq=False)
class StackedJudges(ClassModel):
    """weight[judge], bias[class], platt[judge, (shift, slope, scale)]."""

    weight: F8
    bias: F8
    platt: F8

    def posterior(self, votes: Annotations) -> F8:
        """Posterior of the weighted verdicts; unknown judges get the average weight, their confidence is ignored."""
        verdicts = judge_verdicts(votes)
        factor = ConfidenceCalibration.apply(verdicts, self.values_of(self.platt, votes.workers))
        score = verdicts.score(self.values_of(self.weight, votes.workers)[verdicts.judge] * factor)
        posterior = normalise_rows(self.bias + score)[0]
        empty = np.bincount(verdicts.task, minlength=votes.n_tasks) == 0
        return np.where(empty[:, None], self.result.class_prior, posterior) if empty.any() else posterior


def weight_columns(verdicts: JudgeVerdicts, gold_tasks: I8, own_weight: int) -> I8:
    """Return the weight index of each judge; judges with fewer than `own_weight` gold labels share the last one."""
    on_gold = np.isin(verdicts.task, gold_tasks)
    n = np.bincount(verdicts.judge[on_gold], minlength=verdicts.n_judges)
    few = n < own_weight
    column = np.cumsum(~few) - 1
    column[few] = (~few).sum()
    return np.asarray(column, dtype=np.int64)


def tied(verdicts: JudgeVerdicts, tasks: I8, factor: F8, column: I8) -> F8:
    """Return features[task, column, class] of these tasks, summed over judges that share a weight."""
    position = np.full(verdicts.n_tasks, -1)
    position[tasks] = np.arange(len(tasks))
    pairs = np.flatnonzero(position[verdicts.task] >= 0)
    out = np.zeros((len(tasks), int(column.max(initial=0)) + 1, verdicts.share.shape[1]))
    values = (verdicts.share[pairs] - 1 / verdicts.share.shape[1]) * factor[pairs, None]
    np.add.at(out, (position[verdicts.task[pairs]], column[verdicts.judge[pairs]]), values)
    return out


def _warn(text: str) -> None:
    warnings.warn(text, IdentifiabilityWarning, stacklevel=5)


@dataclass(frozen=True, kw_only=True)
class JudgeSymbols(Aggregator):
    """Judge symbols: Dawid-Skene over labels and their strength, for judges with confidences or repeats, without gold.

        y_n ~ Cat(class_prior),   (label, strength) of judge m on task n | y_n = k ~ Cat(A[m, k, :])

    The strength is the tercile of the stated confidence among those of the judge; without confidences, whether at
    least `agreement` of the repeats give the same class. The value of each strength is learnt, not taken as stated.
    Without confidences and repeats this is `dawid_skene`. Fails, as every method without gold, where judges err
    together. Dawid & Skene (1979), doi:10.2307/2346806.

    `smoothing` adds pseudo-counts for each label, `diagonal` further ones for the right label; a verdict is strong if
    `agreement` (0..1) of its repeats agree.

    Args:
        smoothing: Pseudo-count of each label, divided among the strengths that the judge uses.
        diagonal: Further pseudo-count of the right label; larger values presume more accurate judges.
        agreement: Share of a judge's repeats that must agree for a strong verdict; unused if confidences are stated.
        max_iter: Maximum number of EM iterations.
        tol: Relative gain of the objective at which EM stops.

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

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Build the symbols, then run EM from the vote shares."""
        verdicts, k = judge_verdicts(annotations), annotations.n_classes
        bin_, bins = strengths(verdicts, self.agreement)
        counts = prior_counts(verdicts.judge, bin_, verdicts.n_judges, k, bins, self.smoothing, self.diagonal)
        start = shares(verdicts.score(np.ones(len(verdicts.task))))
        start = start if gold is None else gold.clamp(start)
        gold_codes = None if gold is None else gold.label.astype(np.int64)
        # A tie between two classes is not broken: the verdict counts half for each.
        pair, label = np.nonzero(verdicts.share >= verdicts.share.max(axis=1, keepdims=True) - 1e-9)
        weight = 1.0 / np.bincount(pair, minlength=len(verdicts.task))[pair]
        fit = fit_symbols(
            verdicts.task[pair],
            verdicts.judge[pair],
            label * bins + bin_[pair],
            weight,
            start,
            counts,
            gold_codes,
            self.max_iter,
            self.tol,
        )
        confusion = fit.table.reshape(verdicts.n_judges, k, k, bins).sum(axis=3)
        return Solution(
            posterior=fit.posterior,
            class_prior=fit.prior,
            confusion=confusion / confusion.sum(axis=2, keepdims=True),
            trace=fit.trace,
            n_iter=len(fit.trace),
            converged=fit.converged,
            extra={"strengths": bins},
        )


def strengths(verdicts: JudgeVerdicts, agreement: float) -> tuple[I8, int]:
    """Return the strength bin of each verdict, and the number of bins."""
    top = verdicts.share.max(axis=1) if len(verdicts.share) else np.zeros(0)
    confidence = verdicts.confidence
    if np.isfinite(confidence).any():
        strength = confidence * np.where(np.isfinite(confidence), top, 1.0)
        return terciles(verdicts.judge, strength, verdicts.n_judges), BINS + 1
    if (verdicts.rows > 1).any():
        return (top >= agreement - 1e-9).astype(np.int64), 2
    return np.zeros(len(verdicts.task), dtype=np.int64), 1
