"""difference: how much better is one system than another, on the same tasks?

Accuracy, where both answer the same question: only tasks on which the systems disagree can make a difference, so that
gold is needed there alone, and tasks on which they agree add nothing to the interval:

    d = sum over verdicts l of A, B saying otherwise: W_l/N · (gold that A has right - gold that B has right)_l / n_l

Shares and means, where people judged what each system made (two golds): the paired differences of people's verdicts, by
double sampling within the difference of the judge's verdicts, or by the regression estimator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.kind import KindHooks
from ...core.vocabulary import lookup
from ...core.votes import Votes
from . import estimators as double
from .estimand import Figure, estimand
from .estimators import half_width, regression
from .gold import Gold, blind_to, not_used_to_fit, place
from .sampling import check_random, settle
from .verdicts import Verdicts, verdicts

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
FEWEST = 10
# Verdicts of the first system are strata where each holds so many gold labels: small strata make intervals too narrow.
EACH = 30


def two_workers(of: str, votes: Votes[Any] | None) -> tuple[Votes[Any], Votes[Any]] | None:
    """The votes of either worker where "difference:A,B" names two of them and no two classes; else None."""
    what, _, rest = of.partition(":")
    names = [part.strip() for part in rest.split(",")]
    if (
        votes is None
        or what.strip() != "difference"
        or len(names) != 2
        or not votes.kind.hooks.supports(KindHooks.one_worker)
    ):
        return None
    known, classes = ([str(x) for x in s.to_list()] for s in (votes.workers, getattr(votes, "classes", pl.Series([]))))
    strangers = [name for name in names if name not in known]
    if all(name in classes for name in names) or len(strangers) == 2:
        return None
    if strangers:
        raise ParameterError(f"difference:A,B takes two classes or two workers; {strangers[0]!r} is no worker here")
    first, second = (votes.select(workers=[votes.workers[known.index(name)]]) for name in names)
    return first, second


class Ask(NamedTuple):
    """What was asked."""

    of: str
    level: float
    new: bool
    seed: int

    def rng(self) -> np.random.Generator:
        """The same luck every time."""
        return np.random.default_rng([self.seed, 0xD1FF])


def difference(
    first: Any,
    second: Any,
    *,
    gold: Any,
    second_gold: Any = None,
    of: str = "accuracy",
    sampling: Any = None,
    level: float = 0.95,
    for_: Literal["these", "new"] = "these",
    votes: Votes[Any] | None = None,
    second_votes: Votes[Any] | None = None,
    seed: int = 0,
) -> Figure:
    """The accuracy (or share, win rate, mean) of the first system less that of the second, paired by task.

    `first` and `second` are votes or results over the same tasks. With one gold both are held against it, and only
    the accuracy can differ. With `second_gold` each has its own: what people say of what either system made.

    >>> import crowdwise as cw
    >>> truth = ["pass" if i % 3 else "fail" for i in range(300)]
    >>> blind = cw.Annotations.from_arrays(range(300), ["blind"] * 300, ["pass"] * 300)
    >>> right = cw.Annotations.from_arrays(range(300), ["right"] * 300, truth)
    >>> gold = {i: truth[i] for i in range(0, 300, 2)}
    >>> round(cw.difference(right, blind, gold=gold, sampling="random").value, 3)
    0.333
    """
    for name, value, able in (("level", level, 0 < level < 1), ("for", for_, for_ in ("these", "new"))):
        if not able:
            raise ParameterError(f"{name} cannot be {value!r}")
    pairs = [_placed(first, votes, gold), _placed(second, second_votes, gold if second_gold is None else second_gold)]
    (mine, left), (yours, right), notes = _same_tasks(*pairs)
    ask = Ask(of, level, for_ == "new", seed)
    make = _accuracy if second_gold is None else _values
    if second_gold is None and of != "accuracy":
        raise ParameterError(
            f"with one gold the true {of} is the same for both systems; ask for their accuracy, or give people's "
            "verdicts of what the second one made too (second_gold=, --against-gold)"
        )
    both = _both(mine, yours)
    how, sample, more = settle(sampling, Gold(left.task, left.label, left.value), both, what="a difference")
    checks = check_random(sample, both, only=True) if how == "random" else {}
    kept = np.isin(left.task, sample.task)
    figure = make(mine, left.take(kept), yours, right, ask)
    return replace(figure, sampling=how, checks=checks, notes=(*notes, *more))


def _placed(given: Any, votes: Votes[Any] | None, gold: Any) -> tuple[Verdicts, Gold]:
    votes = given if isinstance(given, Votes) else votes
    sample, found = place(gold, verdicts(given, votes), None if votes is None else votes.about_workers)
    found = blind_to(sample, given, found)
    not_used_to_fit(found, sample)
    return found, sample


Placed = tuple[Verdicts, Gold]


def _same_tasks(first: Placed, second: Placed) -> tuple[Placed, Placed, list[str]]:
    """Both systems on the tasks that both have, in one order; gold of the tasks that both golds have."""
    (mine, left), (yours, right) = first, second
    if (mine.value is None) != (yours.value is None):
        raise DataError("one system gives numbers and the other classes; they cannot be compared")
    code, known = lookup(yours.tasks, mine.tasks)
    if not known.any():
        raise DataError("the two systems have no task in common")
    out = len(mine) + len(yours) - 2 * int(known.sum())
    notes = [f"{out:,} tasks that only one of the systems has are left out"] if out else []
    at = np.full(len(yours), -1)
    at[code[known]] = np.arange(int(known.sum()))
    order = np.asarray(code[known], dtype=np.int64)
    here = np.where(known, np.cumsum(known) - 1, -1)
    left, right = (_moved(gold, place) for gold, place in ((left, here), (right, at)))
    common = np.intersect1d(left.task, right.task)
    if len(common) < FEWEST:
        raise DataError(f"{len(common)} gold labels are too few to estimate anything; at least {FEWEST} are needed")
    mine = mine.keep(np.asarray(known))
    yours = _reordered(yours, order)
    pick = [gold.take(np.argsort(gold.task)[np.isin(np.sort(gold.task), common)]) for gold in (left, right)]
    return (mine, pick[0]), (yours, pick[1]), notes


def names_of(mine: Verdicts, yours: Verdicts) -> tuple[str, str]:
    """What the two are called; the first and the second where one judge judged both."""
    return ("the first", "the second") if mine.who == yours.who else (mine.who, yours.who)


def _moved(gold: Gold, place: I8) -> Gold:
    kept = gold.take(place[gold.task] >= 0)
    return replace(kept, task=place[kept.task])


def _reordered(found: Verdicts, order: I8) -> Verdicts:
    parts: dict[str, Any] = {
        name: None if (value := getattr(found, name)) is None else value[order]
        for name in ("label", "confidence", "n_labels", "value", "posterior", "told", "standing", "changed")
    }
    return replace(found, tasks=found.tasks.gather(order), **parts)


def _both(mine: Verdicts, yours: Verdicts) -> Verdicts:
    """The two as one: a verdict is a pair of verdicts, for the test of how the gold was drawn."""
    names = [[*map(str, each.classes.to_list()), "none"] for each in (mine, yours)]
    pair = mine.label * len(names[1]) + yours.label
    used, label = np.unique(pair, return_inverse=True)
    shown = [f"{names[0][p // len(names[1])]} and {names[1][p % len(names[1])]}" for p in used]
    value = None if mine.value is None or yours.value is None else mine.value - yours.value
    sure = np.minimum(mine.confidence, yours.confidence)
    return replace(
        mine, who=" and ".join(names_of(mine, yours)), label=label.astype(np.int64), classes=pl.Series("label", shown),
        confidence=sure, n_labels=mine.n_labels + yours.n_labels, value=value, posterior=None, told=None,
    )  # fmt: skip


def _accuracy(mine: Verdicts, gold: Gold, yours: Verdicts, _: Gold, ask: Ask) -> Figure:
    names = [each.classes.cast(pl.String).to_list() for each in (mine, yours)]
    classes = sorted({*names[0], *names[1]})
    said, other = (
        np.append([classes.index(name) for name in own], len(classes))[each.label].astype(np.int64)
        for own, each in zip(names, (mine, yours), strict=True)
    )
    truth = np.array([classes.index(name) for name in names[0]])[gold.label]
    differ = said != other
    outcome = 1.0 * (said[gold.task] == truth) - (other[gold.task] == truth)
    score = np.array([1.0, -1.0]) if len(classes) == 2 and (said < 2).all() and (other < 2).all() else np.array(LEVELS)
    n, apart = len(mine), int(differ.sum())
    counts, tasks = _strata(said, differ, gold, outcome, score)
    rng, share = ask.rng(), apart / n
    spread = rng.beta(apart + 0.5, n - apart + 0.5, double.DRAWS) if ask.new else share
    if apart and not counts.sum():
        raise DataError(f"no gold among the {apart:,} tasks on which {' and '.join(names_of(mine, yours))} differ")
    value = share * double.point(tasks, counts, score) if apart else 0.0
    drawn = double.draws(tasks, counts, score, rng, new=ask.new) * spread if apart else np.zeros(1)
    low, high = double.central(drawn, ask.level)
    whole = np.array([(outcome == level).sum() for level in LEVELS], dtype=float)
    alone = double.draws(np.array([float(n)]), whole[None], np.array(LEVELS), rng, new=ask.new)
    ends = double.central(alone, ask.level)
    a, b = names_of(mine, yours)
    return Figure(
        f"difference:{a},{b}", f"accuracy of {a} less that of {b}", value, low, high, ask.level,
        "double sampling where they differ", "", "new" if ask.new else "these", len(gold), n, f"{a} and {b}", None,
        (float(outcome.mean()), *ends), None, ((ends[1] - ends[0]) / (high - low)) ** 2 if high > low else None,
    )  # fmt: skip


LEVELS = (1.0, 0.0, -1.0)


def _strata(said: I8, differ: npt.NDArray[np.bool_], gold: Gold, outcome: F8, score: F8) -> tuple[F8, F8]:
    """(gold counts, tasks) of each verdict of the first system among the tasks on which they differ; in one where a
    verdict has little gold."""
    inside = differ[gold.task]
    size = int(said.max()) + 1
    if (np.bincount(said[gold.task[inside]], minlength=size)[np.unique(said[differ])] < EACH).any():
        said, size = np.zeros_like(said), 1
    counts = np.zeros((size, len(score)))
    for k, level in enumerate(score):
        rows = inside & (outcome == level)
        counts[:, k] = np.bincount(said[gold.task[rows]], minlength=size)
    tasks = np.bincount(said[differ], minlength=size).astype(float)
    return counts[tasks > 0], tasks[tasks > 0]


def _values(mine: Verdicts, left: Gold, yours: Verdicts, right: Gold, ask: Ask) -> Figure:
    """Paired differences of people's verdicts, helped by those of the judge's."""
    right = right.take(np.isin(right.task, left.task))
    y, f = (a - b for a, b in zip(_scored(mine, left, ask.of), _scored(yours, right, ask.of), strict=True))
    levels, new = np.unique(np.concatenate([y, f])), ask.new
    a, b = names_of(mine, yours)
    told = (f"difference:{ask.of}:{a},{b}", f"{ask.of} of {a} less that of {b}")
    rest: tuple[Any, ...] = (ask.level, "", "", "new" if new else "these", len(y), len(f), f"{a} and {b}")
    strata = [f == level for level in levels]
    if len(levels) <= 3 and all(s[left.task].any() or not s.any() for s in strata):
        tasks = np.array([float(s.sum()) for s in strata])
        counts = np.array([[float((s[left.task] & (y == level)).sum()) for level in levels] for s in strata])
        tasks, counts, rng = tasks[tasks > 0], counts[tasks > 0], ask.rng()
        low, high = double.central(double.draws(tasks, counts, levels, rng, new=new), ask.level)
        whole = counts.sum(axis=0)
        ends = double.central(double.draws(tasks.sum()[None], whole[None], levels, rng, new=new), ask.level)
        value, r2 = double.point(tasks, counts, levels), double.explained(tasks, counts, levels)
        name = "double sampling"
    else:
        made = regression(y, f[left.task], f, new=new)
        half, alone = (half_width(e, d, ask.level) for e, d in ((made.error, made.freedom), made.alone[1:]))
        value, r2, name = made.value, made.r2, "regression estimator"
        low, high, ends = value - half, value + half, (made.alone[0] - alone, made.alone[0] + alone)
    figure = Figure(*told, value, low, high, *rest)
    saved = ((ends[1] - ends[0]) / (high - low)) ** 2 if high > low else None
    return replace(
        figure, method=f"{name} of paired differences", judge_alone=float(f.mean()),
        gold_only=(float(y.mean()), *ends), r2=r2, labels_saved=saved,
    )  # fmt: skip


def _scored(found: Verdicts, gold: Gold, of: str) -> tuple[F8, F8]:
    """(score of each gold task by people, score of each task by the verdicts)."""
    wanted = estimand(of, found)
    if wanted.right:
        raise ParameterError("with two golds ask for a share, win rate or mean; an accuracy needs one gold for both")
    if found.value is not None:
        assert gold.value is not None
        return gold.value, found.value
    assert wanted.score is not None
    return wanted.score[gold.label], np.append(wanted.score, 0.0)[found.label]
