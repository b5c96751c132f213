"""Confidence calibrated on gold, calibration error, and the trust statement of kinds with right or wrong decisions."""

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
from .statement import ERROR, ESTIMATE, UNKNOWN, Trust, most_confident, stored_calibration

if TYPE_CHECKING:
    from ..core.method import Method

# Fewer checked tasks than this do not calibrate anything.
FEWEST = 10
# Level at which gold is rejected as a random sample (Holm over the tests).
LEVEL = 0.01
KEY = "gold_check"

# ----------------------------------------------------------------
# Confidence calibrated on gold for every kind of answer whose decisions are right or wrong.
# A decision is a label set, a span, a box, the winner of a pair, a text. The kind defines (`DecisionHooks`) which
# decisions a result makes with which confidence, which of them are right according to gold, and how calibrated
# confidence is written into the estimate. The method is fitted once more without gold, and the calibration learned on
# that fit is applied to the fit with gold, as in `calibrated` for classes. Decisions of one task are not independent:
# each counts for less than one.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class DecisionHooks:
    """The decisions of a kind of answers.

    Args:
        words: The decisions in the plural, for messages.
        meaning: What makes a decision right, for messages.
        of: `of(result)` returns the task and the confidence of every decision.
        right: `right(votes, result, gold)` returns 1 or 0 for each decision, NaN where its task is not checked.
        apply: `apply(estimate, calibration, unchanged, parts)` returns the estimate with calibrated confidence; the
            tasks in `unchanged` stay as they are, `parts` is the calibration of the parts of a decision, if the kind
            has any.
        probable: Whether confidence is meant as the probability of being right, so that it can be used without gold.
        parts: `parts(votes, result, gold)` returns task, confidence and outcome of the parts of decisions (the classes
            of a set).
    """

    words: str
    meaning: str
    of: Callable[[Result], tuple[I8, F8]]
    right: Callable[[Votes[Any], Result, Any], F8]
    apply: Callable[[Any, GoldCalibration, Mask, GoldCalibration | None], Estimate]
    probable: bool = False
    parts: Callable[[Votes[Any], Result, Any], tuple[I8, F8, F8]] | None = None


def checked(method: Method, result: Result, votes: Votes[Any], gold: Any) -> Result:
    """Return `result` with confidence calibrated on `gold`; no decision changes.

    The fit may have been given this gold. `extra["gold_check"]` holds the calibration, or the reason why there is none;
    `extra["checked_task"]`, `extra["checked_confidence"]` and `extra["checked_right"]` describe the checked decisions
    of the fit without gold, and `extra["decision_confidence"]` is the uncalibrated confidence of the decisions of this
    fit.
    """
    hooks: DecisionHooks = votes.kind.hooks.decisions()
    with warnings.catch_warnings():  # the first fit has already warned about these votes
        warnings.simplefilter("ignore", CrowdwiseWarning)
        blind_result = method.fit(votes)
        task, confidence = hooks.of(blind_result)
        right = hooks.right(votes, blind_result, gold)
        in_gold = _tasks_of(gold, method, result, votes, task[np.isfinite(right)])
    in_fit = np.zeros(votes.n_tasks, dtype=bool) if result.gold is None else np.asarray(result.gold)
    # Gold that was used in the fit but not given here was chosen differently: neither sample nor population.
    has_answers = (votes.labels_per_task > 0) & (in_gold | ~in_fit)
    is_checked = np.isfinite(right)
    checked_tasks = in_gold & has_answers
    n = int(checked_tasks.sum())
    if n < FEWEST or int(is_checked.sum()) < FEWEST:
        what = f"{n} checked tasks" if n < FEWEST else f"{int(is_checked.sum())} {hooks.words} that gold judges"
        reason = f"{what} are too few to calibrate confidence; {FEWEST} or more will do"
        return _noted(result, {"n": n, "reason": reason})
    reason = _refuted(task, confidence, np.where(has_answers, votes.labels_per_task, 0), checked_tasks)
    if reason:
        return _noted(result, {"n": n, "reason": reason, "refuted": True})
    calibration, weight = _fitted(confidence[has_answers[task]], task, confidence, right)
    note = {"n": n, "decisions": int(is_checked.sum()), "slope": calibration.slope, "shift": calibration.shift,
            "centre": calibration.centre, "weight": weight}  # fmt: skip
    decision_task, confidences = hooks.of(result)
    extra: dict[str, Any] = {**result.extra, KEY: note, "decision_confidence": confidences.astype(np.float64)}
    extra |= {
        "checked_task": task[is_checked], "checked_confidence": confidence[is_checked],
        "checked_right": right[is_checked],
    }  # fmt: skip
    unchecked = has_answers[decision_task] & ~checked_tasks[decision_task]
    if unchecked.any():
        prior = MEAN_PRIOR if hooks.probable else SCORE_PRIOR
        share = share_right(
            confidences[unchecked], confidence[is_checked], right[is_checked],
            calibration.of(confidences[unchecked]), weight, prior,
        )  # fmt: skip
        extra["expected_accuracy"] = {"mean": share.mean, "low": share.low, "high": share.high, "level": 0.9}
    unchanged = ~has_answers | in_fit
    parts = None
    if hooks.parts is not None:
        part_task, part_confidence, part_right = hooks.parts(votes, blind_result, gold)
        parts, _ = _fitted(part_confidence, part_task, part_confidence, part_right)
    return replace(result, estimate=hooks.apply(result.estimate, calibration, unchanged, parts), extra=extra)


def _tasks_of(gold: Any, method: Method, result: Result, votes: Votes[Any], checked: I8) -> Mask:
    """Return the mask of the tasks that this gold is about.

    These are the gold tasks of the result's fit that it names. If that fit was given other gold or none, they are the
    gold tasks of a fit that is given it, since each kind reads gold in its own way.
    """
    if result.gold is not None and result.gold[checked].all():
        in_gold = np.zeros(votes.n_tasks, dtype=bool)
        if isinstance(gold, Mapping) or (isinstance(gold, pl.DataFrame) and "task" in gold.columns):
            names = gold.keys() if isinstance(gold, Mapping) else gold["task"]
            code, is_known = lookup(votes.tasks, as_series(names, "task"))
            in_gold[code[is_known]] = True
        return result.gold & in_gold if in_gold[checked].all() else result.gold
    fit: Any = method.fit
    fit_gold = fit(votes, gold=gold, calibrate=False).gold
    return np.zeros(votes.n_tasks, dtype=bool) if fit_gold is None else np.asarray(fit_gold)


def _fitted(population: F8, task: I8, confidence: F8, right: F8) -> tuple[GoldCalibration, float]:
    """Fit a calibration for this population of confidences to the checked decisions; also return their weight."""
    is_checked = np.isfinite(right)
    weight = clustering(task[is_checked], right[is_checked] - confidence[is_checked])
    return GoldCalibration.fit(population, confidence[is_checked], right[is_checked], weight), weight


def calibrate(result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:
    """Return the result with confidence calibrated on `gold`, which the fit need not have been given."""
    del prior  # methods of these kinds take none
    if "slope" in result.extra.get(KEY, {}):
        raise ParameterError("this result is already calibrated")
    if gold is None:
        raise ParameterError(
            f"confidence of {votes.kind.display_name} is calibrated on gold; fit with gold (--gold) first"
        )
    if "gold" in registry.card(result.method).needs:
        return result
    method: Method = registry.method(result.method, **result.params)
    return checked(method, result, votes, gold)


def _noted(result: Result, note: dict[str, Any]) -> Result:
    return replace(result, extra={**result.extra, KEY: note})


def _refuted(task: I8, confidence: F8, answers: I8, checked: Mask) -> str:
    """Return why the checked tasks cannot be a random sample of those with answers; "" if the tests do not
    reject it.
    """
    answered = np.flatnonzero(answers > 0)
    if checked[answered].all():
        return ""
    count = np.bincount(task, minlength=len(answers)).astype(np.float64)
    mean = np.bincount(task, weights=confidence, minlength=len(answers)) / np.maximum(count, 1)
    filled = np.where(count > 0, mean, mean[count > 0].mean() if (count > 0).any() else 0.0)
    columns = {"confidence": filled, "number of answers": answers.astype(np.float64), "number of decisions": count}
    p_values = sample_tests(checked[answered], None, {name: values[answered] for name, values in columns.items()})
    differing = min(p_values, key=p_values.__getitem__)
    if p_values[differing] > LEVEL:
        return ""
    return (
        f"the checked tasks are not a random sample (their {differing} differs from that of the others, "
        f"p = {p_values[differing]:.0e}), so confidence is not calibrated on them; draw tasks to check with --check"
    )


def two_sided(probability: F8, calibration: GoldCalibration, unchanged: Mask, cut: float = 0.5) -> F8:
    """Calibrate the probabilities of a yes; each stays on its side of `cut`."""
    is_yes = probability >= cut
    calibrated = calibration.of(np.where(is_yes, probability, 1 - probability))
    result = np.where(is_yes, np.maximum(calibrated, cut + 1e-6), np.minimum(1 - calibrated, cut - 1e-6))
    # Probabilities of exactly 1/2 stay as they are.
    return np.where(unchanged | (np.abs(probability - 0.5) < 1e-12), probability, np.clip(result, 0.0, 1.0))


# ----------------------------------------------------------------
# Expected calibration error.

BINS = 15


def expected_calibration_error(confidence: F8, hit: F8, bins: int = BINS) -> float:
    """Mean gap between confidence and accuracy over equal-width confidence bins, weighted by their sizes."""
    gap = np.bincount(bin_of(confidence, bins), weights=confidence - hit, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


def bin_of(confidence: F8, bins: int) -> I8:
    """Return the equal-width bin of each confidence."""
    return np.minimum((confidence * bins).astype(np.int64), bins - 1)


# ----------------------------------------------------------------
# Confidence in bins: mean confidence and accuracy of the labels in each.


@dataclass(frozen=True)
class Bin:
    """Labels of similar confidence: their number, mean confidence, and accuracy with its interval."""

    n: int
    confidence: float
    accuracy: float
    low: float
    high: float


def bins(confidence: Any, right: Any) -> list[Bin]:
    """Equal-width confidence bins as in the calibration error, with a Jeffreys interval of each accuracy."""
    from scipy.special import betaincinv

    index = bin_of(confidence, BINS)
    n = np.bincount(index, minlength=BINS)
    hits = np.bincount(index, weights=right, minlength=BINS)
    confidence_sum = np.bincount(index, weights=confidence, minlength=BINS)
    return [
        Bin(
            int(n[i]),
            float(confidence_sum[i] / n[i]),
            float(hits[i] / n[i]),
            float(betaincinv(hits[i] + 0.5, n[i] - hits[i] + 0.5, 0.025)) if hits[i] else 0.0,
            float(betaincinv(hits[i] + 0.5, n[i] - hits[i] + 0.5, 0.975)) if hits[i] < n[i] else 1.0,
        )
        for i in np.flatnonzero(n)
    ]


# ----------------------------------------------------------------
# Trust statement for kinds whose decisions are right or wrong: sets, spans, boxes, pairs, ...


@dataclass(frozen=True)
class TaskDecisions:
    """The decisions of each task in order: confidence, and whether they can ship (None: unknown).

    `single`: every task has exactly one decision about its whole answer.
    """

    confidence: list[list[float]]
    ships: list[list[bool | None]]
    single: bool


def by_task(result: Result, level: Trust) -> TaskDecisions:
    """Group the decisions of `result` and of its statement `level` by task."""
    hooks: DecisionHooks = result.kind.hooks.decisions()
    task, confidence = hooks.of(result)
    ships_values = level.ships.astype(object)
    if not level.counted:
        ships_values[~level.ships] = None
    ends = np.searchsorted(task, np.arange(1, result.n_tasks))
    single = np.array_equal(task, np.arange(result.n_tasks))
    confidences, ships = (np.split(values, ends) for values in (confidence, ships_values))
    return TaskDecisions([values.tolist() for values in confidences], [values.tolist() for values in ships], single)


def task_confidence(result: Result) -> F8:
    """Return the confidence of each task's only decision; NaN where it is not measured or the task has no answers.

    For checked tasks it is the calibrated confidence of the fit without their gold, so that they compare with the
    others.
    """
    hooks: DecisionHooks = result.kind.hooks.decisions()
    task, confidence = hooks.of(result)
    out = np.full(result.n_tasks, np.nan)
    check = result.extra.get("gold_check") or {}
    if "slope" not in check or not np.array_equal(task, np.arange(result.n_tasks)):
        return out
    calibration = stored_calibration(check)
    has_answers = np.asarray(result.labels_per_task) > 0
    out[has_answers] = confidence[has_answers]
    out[result.extra["checked_task"]] = calibration.of(np.asarray(result.extra["checked_confidence"]))
    return out


def trust(result: Result, error: float = ERROR) -> Trust:
    """Return the trust statement for decisions in place of labels.

    Which decisions can ship is always an estimate: `accept` gives guarantees for labels only.
    """
    hooks: DecisionHooks = result.kind.hooks.decisions()
    task, _ = hooks.of(result)
    check = result.extra.get("gold_check") or {}
    reason = str(check.get("reason", ""))
    gold = np.zeros(result.n_tasks, dtype=bool) if result.gold is None else np.asarray(result.gold)
    has_answers = np.asarray(result.labels_per_task) > 0
    open_, is_gold = (has_answers & ~gold)[task], gold[task]
    words = (hooks.words, hooks.meaning)
    if not check or reason:
        return Trust(result.n_tasks, 0, None, is_gold, UNKNOWN, error, reason, *words)
    decision_confidence, checked_confidence, right = (
        np.asarray(result.extra[name]) for name in ("decision_confidence", "checked_confidence", "checked_right")
    )
    calibration = stored_calibration(check)
    count = shippable(
        decision_confidence[open_], checked_confidence, right, calibration, error, float(check["weight"]), realised=True
    )
    ships = is_gold | most_confident(decision_confidence, open_, count)
    return Trust(result.n_tasks, int(check["n"]), result.expected_accuracy, ships, ESTIMATE, error, "", *words)
