"""How many gold tasks calibrate, and where what they say is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core import method_registry as registry
from ..core.errors import CrowdwiseWarning, ParameterError
from ..core.estimate import Estimate
from ..core.result import Result
from ..core.vocabulary import as_series, lookup
from ..core.votes import Votes
from ..stats.gold_calibration import (
    MEAN_PRIOR,
    SCORE_PRIOR,
    GoldCalibration,
    clustering,
    share_right,
    shippable,
)
from ..stats.sampled import sample_tests
from .statement import ERROR, ESTIMATE, UNKNOWN, Trust, surest

if TYPE_CHECKING:
    from ..core.method import Method

# Fewer gold tasks say too little.
FEWEST = 10


# Gold is refuted as a random sample at this level (Holm over the tests).
LEVEL = 0.01


KEY = "gold_check"

# ----------------------------------------------------------------
# Confidence calibrated on gold for every kind of answer whose decisions are right or wrong.
# A decision is a label set, a span, a box, the winner of a pair, a text. Its kind says (`Decided`) which decisions a
# result makes with which confidence, which of them gold proves right, and how calibrated confidence is put into the
# estimate. The method is fitted once more without gold, and what gold says of that fit is applied to the fit with
# gold, as in `calibrated` for classes. Decisions of one task are not independent: each counts for less than one.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Decided:
    """What a kind says of its decisions.

    `of(result)` gives the task and the confidence of every decision, `right(votes, result, gold)` 1 or 0 of each, NaN
    where its task is not checked, and `apply(estimate, learnt, kept, parts)` the estimate with calibrated confidence,
    tasks in `kept` left as they are; `parts` is what was learnt of the parts of a decision (the classes of a set),
    where the kind has them: `parts(votes, result, gold)` gives task, confidence and outcome of each. `words` are the
    decisions in the plural, `meaning` what makes one right. `probable`: confidence claims to be the probability of
    being right, so without gold it can count what may ship.
    """

    words: str
    meaning: str
    of: Callable[[Result], tuple[I8, F8]]
    right: Callable[[Votes[Any], Result, Any], F8]
    apply: Callable[[Any, GoldCalibration, Mask, GoldCalibration | None], Estimate]
    probable: bool = False
    parts: Callable[[Votes[Any], Result, Any], tuple[I8, F8, F8]] | None = None


def checked(method: Method, result: Result, votes: Votes[Any], gold: Any) -> Result:
    """`result` with confidence calibrated on `gold`, which its fit may have been given; no decision changes.

    `extra["gold_check"]` holds what was learnt, or the reason why nothing was; `extra["checked_task"]`,
    `extra["checked_confidence"]` and `extra["checked_right"]` the checked decisions of the fit without gold, and
    `extra["decision_confidence"]` the confidence of the decisions of this fit as it was before.
    """
    decided: Decided = votes.kind.hooks.decisions()
    with warnings.catch_warnings():  # what is to be reported about these votes was reported by the first fit
        warnings.simplefilter("ignore", CrowdwiseWarning)
        blind = method.fit(votes)
        task, confidence = decided.of(blind)
        right = decided.right(votes, blind, gold)
        given = _tasks_of(gold, method, result, votes, task[np.isfinite(right)])
    taught = np.zeros(votes.n_tasks, dtype=bool) if result.gold is None else np.asarray(result.gold)
    # Gold that only taught the fit was chosen in another way: it is neither sample nor population.
    answered = (votes.labels_per_task > 0) & (given | ~taught)
    mine = np.isfinite(right)
    tasks = given & answered
    n = int(tasks.sum())
    if n < FEWEST or int(mine.sum()) < FEWEST:
        what = f"{n} checked tasks" if n < FEWEST else f"{int(mine.sum())} {decided.words} that gold judges"
        reason = f"{what} are too few to calibrate confidence; {FEWEST} or more will do"
        return _noted(result, {"n": n, "reason": reason})
    reason = _refuted(task, confidence, np.where(answered, votes.labels_per_task, 0), tasks)
    if reason:
        return _noted(result, {"n": n, "reason": reason, "refuted": True})
    weight = clustering(task[mine], right[mine] - confidence[mine])
    learnt = GoldCalibration.fit(confidence[answered[task]], confidence[mine], right[mine], weight)
    note = {"n": n, "decisions": int(mine.sum()), "slope": learnt.slope, "shift": learnt.shift,
            "centre": learnt.centre, "weight": weight}  # fmt: skip
    own_task, own = decided.of(result)
    extra: dict[str, Any] = {**result.extra, KEY: note, "decision_confidence": own.astype(np.float64)}
    extra |= {"checked_task": task[mine], "checked_confidence": confidence[mine], "checked_right": right[mine]}
    others = answered[own_task] & ~tasks[own_task]
    if others.any():
        prior = MEAN_PRIOR if decided.probable else SCORE_PRIOR
        share = share_right(own[others], confidence[mine], right[mine], learnt.of(own[others]), weight, prior)
        extra["expected_accuracy"] = {"mean": share.mean, "low": share.low, "high": share.high, "level": 0.9}
    kept = ~answered | taught
    parts = None if decided.parts is None else _learnt(*decided.parts(votes, blind, gold))
    return replace(result, estimate=decided.apply(result.estimate, learnt, kept, parts), extra=extra)


def _tasks_of(gold: Any, method: Method, result: Result, votes: Votes[Any], judged: I8) -> Mask:
    """The tasks that this gold is about: those of the result's fit that it names, or where that was given other gold or
    none, those of a fit that is given it (each kind reads gold in its own way)."""
    if result.gold is not None and result.gold[judged].all():
        named = np.zeros(votes.n_tasks, dtype=bool)
        if isinstance(gold, Mapping) or (isinstance(gold, pl.DataFrame) and "task" in gold.columns):
            names = gold.keys() if isinstance(gold, Mapping) else gold["task"]
            code, here = lookup(votes.tasks, as_series(names, "task"))
            named[code[here]] = True
        return result.gold & named if named[judged].all() else result.gold
    fit: Any = method.fit
    given = fit(votes, gold=gold, calibrate=False).gold
    return np.zeros(votes.n_tasks, dtype=bool) if given is None else np.asarray(given)


def _learnt(task: I8, confidence: F8, right: F8) -> GoldCalibration:
    mine = np.isfinite(right)
    weight = clustering(task[mine], right[mine] - confidence[mine])
    return GoldCalibration.fit(confidence, confidence[mine], right[mine], weight)


def calibrate(result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:
    """The same result with confidence calibrated on `gold`; its fit need not have been given it."""
    del prior  # methods of these kinds take none
    if "slope" in result.extra.get(KEY, {}):
        raise ParameterError("this result is calibrated already")
    if gold is None:
        raise ParameterError(f"confidence of {votes.kind.people} is calibrated on gold; fit with gold (--gold) first")
    if "gold" in registry.card(result.method).needs:
        return result
    method: Method = registry.method(result.method, **result.params)
    return checked(method, result, votes, gold)


def wanted(method: Method, gold: Any, calibrate: bool | None) -> bool:
    """Whether a fit with `gold` ends in `checked`: where it was asked for, else by default methods."""
    if gold is None or "gold" in registry.card(method.name).needs:
        return False
    return method.calibrates if calibrate is None else calibrate


def _noted(result: Result, note: dict[str, Any]) -> Result:
    return replace(result, extra={**result.extra, KEY: note})


def _refuted(task: I8, confidence: F8, answers: I8, mine: Mask) -> str:
    """Why the checked tasks cannot be a random sample of those with answers; empty where nothing speaks against it."""
    there = np.flatnonzero(answers > 0)
    if mine[there].all():
        return ""
    count = np.bincount(task, minlength=len(answers)).astype(np.float64)
    mean = np.bincount(task, weights=confidence, minlength=len(answers)) / np.maximum(count, 1)
    filled = np.where(count > 0, mean, mean[count > 0].mean() if (count > 0).any() else 0.0)
    columns = {"confidence": filled, "number of answers": answers.astype(np.float64), "number of decisions": count}
    p = sample_tests(mine[there], None, {name: values[there] for name, values in columns.items()})
    worst = min(p, key=p.__getitem__)
    if p[worst] > LEVEL:
        return ""
    return (
        f"the checked tasks are no random sample (they have another {worst} than the rest, p = {p[worst]:.0e}), so "
        "confidence is not calibrated on them; draw tasks to check with --check"
    )


def two_sided(chance: F8, learnt: GoldCalibration, kept: Mask, cut: float = 0.5) -> F8:
    """Calibrated probabilities of a yes; each stays on its side of `cut`."""
    yes = chance >= cut
    own = learnt.of(np.where(yes, chance, 1 - chance))
    made = np.where(yes, np.maximum(own, cut + 1e-6), np.minimum(1 - own, cut - 1e-6))
    # A coin stays a coin.
    return np.where(kept | (np.abs(chance - 0.5) < 1e-12), chance, np.clip(made, 0.0, 1.0))


# ---------------------------------------------------------------- Expected calibration error

BINS = 15


def expected_calibration_error(confidence: F8, hit: F8, bins: int = BINS) -> float:
    """Mean gap between confidence and accuracy over equal bins of the confidence, weighted by their sizes."""
    gap = np.bincount(_bins(confidence, bins), weights=confidence - hit, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


def _bins(confidence: F8, bins: int) -> npt.NDArray[np.int64]:
    return np.minimum((confidence * bins).astype(np.int64), bins - 1)


# ----------------------------------------------------------------
# Confidence in bins: how sure the labels of each are, and how many of them are right.


@dataclass(frozen=True)
class Bin:
    """Labels of about the same confidence: how sure they were and how many were right."""

    n: int
    confidence: float
    accuracy: float
    low: float
    high: float


def bins(confidence: Any, right: Any) -> list[Bin]:
    """Equal bins of the confidence, as in the calibration error, each with a Jeffreys interval of its accuracy."""
    from scipy.special import betaincinv

    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    n = np.bincount(place, minlength=BINS)
    hits = np.bincount(place, weights=right, minlength=BINS)
    sure = np.bincount(place, weights=confidence, minlength=BINS)
    return [
        Bin(
            int(n[i]),
            float(sure[i] / n[i]),
            float(hits[i] / n[i]),
            float(betaincinv(hits[i] + 0.5, n[i] - hits[i] + 0.5, 0.025)) if hits[i] else 0.0,
            float(betaincinv(hits[i] + 0.5, n[i] - hits[i] + 0.5, 0.975)) if hits[i] < n[i] else 1.0,
        )
        for i in np.flatnonzero(n)
    ]


# ----------------------------------------------------------------
# How far decisions can be trusted, for kinds whose answers are right or wrong: sets, spans, boxes, pairs, ...


@dataclass(frozen=True)
class Judged:
    """The decisions of each task, in their order: their confidence, and whether they can ship (None: nobody knows).
    `single`: every task has one decision, about its whole answer."""

    confidence: list[list[float]]
    ships: list[list[bool | None]]
    single: bool


def by_task(result: Result, level: Trust) -> Judged:
    """The decisions of `result` and of its statement `level`, task by task."""
    decided: Decided = result.kind.hooks.decisions()
    task, confidence = decided.of(result)
    known = level.ships.astype(object)
    if not level.counted:
        known[~level.ships] = None
    ends = np.searchsorted(task, np.arange(1, result.n_tasks))
    single = np.array_equal(task, np.arange(result.n_tasks))
    sure, ships = (np.split(each, ends) for each in (confidence, known))
    return Judged([each.tolist() for each in sure], [each.tolist() for each in ships], single)


def task_confidence(result: Result) -> F8:
    """How sure each task's only decision is, NaN where that is not measured or no task has answers. Of checked tasks it
    is what the fit without their gold claims, calibrated, so that they are treated like the others."""
    decided: Decided = result.kind.hooks.decisions()
    task, sure = decided.of(result)
    out = np.full(result.n_tasks, np.nan)
    check = result.extra.get("gold_check") or {}
    if "slope" not in check or not np.array_equal(task, np.arange(result.n_tasks)):
        return out
    learnt = GoldCalibration(check["slope"], check["shift"], check["centre"])
    answered = np.asarray(result.labels_per_task) > 0
    out[answered] = sure[answered]
    out[result.extra["checked_task"]] = learnt.of(np.asarray(result.extra["checked_confidence"]))
    return out


def trust(result: Result, error: float = ERROR) -> Trust:
    """The statement of `scoring.trust` with decisions in the place of labels. What ships is always an estimate: accept
    promises for labels only."""
    decided: Decided = result.kind.hooks.decisions()
    task, _ = decided.of(result)
    check = result.extra.get("gold_check") or {}
    reason = str(check.get("reason", ""))
    gold = np.zeros(result.n_tasks, dtype=bool) if result.gold is None else np.asarray(result.gold)
    answered = np.asarray(result.labels_per_task) > 0
    others, given = (answered & ~gold)[task], gold[task]
    words = (decided.words, decided.meaning)
    if not check or reason:
        return Trust(result.n_tasks, 0, None, given, UNKNOWN, error, reason, *words)
    raw, sure, right = (
        np.asarray(result.extra[name]) for name in ("decision_confidence", "checked_confidence", "checked_right")
    )
    learnt = GoldCalibration(check["slope"], check["shift"], check["centre"])
    count = shippable(raw[others], sure, right, learnt, error, float(check["weight"]), realised=True)
    ships = given | surest(raw, others, count)
    return Trust(result.n_tasks, int(check["n"]), result.expected_accuracy, ships, ESTIMATE, error, "", *words)
