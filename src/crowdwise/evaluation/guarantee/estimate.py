"""`estimate`: a figure about all tasks from few gold labels and a verdict on each task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8
from ...core.errors import CrowdwiseError, DataError, ParameterError
from ...core.votes import Votes
from . import clusters, estimators
from .difference import difference, two_workers
from .estimand import ERROR, Estimand, Figure, estimand
from .estimators import FittedMean, half_width, ppi_plus_plus, regression, weighted
from .gold import GoldSample, place_blind
from .order import split_fit
from .sampling import check_random, resolve_design
from .scored import absolute_errors
from .verdicts import Verdicts, in_classes

Method = Literal["auto", "double", "regression", "ppi++"]
FEWEST = 10
# A verdict may lack gold if it holds less than this share of the tasks.
RARE = 0.01
# The regression on a score of classes needs so many gold labels at either end.
EACH = 20


def estimate(
    given: Any,
    *,
    gold: Any,
    metric: str,
    sampling: Any = None,
    level: float = 0.95,
    by: Any = None,
    population: Literal["these", "new"] = "these",
    method: Method = "auto",
    votes: Votes[Any] | None = None,
    fit_share: float | None = None,
    force: bool = False,
    seed: int = 0,
    cluster: Any = None,
) -> Figure:
    """Estimate a share, accuracy, win rate, mean or difference over all tasks, with a valid interval.

    Args:
        given: Votes (one judge's verdicts; of several workers the default method's labels), or a result.
        gold: Table or mapping task, label.
        metric: "share:CLASS", "accuracy", "winrate[:CLASS]", "mean", "difference:A,B" of two classes, or of the
            accuracies of two workers; "error" (the mean absolute error of numbers); "score" (against gold, of kinds
            such as spans, boxes, texts or rankings, see docs/kinds.md).
        sampling: How the gold tasks were drawn: "random", "clusters" (whole ones), "within verdict", "weights" (a
            column probability), "by truth", "unknown", or a `Draw`.
        level: Level of the interval.
        by: Column (or table) of groups that each get a figure too.
        population: Whether the interval is for "these" tasks or for "new" tasks of the same kind.
        method: Estimator: "auto", "double", "regression" or "ppi++".
        votes: The votes behind a result.
        fit_share: Share of the gold that fits a method which needs gold; the rest estimates.
        force: Return the estimate without an interval if the sampling is unknown.
        seed: Seed of the interval.
        cluster: Column about the tasks, or table or mapping task, cluster, of tasks that belong together: prompts of
            one document, turns of one conversation.

    Returns:
        A `Figure`. If the gold calibrated the result (`cw.fit`), the labels of the fit without it are the verdicts.

    Raises:
        ParameterError: If an option is not valid, or the sampling is not stated.
        DataError: If there is too little gold, or it is not the sample it is stated to be.

    >>> import crowdwise as cw
    >>> tasks = [f"t{i:03}" for i in range(400)]
    >>> verdicts = ["pass" if i % 10 < 7 else "fail" for i in range(400)]
    >>> votes = cw.Annotations.from_arrays(tasks, ["judge"] * 400, verdicts)
    >>> gold = {f"t{i:03}": verdicts[i] for i in range(0, 400, 7)}
    >>> figure = cw.estimate(votes, gold=gold, metric="share:pass", sampling="random")
    >>> round(figure.value, 3), figure.low < 0.7 < figure.high
    (0.7, True)
    """
    if not 0 < level < 1:
        raise ParameterError(f"level must be between 0 and 1, got {level}")
    if population not in ("these", "new"):
        raise ParameterError(f"for must be these or new, got {population!r}")
    if method not in ("auto", "double", "regression", "ppi++"):
        raise ParameterError(f"method must be auto, double, regression or ppi++, got {method!r}")
    given, gold, votes = in_classes(given, gold, votes)
    if fit_share is not None:
        given, gold = split_fit(given, votes, gold, fit_share, seed)
    votes = given if isinstance(given, Votes) else votes
    worker_votes = two_workers(metric, votes)
    if worker_votes is not None:
        if by is not None or method != "auto":
            raise ParameterError("a difference of two workers takes neither by nor method; leave them out")
        return difference(
            *worker_votes, gold=gold, sampling=sampling, level=level, population=population, seed=seed, cluster=cluster
        )
    if cluster is not None and method == "ppi++":
        raise ParameterError("ppi++ has no intervals for clusters; leave out method or cluster")
    sample, verdicts = place_blind(gold, given, votes)
    verdicts, cluster_notes = clusters.with_clusters(verdicts, cluster)
    design, sample, notes = resolve_design(sampling, sample, verdicts, force)
    if verdicts.changed is not None:
        notes = [*notes, f"this gold was also given to the fit: the figure is about the labels of the fit without it, "
                 f"{int(verdicts.changed.sum()):,} of which changed with the gold"]  # fmt: skip
    sample, verdicts, notes = _without_fit_gold(sample, verdicts, notes)
    checks = {}
    if design in ("random", "within verdict"):
        checks = check_random(sample, verdicts, within=design == "within verdict")
    cluster_checks, more_notes = clusters.check_clusters(design, sample, verdicts, population == "new")
    checks, notes = checks | cluster_checks, [*notes, *cluster_notes, *more_notes]
    if metric.strip() == ERROR and verdicts.value is not None and verdicts.score_of is None:
        sample, verdicts = absolute_errors(sample, verdicts)
    target = estimand(metric, verdicts)
    query = _EstimateQuery(level, population == "new", design, method, seed)
    figure = replace(_figure(target, sample, verdicts, query), checks=checks, notes=tuple(notes))
    return figure if by is None else replace(figure, groups=_by(by, target, sample, verdicts, query))


class _EstimateQuery(NamedTuple):
    """Options of `estimate`, the same for every group; `how` is the sampling design."""

    level: float
    new: bool
    how: str
    method: Method
    seed: int

    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 0xE571])


def _without_fit_gold(gold: GoldSample, verdicts: Verdicts, notes: list[str]) -> tuple[GoldSample, Verdicts, list[str]]:
    """Leave out the tasks whose gold was used to fit the verdicts."""
    if verdicts.used_to_fit is None or not verdicts.used_to_fit.any():
        return gold, verdicts, notes
    is_open = ~verdicts.used_to_fit
    note = f"{int(verdicts.used_to_fit.sum()):,} tasks whose gold was used to fit are left out"
    return gold.within(is_open), verdicts.keep(is_open), [*notes, note]


def _by(
    groups: Any, target: Estimand, gold: GoldSample, verdicts: Verdicts, query: _EstimateQuery
) -> dict[Any, Figure | str]:
    group, names = verdicts.groups(groups)
    out: dict[Any, Figure | str] = {}
    for code, name in enumerate(names):
        in_group = group == code
        try:
            out[name] = _figure(target, gold.within(in_group), verdicts.keep(in_group), query)
        except CrowdwiseError as error:
            out[name] = str(error)
    return out


def _figure(target: Estimand, gold: GoldSample, verdicts: Verdicts, query: _EstimateQuery) -> Figure:
    if len(gold) < FEWEST:
        raise DataError(f"{len(gold)} gold labels are too few to estimate anything; at least {FEWEST} are needed")
    estimator: Callable[[Estimand, GoldSample, Verdicts, _EstimateQuery], Figure] = _double
    if query.how == "by truth":
        estimator = _balanced
    elif (
        query.how == "weights" or (target.score is None and not target.right) or query.method in ("regression", "ppi++")
    ):
        estimator = _regression
    figure = estimator(target, gold, verdicts, query)
    if query.how == "unknown":
        figure = replace(figure, low=None, high=None, gold_only=None, labels_saved=None)
    return figure


def _outcome(target: Estimand, gold: GoldSample, verdicts: Verdicts) -> tuple[npt.NDArray[np.int64], F8]:
    """Return the code of the outcome of each gold task, and the score of each code."""
    if target.right:
        return (gold.label != verdicts.label[gold.task]).astype(np.int64), np.array([1.0, 0.0])
    assert target.score is not None
    return gold.label, target.score


def _double(target: Estimand, gold: GoldSample, verdicts: Verdicts, query: _EstimateQuery) -> Figure:
    truth, score = _outcome(target, gold, verdicts)
    strata = len(verdicts.classes) + 1  # tasks without a verdict are a stratum of their own
    tasks = np.bincount(verdicts.label, minlength=strata).astype(float)
    counts = np.zeros((strata, len(score)))
    np.add.at(counts, (verdicts.label[gold.task], truth), 1.0)
    _gold_in_each(tasks, counts, verdicts)
    has_tasks = tasks > 0
    tasks, counts = tasks[has_tasks], counts[has_tasks]
    value = estimators.point(tasks, counts, score)
    rng = query.rng()
    deff, deff_alone = clusters.effect(
        verdicts, gold, score[truth], verdicts.label, design=query.how, new=query.new, level=query.level
    )
    ends = float(score.min()), float(score.max())
    drawn = estimators.draws(tasks, counts, score, rng, new=query.new)
    low, high = estimators.central(clusters.spread(drawn, deff, *ends), query.level)
    pooled = counts.sum(axis=0)
    gold_value = float(pooled @ score / pooled.sum())
    if query.how == "within verdict":  # what as many gold labels drawn from all tasks would hold
        pooled = pooled.sum() * (tasks / tasks.sum()) @ (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    gold_draws = estimators.draws(tasks.sum()[None], pooled[None], score, rng, new=query.new)
    gold_ends = estimators.central(clusters.spread(gold_draws, deff_alone, *ends), query.level)
    judge_value = None if target.right else float(np.append(score, np.nan)[verdicts.label[verdicts.has_verdict]].mean())
    return Figure(
        target.name, target.display_name, value, low, high, query.level, "double sampling", query.how,
        "new" if query.new else "these", len(gold), len(verdicts), verdicts.name, judge_value,
        None if query.how == "within verdict" else (gold_value, *gold_ends), estimators.explained(tasks, counts, score),
        estimators.labels_saved(gold_ends, low, high),
    )  # fmt: skip


def _gold_in_each(tasks: F8, counts: F8, verdicts: Verdicts) -> None:
    """Raise if a frequent verdict has no gold."""
    lacks_gold = (counts.sum(axis=1) == 0) & (tasks >= max(RARE * tasks.sum(), 1))
    if lacks_gold.any():
        k = int(np.argmax(np.where(lacks_gold, tasks, 0)))
        description = (
            f'that {verdicts.name} calls "{verdicts.classes[k]}"' if k < len(verdicts.classes) else "without a verdict"
        )
        raise DataError(f"no gold among the {int(tasks[k]):,} tasks {description}; draw some there")


def _regression(target: Estimand, gold: GoldSample, verdicts: Verdicts, query: _EstimateQuery) -> Figure:
    """Estimate for numbers, for known sampling probabilities, and for classes with a score if requested."""
    if verdicts.value is not None:
        assert gold.value is not None
        y, f = gold.value, verdicts.value
    elif target.right:
        y, f = (gold.label == verdicts.label[gold.task]).astype(float), verdicts.confidence
    else:
        assert target.score is not None
        posterior = (
            np.eye(len(verdicts.classes) + 1)[verdicts.label][:, :-1]
            if verdicts.posterior is None
            else verdicts.posterior
        )
        y, f = target.score[gold.label], posterior @ target.score
    name = "regression estimator"
    if query.method == "ppi++":
        fit = _ppi(y, f, gold)
        name = "PPI++"
    elif query.how == "weights":
        assert gold.chance is not None
        fit, name = weighted(y, f[gold.task], gold.chance, f, new=query.new), "weighted regression estimator"
    else:
        if verdicts.value is None and min(int((y == v).sum()) for v in (y.min(), y.max())) < EACH:
            return _double(target, gold, verdicts, query)
        fit = regression(y, f[gold.task], f, new=query.new)
    fit = clusters.widened(fit, verdicts, gold, y, f, design=query.how, new=query.new)
    half = half_width(fit.error, fit.freedom, query.level)
    half_alone = half_width(fit.alone[1], fit.alone[2], query.level)
    gold_only = (fit.alone[0], fit.alone[0] - half_alone, fit.alone[0] + half_alone)
    return Figure(
        target.name, target.display_name, fit.value, fit.value - half, fit.value + half, query.level, name, query.how,
        "new" if query.new or query.method == "ppi++" else "these", len(gold), len(verdicts), verdicts.name,
        None if target.right else float(f[verdicts.has_verdict].mean()), gold_only, fit.r2,
        (half_alone / half) ** 2 if half > 0 else None,
    )  # fmt: skip


def _ppi(y: F8, f: F8, gold: GoldSample) -> FittedMean:
    """PPI++ as in ppi-python: z intervals for new tasks, gold against all tasks without gold."""
    unlabelled = np.ones(len(f), dtype=bool)
    unlabelled[gold.task] = False
    if not unlabelled.any():
        raise DataError("PPI++ needs tasks without gold; there are none")
    gold_prediction = f[gold.task]
    value, error, lam = ppi_plus_plus(y, gold_prediction, f[unlabelled])
    fit = regression(y, gold_prediction, f)
    gold_only = (float(y.mean()), float(y.std() / np.sqrt(len(y))), np.inf)
    return FittedMean(value, error, np.inf, lam, fit.r2, gold_only)


def _balanced(target: Estimand, gold: GoldSample, verdicts: Verdicts, query: _EstimateQuery) -> Figure:
    if target.score is None:
        raise ParameterError("gold balanced by the true class can correct shares of classes, not the accuracy")
    k = len(verdicts.classes)
    has_verdict = verdicts.label < k
    usable = has_verdict[gold.task]
    counts = np.zeros((k, k))
    np.add.at(counts, (gold.label[usable], verdicts.label[gold.task][usable]), 1.0)
    lacks_gold = counts.sum(axis=1) == 0
    if lacks_gold.any():
        raise DataError(f'gold balanced by truth has no task of class "{verdicts.classes[int(np.argmax(lacks_gold))]}"')
    tasks = np.bincount(verdicts.label[has_verdict], minlength=k).astype(float)
    theta, informedness = estimators.balanced_draws(counts, tasks, query.rng(), estimators.DRAWS)
    rows = counts / counts.sum(axis=1, keepdims=True)
    if (informedness <= (estimators.EDGE if k == 2 else estimators.SINGULAR)).mean() > 0.01:
        low, high = estimators.central(informedness, query.level)
        measure = "TPR + TNR - 1" if k == 2 else "smallest singular value of its confusions"
        raise DataError(
            f"{verdicts.name} may be no better than chance ({measure} = {float(estimators.informedness(rows)):.2f} "
            f"[{low:.2f}, {high:.2f}]); its verdicts cannot be corrected"
        )
    value = float(estimators.on_simplex(estimators.solve(rows, tasks / tasks.sum())) @ target.score)
    low, high = estimators.central(theta @ target.score, query.level)
    judge_value = float(tasks @ target.score / tasks.sum())
    return Figure(
        target.name, target.display_name, value, min(low, value), max(high, value), query.level, "Rogan-Gladen",
        query.how, "new" if query.new else "these", len(gold), len(verdicts), verdicts.name, judge_value,
    )  # fmt: skip
