"""`difference`: how much better is one system than another on the same tasks?

Accuracy, if both answer the same question: only tasks on which the systems disagree can make a difference, so gold is
needed only there, and tasks on which they agree add nothing to the interval:

    d = sum over verdicts l of A, B differing: W_l/N · (gold where A is right - gold where B is right)_l / n_l

Shares and means, if people judged the output of each system (two golds): paired differences of people's verdicts, by
double sampling within the difference of the judge's verdicts, or by the regression estimator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError, ParameterError
from ...core.kind import KindHooks
from ...core.vocabulary import lookup
from ...core.votes import Votes
from . import clusters, estimators
from .estimand import Figure, estimand
from .estimators import half_width, regression
from .gold import GoldSample, place_blind
from .sampling import random_sample
from .verdicts import Verdicts, in_classes

FEWEST = 10
# Verdicts of the first system are strata if each holds so many gold labels: small strata make intervals too narrow.
EACH = 30


def two_workers(metric: str, votes: Votes[Any] | None) -> tuple[Votes[Any], Votes[Any]] | None:
    """Return the votes of both workers if "difference:A,B" names two workers rather than two classes; else None."""
    what, _, names_text = metric.partition(":")
    names = [part.strip() for part in names_text.split(",")]
    if (
        votes is None
        or what.strip() != "difference"
        or len(names) != 2
        or not votes.kind.hooks.supports(KindHooks.one_worker)
    ):
        return None
    workers, classes = (
        [str(x) for x in s.to_list()] for s in (votes.workers, getattr(votes, "classes", pl.Series([])))
    )
    unknown = [name for name in names if name not in workers]
    if all(name in classes for name in names) or len(unknown) == 2:
        return None
    if unknown:
        raise ParameterError(f"difference:A,B takes two classes or two workers; {unknown[0]!r} is not a worker here")
    first, second = (votes.select(workers=[votes.workers[workers.index(name)]]) for name in names)
    return first, second


class DifferenceQuery(NamedTuple):
    """Options of `difference`."""

    metric: str
    level: float
    new: bool
    seed: int
    design: str = "random"

    def rng(self) -> np.random.Generator:
        """Return the random generator of this query."""
        return np.random.default_rng([self.seed, 0xD1FF])


def difference(
    first: Any,
    second: Any,
    *,
    gold: Any,
    second_gold: Any = None,
    metric: str = "accuracy",
    sampling: Any = None,
    level: float = 0.95,
    population: Literal["these", "new"] = "these",
    votes: Votes[Any] | None = None,
    second_votes: Votes[Any] | None = None,
    seed: int = 0,
    cluster: Any = None,
) -> Figure:
    """Estimate the accuracy (or share, win rate, mean) of the first system minus that of the second, paired by task.

    Args:
        first: Votes or result of the first system.
        second: Votes or result of the second system, over the same tasks.
        gold: Known labels. With one gold both systems are compared with it, and only the accuracy can differ.
        second_gold: People's verdicts on the output of the second system; `gold` then holds those on the first.
        metric: "accuracy", or with two golds "share:CLASS", "winrate[:CLASS]" or "mean".
        sampling: How the gold was drawn, or a `Draw`.
        level: Level of the interval.
        population: Whether the interval is for "these" tasks or for "new" tasks of the same kind.
        votes: The votes behind the first result.
        second_votes: The votes behind the second result.
        seed: Seed of the interval.
        cluster: Column about the tasks, or table or mapping task, cluster, of tasks that belong together.

    Returns:
        A `Figure` with the difference and its interval.

    >>> import crowdwise as cw
    >>> truth = ["pass" if i % 3 else "fail" for i in range(300)]
    >>> blind = cw.Annotations.from_arrays(range(300), ["blind"] * 300, ["pass"] * 300)
    >>> right = cw.Annotations.from_arrays(range(300), ["right"] * 300, truth)
    >>> gold = {i: truth[i] for i in range(0, 300, 2)}
    >>> round(cw.difference(right, blind, gold=gold, sampling="random").value, 3)
    0.333
    """
    for name, value, is_valid in (("level", level, 0 < level < 1), ("for", population, population in ("these", "new"))):
        if not is_valid:
            raise ParameterError(f"{name} cannot be {value!r}")
    first, gold_of_first, votes = in_classes(first, gold, votes)
    second, gold_of_second, second_votes = in_classes(
        second, gold if second_gold is None else second_gold, second_votes
    )
    pairs = (
        place_blind(gold_of_first, first, votes),
        place_blind(gold_of_second, second, second_votes),
    )
    (first_sample, first_verdicts), (second_sample, second_verdicts), notes = _same_tasks(*pairs)
    first_verdicts, cluster_notes = clusters.with_clusters(first_verdicts, cluster)
    make = _accuracy if second_gold is None else _paired_values
    if second_gold is None and metric != "accuracy":
        raise ParameterError(
            f"with one gold the true {metric} is the same for both systems; compare their accuracy, or also give "
            "people's verdicts on the output of the second one (second_gold=, --against-gold)"
        )
    pair_verdicts = _paired(first_verdicts, second_verdicts)
    design, sample, sampling_notes, checks = random_sample(
        sampling, replace(first_sample, chance=None), pair_verdicts, "a difference", clusters=True
    )
    new = population == "new"
    cluster_checks, more_notes = clusters.check_clusters(design, sample, pair_verdicts, new)
    query = DifferenceQuery(metric, level, new, seed, design)
    in_sample = np.isin(first_sample.task, sample.task)
    figure = make(first_verdicts, first_sample.take(in_sample), second_verdicts, second_sample, query)
    notes = [*notes, *sampling_notes, *cluster_notes, *more_notes]
    return replace(figure, sampling=design, checks=checks | cluster_checks, notes=tuple(notes))


Placed = tuple[GoldSample, Verdicts]


def _same_tasks(first: Placed, second: Placed) -> tuple[Placed, Placed, list[str]]:
    """Restrict both systems to their common tasks in one order, and both golds to their common tasks."""
    (first_gold, first_verdicts), (second_gold, second_verdicts) = first, second
    if (first_verdicts.value is None) != (second_verdicts.value is None):
        raise DataError("one system gives numbers and the other classes; they cannot be compared")
    code, is_shared = lookup(second_verdicts.tasks, first_verdicts.tasks)
    if not is_shared.any():
        raise DataError("the two systems have no task in common")
    n_left_out = len(first_verdicts) + len(second_verdicts) - 2 * int(is_shared.sum())
    notes = [f"{n_left_out:,} tasks of only one of the systems are left out"] if n_left_out else []
    second_code = np.full(len(second_verdicts), -1)
    second_code[code[is_shared]] = np.arange(int(is_shared.sum()))
    order = np.asarray(code[is_shared], dtype=np.int64)
    new_code = np.where(is_shared, np.cumsum(is_shared) - 1, -1)
    first_gold, second_gold = (
        _moved(gold, place) for gold, place in ((first_gold, new_code), (second_gold, second_code))
    )
    common = np.intersect1d(first_gold.task, second_gold.task)
    if len(common) < FEWEST:
        raise DataError(f"{len(common)} gold labels are too few to estimate anything; at least {FEWEST} are needed")
    first_gold, second_gold = (
        gold.take(np.argsort(gold.task)[np.isin(np.sort(gold.task), common)]) for gold in (first_gold, second_gold)
    )
    first_verdicts, second_verdicts = first_verdicts.keep(np.asarray(is_shared)), second_verdicts.take(order)
    return (first_gold, first_verdicts), (second_gold, second_verdicts), notes


def names_of(first: Verdicts, second: Verdicts) -> tuple[str, str]:
    """Return the names of the two systems; "the first" and "the second" if one judge judged both."""
    return ("the first", "the second") if first.name == second.name else (first.name, second.name)


def _moved(gold: GoldSample, new_code: I8) -> GoldSample:
    moved = gold.take(new_code[gold.task] >= 0)
    return replace(moved, task=new_code[moved.task])


def _paired(first: Verdicts, second: Verdicts) -> Verdicts:
    """Combine the two into one, whose verdict is the pair of verdicts, for the test of how the gold was drawn."""
    names = [[*map(str, verdicts.classes.to_list()), "none"] for verdicts in (first, second)]
    pair = first.label * len(names[1]) + second.label
    used_pairs, label = np.unique(pair, return_inverse=True)
    shown = [f"{names[0][p // len(names[1])]} and {names[1][p % len(names[1])]}" for p in used_pairs]
    value = None if first.value is None or second.value is None else first.value - second.value
    confidence = np.minimum(first.confidence, second.confidence)
    return replace(
        first, name=" and ".join(names_of(first, second)), label=label.astype(np.int64),
        classes=pl.Series("label", shown), confidence=confidence, n_labels=first.n_labels + second.n_labels,
        value=value, posterior=None, used_to_fit=None,
    )  # fmt: skip


def _accuracy(first: Verdicts, gold: GoldSample, second: Verdicts, _: GoldSample, query: DifferenceQuery) -> Figure:
    names = [verdicts.classes.cast(pl.String).to_list() for verdicts in (first, second)]
    classes = sorted({*names[0], *names[1]})
    first_label, second_label = (
        np.append([classes.index(name) for name in names_], len(classes))[verdicts.label].astype(np.int64)
        for names_, verdicts in zip(names, (first, second), strict=True)
    )
    truth = np.array([classes.index(name) for name in names[0]])[gold.label]
    differs = first_label != second_label
    outcome = 1.0 * (first_label[gold.task] == truth) - (second_label[gold.task] == truth)
    score = (
        np.array([1.0, -1.0])
        if len(classes) == 2 and (first_label < 2).all() and (second_label < 2).all()
        else np.array(LEVELS)
    )
    n, n_differ = len(first), int(differs.sum())
    counts, tasks = _strata(first_label, differs, gold, outcome, score)
    rng, share = query.rng(), n_differ / n
    if n_differ and not counts.sum():
        raise DataError(f"no gold among the {n_differ:,} tasks on which {' and '.join(names_of(first, second))} differ")
    value = share * estimators.point(tasks, counts, score) if n_differ else 0.0
    strata = np.where(differs, first_label + 1 if len(tasks) > 1 else 1, 0)
    deff, deff_alone = clusters.effect(
        first, gold, outcome, strata, design=query.design, new=query.new, level=query.level
    )
    drawn = np.zeros(1)
    if n_differ:
        spread: float | F8 = share
        if query.new:
            spread = rng.beta(n_differ + 0.5, n - n_differ + 0.5, estimators.DRAWS)
        drawn = estimators.draws(tasks, counts, score, rng, new=query.new) * spread
    low, high = estimators.central(clusters.spread(drawn, deff, -1.0, 1.0), query.level)
    outcome_counts = np.array([(outcome == level).sum() for level in LEVELS], dtype=float)
    gold_draws = estimators.draws(np.array([float(n)]), outcome_counts[None], np.array(LEVELS), rng, new=query.new)
    ends = estimators.central(clusters.spread(gold_draws, deff_alone, -1.0, 1.0), query.level)
    a, b = names_of(first, second)
    return Figure(
        f"difference:{a},{b}", f"accuracy of {a} less that of {b}", value, low, high, query.level,
        "double sampling where they differ", "", "new" if query.new else "these", len(gold), n, f"{a} and {b}", None,
        (float(outcome.mean()), *ends), None, estimators.labels_saved(ends, low, high),
    )  # fmt: skip


LEVELS = (1.0, 0.0, -1.0)


def _strata(label: I8, differs: npt.NDArray[np.bool_], gold: GoldSample, outcome: F8, score: F8) -> tuple[F8, F8]:
    """Return (gold counts, tasks) by verdict of the first system among the tasks on which they differ.

    There is one stratum for all if a verdict has little gold.
    """
    inside = differs[gold.task]
    size = int(label.max()) + 1
    if (np.bincount(label[gold.task[inside]], minlength=size)[np.unique(label[differs])] < EACH).any():
        label, size = np.zeros_like(label), 1
    counts = np.zeros((size, len(score)))
    for k, level in enumerate(score):
        rows = inside & (outcome == level)
        counts[:, k] = np.bincount(label[gold.task[rows]], minlength=size)
    tasks = np.bincount(label[differs], minlength=size).astype(float)
    return counts[tasks > 0], tasks[tasks > 0]


def _paired_values(
    first: Verdicts, first_gold: GoldSample, second: Verdicts, second_gold: GoldSample, query: DifferenceQuery
) -> Figure:
    """Estimate the paired difference of people's verdicts, using those of the judge."""
    second_gold = second_gold.take(np.isin(second_gold.task, first_gold.task))
    scores = (_scored(first, first_gold, query.metric), _scored(second, second_gold, query.metric))
    y, f = (a - b for a, b in zip(*scores, strict=True))
    levels, new = np.unique(np.concatenate([y, f])), query.new
    a, b = names_of(first, second)
    titles = (f"difference:{query.metric}:{a},{b}", f"{query.metric} of {a} less that of {b}")
    details: tuple[Any, ...] = (query.level, "", "", "new" if new else "these", len(y), len(f), f"{a} and {b}")
    masks = [f == level for level in levels]
    if len(levels) <= 3 and all(s[first_gold.task].any() or not s.any() for s in masks):
        tasks = np.array([float(s.sum()) for s in masks])
        counts = np.array([[float((s[first_gold.task] & (y == level)).sum()) for level in levels] for s in masks])
        tasks, counts, rng = tasks[tasks > 0], counts[tasks > 0], query.rng()
        deff, deff_alone = clusters.effect(
            first, first_gold, y, np.searchsorted(levels, f), design=query.design, new=new, level=query.level
        )
        bounds = float(levels[0]), float(levels[-1])
        drawn = estimators.draws(tasks, counts, levels, rng, new=new)
        low, high = estimators.central(clusters.spread(drawn, deff, *bounds), query.level)
        pooled = counts.sum(axis=0)
        gold_draws = estimators.draws(tasks.sum()[None], pooled[None], levels, rng, new=new)
        ends = estimators.central(clusters.spread(gold_draws, deff_alone, *bounds), query.level)
        value, r2 = estimators.point(tasks, counts, levels), estimators.explained(tasks, counts, levels)
        name = "double sampling"
    else:
        fit = regression(y, f[first_gold.task], f, new=new)
        fit = clusters.widened(fit, first, first_gold, y, f, design=query.design, new=new)
        half, gold_half = (half_width(e, d, query.level) for e, d in ((fit.error, fit.freedom), fit.alone[1:]))
        value, r2, name = fit.value, fit.r2, "regression estimator"
        low, high, ends = value - half, value + half, (fit.alone[0] - gold_half, fit.alone[0] + gold_half)
    figure = Figure(*titles, value, low, high, *details)
    return replace(
        figure, method=f"{name} of paired differences", judge_alone=float(f.mean()),
        gold_only=(float(y.mean()), *ends), r2=r2, labels_saved=estimators.labels_saved(ends, low, high),
    )  # fmt: skip


def _scored(verdicts: Verdicts, gold: GoldSample, metric: str) -> tuple[F8, F8]:
    """Return the score of each gold task by people, and of each task by the verdicts."""
    target = estimand(metric, verdicts)
    if target.right:
        raise ParameterError("with two golds choose a share, win rate or mean; an accuracy needs one gold for both")
    if verdicts.value is not None:
        assert gold.value is not None
        return gold.value, verdicts.value
    assert target.score is not None
    return target.score[gold.label], np.append(target.score, 0.0)[verdicts.label]
