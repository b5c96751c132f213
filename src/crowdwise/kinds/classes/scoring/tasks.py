"""Uncertain labels and what they need: contested tasks, gold that the crowd contradicts, and confused classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ....core.arrays import F8, I8, Mask
from ....core.errors import DataError
from ....core.result import Result
from ....stats.ties import TOLERANCE
from ..annotations import Annotations
from ..estimate import ClassPosterior
from ..methods.gold import as_gold
from .recommendations import (
    AMBIGUOUS,
    EVIDENCE_RATIO,
    EXPERT,
    MAX_VOTES,
    MIN_LABELS,
    SAFE,
    VOTE,
    Recommendations,
    recommend,
)

# Recommended actions in order of priority; the last is none.
TODO = ("vote", "expert", "look", "")
# Workers are weak if their mean skill is this far below the crowd's.
WEAK = 0.08
# Workers confuse a class with another if this share of its labels, and this share of the right ones, name the other.
MIXED, MIXED_RATIO = 0.2, 0.5
# Labels of a class below which nothing is said about it.
MIXED_LABELS = 20
OUTVOTED = "another label has more votes, but from less accurate workers"


def contested(
    annotations: Annotations,
    result: Result,
    others: Sequence[Result] = (),
    recommendations: Recommendations | None = None,
) -> pl.DataFrame:
    """List all tasks with what their labels need, most urgent first.

    Args:
        annotations: The votes.
        result: A result fitted on these votes.
        others: Results of other methods on the same votes.
        recommendations: Recommendations for the result, if they are computed already.

    Returns:
        A table with one row per task: task, label, confidence, second (the runner-up), margin (between the two),
        entropy (nats), n_labels, n_agree (labels equal to the estimate), difficulty (by the method if it has one, else
        the share of labels that differ), disagreeing (number of `others` with another label), todo, votes (how many
        more to ask for), gain (what these add to the probability that the label is right), why (the reason in words).

        `todo` is "vote" if more votes are recommended, ordered by gain per vote; "expert" if they are not and the label
        is in doubt, most uncertain first; "look" at other labels that other methods or most of the votes contradict;
        else empty.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> import crowdwise as cw
    >>> contested(votes, cw.MajorityVote().fit(votes))["task"].to_list()
    [1, 2]
    """
    _check(annotations, result, others)
    k = annotations.n_classes
    order = np.argsort(-result.posterior, axis=1, kind="stable")
    top = np.sort(result.posterior, axis=1)[:, ::-1]
    margin = top[:, 0] - top[:, 1] if k > 1 else np.ones(len(top))
    # The label drawn among ties comes first; the runner-up is the best of the rest.
    second = np.where(order[:, 0] == result.labels, order[:, min(1, k - 1)], order[:, 0])
    agree = np.bincount(annotations.task, weights=annotations.label == result.labels[annotations.task],
                        minlength=annotations.n_tasks).astype(np.int64)  # fmt: skip
    n = annotations.labels_per_task
    differ = np.where(n > 0, 1 - agree / np.maximum(n, 1), np.nan)
    against = np.sum([other.labels != result.labels for other in others], axis=0) if others else np.zeros(len(n))
    recommendations = recommend(annotations, result) if recommendations is None else recommendations
    outvoted = annotations.votes.max(axis=1, initial=0.0) > annotations.votes[np.arange(len(n)), result.labels]
    action = _todo(recommendations, outvoted, np.asarray(against))
    table = pl.DataFrame(
        {
            "task": result.tasks,
            "label": result.classes.gather(result.labels),
            "confidence": result.confidence,
            "second": result.classes.gather(second)
            if k > 1
            else pl.Series([None] * len(n), dtype=result.classes.dtype),
            "margin": margin,
            "entropy": result.entropy,
            "n_labels": n,
            "n_agree": agree,
            "difficulty": pl.Series(differ if result.difficulty is None else result.difficulty).fill_nan(None),
            "disagreeing": np.asarray(against, dtype=np.int64),
            "todo": np.array(TODO)[action],
            "votes": pl.Series(np.where(action == 0, recommendations.votes, np.nan)).fill_nan(None).cast(pl.Int64),
            "gain": pl.Series(np.where(action == 0, recommendations.expected, np.nan)).fill_nan(None),
        }
    )
    table = table.with_columns(_why(table, recommendations, _weakness(annotations, result), outvoted, len(others)))
    gain = np.where(
        action == 0, recommendations.expected / np.maximum(recommendations.votes, 1.0), 1 - result.confidence
    )
    gain = np.where(n > 0, gain, 2.0)  # tasks without a label come first
    rank = np.lexsort(
        (np.arange(len(n)), -result.entropy, -np.asarray(against), np.where(action < 2, -gain, 0.0), action)
    )
    return table.select(pl.all().gather(rank))


def _todo(recommendations: Recommendations, outvoted: Mask, against: F8) -> I8:
    """Index into TODO for each task."""
    return np.select(
        [recommendations.kind == VOTE, recommendations.kind == EXPERT, (against > 0) | outvoted], [0, 1, 2], 3
    )


def _weakness(annotations: Annotations, result: Result) -> F8:
    """Difference between the crowd's mean skill and the mean skill of the task's workers."""
    skill = result.skill[annotations.worker]
    mean = np.bincount(annotations.task, weights=skill, minlength=annotations.n_tasks)
    return float(skill.mean() if len(skill) else 0.0) - mean / np.maximum(annotations.labels_per_task, 1)


def _why(
    table: pl.DataFrame, recommendations: Recommendations, weakness: F8, outvoted: Mask, n_others: int
) -> pl.Series:
    """One short reason per task, empty if there is nothing to do."""
    details = {
        "all_answered": recommendations.all_answered & ~recommendations.is_stuck,
        "typical_votes": recommendations.typical_votes,
        "evidence_ratio": recommendations.evidence_ratio,
        "p_ambiguous": recommendations.p_ambiguous,
        "weakness": weakness,
        "outvoted": outvoted,
        "reaches_level": recommendations.reaches_level,
        "max_gain": recommendations.gain[:, -1],
    }
    rows = table.with_columns(**{name: pl.Series(v) for name, v in details.items()}).with_row_index("at")
    out = np.full(len(table), "", dtype=object)
    for row in rows.filter(pl.col("todo") != "").to_dicts():
        out[row["at"]] = _reason(row, n_others)
    return pl.Series("why", out.tolist(), dtype=pl.String)


def _reason(row: dict[str, Any], n_others: int) -> str:
    if row["n_labels"] == 0:
        return "nobody has labelled it"
    if row["todo"] == "vote":
        return f"{_cause(row)}; {_promise(row)}"
    if row["todo"] == "expert" and row["p_ambiguous"] >= AMBIGUOUS and row["n_labels"] >= MIN_LABELS:
        return f"its labels look like a coin toss between {row['label']!r} and {row['second']!r}"
    if row["todo"] == "expert" and row["evidence_ratio"] >= EVIDENCE_RATIO and row["n_labels"] >= MIN_LABELS:
        typical = max(row["typical_votes"], 1)
        return f"still undecided after {row['n_labels']} labels (about {typical:.0f} usually suffice)"
    if row["todo"] == "expert" and row["all_answered"]:
        return "every worker has answered it"
    if row["todo"] == "expert" and row["typical_votes"] > MAX_VOTES:
        return f"this crowd hardly distinguishes {row['label']!r} from {row['second']!r}"
    if row["todo"] == "expert":
        return f"{MAX_VOTES} more votes would raise the probability that it is right by only {row['max_gain']:.2f}"
    if row["disagreeing"]:
        return f"{row['disagreeing']} of {n_others} other methods disagree"
    return OUTVOTED


def _promise(row: dict[str, Any]) -> str:
    """Describe the gain by the recommended votes; "settle" only if the forecast reaches the level of settled labels."""
    votes = f"{row['votes']} more vote{'s' * (row['votes'] > 1)}"
    if row["reaches_level"]:
        return f"{votes} may settle it"
    return f"{votes} should raise the probability that it is right by {row['gain']:.2f}"


def _cause(row: dict[str, Any]) -> str:
    """Describe why a task that is worth more votes is uncertain."""
    if row["n_labels"] < row["typical_votes"]:
        return f"few labels: {row['n_labels']} (about {math.ceil(row['typical_votes'])} usually suffice)"
    if row["weakness"] > WEAK:
        return "labelled by workers of below-average accuracy"
    if row["outvoted"]:
        return OUTVOTED
    if row["margin"] <= TOLERANCE:
        return "a tie"
    return "accurate workers disagree"


def suspected_gold(annotations: Annotations, result: Result, gold: Any, threshold: float = 0.1) -> pl.DataFrame:
    """Find gold labels that the crowd contradicts.

    Args:
        annotations: The votes.
        result: A result fitted *without* this gold; otherwise it just reproduces the gold.
        gold: The gold labels to check.
        threshold: Report gold labels with a lower probability.

    Returns:
        A table with the least probable gold first: task, gold, label (by the crowd), p_gold (probability of the gold
        label), n_labels, n_agree (number of labels equal to gold).
    """
    _check(annotations, result, ())
    gold_labels = as_gold(gold, annotations)
    empty = gold_labels is None or not len(gold_labels.tasks)
    at = np.empty(0, dtype=np.int64) if gold_labels is None or empty else gold_labels.tasks
    true = np.empty(0, dtype=np.int32) if gold_labels is None else gold_labels.label[at]
    p = result.posterior[at, true]
    suspects = np.flatnonzero(p < threshold)
    suspects = suspects[np.argsort(p[suspects], kind="stable")]
    at, true = at[suspects], true[suspects]
    return pl.DataFrame(
        {
            "task": annotations.tasks.gather(at),
            "gold": annotations.classes.gather(true),
            "label": annotations.classes.gather(result.labels[at]),
            "p_gold": p[suspects],
            "n_labels": annotations.labels_per_task[at],
            "n_agree": annotations.votes[at, true],
        }
    )


def confused_classes(annotations: Annotations, result: Result) -> pl.DataFrame:
    """Find pairs of classes that workers confuse.

    Args:
        annotations: The votes.
        result: A result fitted on these votes.

    Returns:
        A table with the most confused pair first: first, second, first_as_second (share of `second` among the labels
        of tasks that are `first`), second_as_first, n (expected number of such labels in both directions), ambiguous
        (number of uncertain tasks with these two as the most probable classes), advice ("merge or explain" where
        workers hardly distinguish the two, "explain" where one of them is often called the other, else empty).
    """
    _check(annotations, result, ())
    k = annotations.n_classes
    table = np.empty((k, k))
    for true in range(k):
        table[true] = np.bincount(annotations.label, weights=result.posterior[annotations.task, true], minlength=k)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12)
    top = np.sort(np.argsort(-result.posterior, axis=1, kind="stable")[:, :2], axis=1)
    is_uncertain = result.confidence < SAFE
    first, second = np.triu_indices(k, 1)
    pair = (
        np.bincount(top[is_uncertain] @ np.array([k, 1]), minlength=k * k)
        if k > 1 and is_uncertain.any()
        else np.zeros(k * k)
    )
    n = table[first, second] + table[second, first]
    order = np.argsort(-n, kind="stable")
    first, second = first[order], second[order]
    return pl.DataFrame(
        {
            "first": annotations.classes.gather(first),
            "second": annotations.classes.gather(second),
            "first_as_second": share[first, second],
            "second_as_first": share[second, first],
            "n": n[order],
            "ambiguous": np.asarray(pair, dtype=np.int64)[first * k + second],
            "advice": _advice(table, share, first, second, result.estimate_as(ClassPosterior).order),
        }
    )


def _advice(table: F8, share: F8, first: I8, second: I8, order: I8 | None) -> list[str]:
    """Return what to do about each pair; classes with an order are not merged."""
    diagonal = share.diagonal()[:, None]
    enough = table.sum(axis=1, keepdims=True) >= MIXED_LABELS
    mixed = (share >= MIXED) & (share >= MIXED_RATIO * diagonal) & enough
    one_way, both = mixed[first, second] | mixed[second, first], mixed[first, second] & mixed[second, first]
    merge = both & (order is None)
    advice: list[str] = np.where(merge, "merge or explain", np.where(one_way, "explain", "")).tolist()
    return advice


def _check(annotations: Annotations, result: Result, others: Sequence[Result]) -> None:
    for result_ in (result, *others):
        if len(result_.tasks) != annotations.n_tasks or len(result_.classes) != annotations.n_classes:
            raise DataError(f"the result of {result_.method} belongs to other annotations; fit it on these votes")
