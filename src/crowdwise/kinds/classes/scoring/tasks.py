"""Which labels are doubtful, and what would settle them? Contested tasks, gold that the crowd contradicts, and classes
taken for each other.

Tasks are the other half of the data than workers, so this is a module beside the room `workers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.result import Result
from ....stats.ties import TOLERANCE
from ..annotations import Annotations
from ..methods.gold import as_gold
from .needs import EXPERT, FEWEST, MOST, RIDDLE, SAFE, TIMES, VOTE, Needs, needs

F8 = npt.NDArray[np.float64]

# What to do with a task, in the order in which to do it; nothing comes last.
TODO = ("vote", "expert", "look", "")
# Workers whose skill lies this far below the crowd's, on average, are weak.
WEAK = 0.08
OUTVOTED = "more votes say otherwise, but of workers who are less often right"


def contested(
    annotations: Annotations, result: Result, others: Sequence[Result] = (), need: Needs | None = None
) -> pl.DataFrame:
    """One row a task, what to do first on top.

    task, label, confidence, second (the runner-up), margin (between the two), entropy (nats), n_labels, n_agree (labels
    that say so), difficulty (by the method where it has one, else the share of labels that differ), disagreeing (how
    many of the `others`, results of other methods on the same tasks, have another label), todo, votes (how many more to
    ask for), gain (what these add to the probability that the label is right), why (in words; empty when nothing is to
    be done).

    `todo` is "vote" where more votes are worth asking for, those first that gain most per vote; "expert" where they are
    not and the label is in doubt (see `needs`; `need` where it is known already), the most doubtful first; "look" at
    another label that other methods or most of the votes contradict; else empty.

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
    need = needs(annotations, result) if need is None else need
    outvoted = annotations.votes.max(axis=1, initial=0.0) > annotations.votes[np.arange(len(n)), result.labels]
    todo = _todo(need, outvoted, np.asarray(against))
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
            "todo": np.array(TODO)[todo],
            "votes": pl.Series(np.where(todo == 0, need.votes, np.nan)).fill_nan(None).cast(pl.Int64),
            "gain": pl.Series(np.where(todo == 0, need.expected, np.nan)).fill_nan(None),
        }
    )
    table = table.with_columns(_why(table, need, _weakness(annotations, result), outvoted, len(others)))
    gain = np.where(todo == 0, need.expected / np.maximum(need.votes, 1.0), 1 - result.confidence)
    gain = np.where(n > 0, gain, 2.0)  # tasks without a label come first
    rank = np.lexsort((np.arange(len(n)), -result.entropy, -np.asarray(against), np.where(todo < 2, -gain, 0.0), todo))
    return table.select(pl.all().gather(rank))


def _todo(need: Needs, outvoted: npt.NDArray[np.bool_], against: F8) -> npt.NDArray[np.int64]:
    """Which of TODO each task is."""
    return np.select([need.kind == VOTE, need.kind == EXPERT, (against > 0) | outvoted], [0, 1, 2], 3)


def _weakness(annotations: Annotations, result: Result) -> F8:
    """How far the mean skill of a task's workers lies below the crowd's."""
    own = result.skill[annotations.worker]
    mean = np.bincount(annotations.task, weights=own, minlength=annotations.n_tasks)
    return float(own.mean() if len(own) else 0.0) - mean / np.maximum(annotations.labels_per_task, 1)


def _why(table: pl.DataFrame, need: Needs, weakness: F8, outvoted: npt.NDArray[np.bool_], n_others: int) -> pl.Series:
    """One short reason a task: what its numbers do not say. Empty where the label is safe."""
    more = {"everybody": need.everybody & ~need.stuck, "usual": need.usual, "settled": need.settled,
            "riddle": need.riddle, "weakness": weakness, "outvoted": outvoted, "settles": need.settles,
            "most": need.gain[:, -1]}  # fmt: skip
    odd = table.with_columns(**{name: pl.Series(v) for name, v in more.items()}).with_row_index("at")
    out = np.full(len(table), "", dtype=object)
    for row in odd.filter(pl.col("todo") != "").to_dicts():
        out[row["at"]] = _reason(row, n_others)
    return pl.Series("why", out.tolist(), dtype=pl.String)


def _reason(row: dict[str, Any], n_others: int) -> str:
    if row["n_labels"] == 0:
        return "nobody has labelled it"
    if row["todo"] == "vote":
        return f"{_cause(row)}; {_promise(row)}"
    if row["todo"] == "expert" and row["riddle"] >= RIDDLE and row["n_labels"] >= FEWEST:
        return f"its labels look like a toss between {row['label']!r} and {row['second']!r}"
    if row["todo"] == "expert" and row["settled"] >= TIMES and row["n_labels"] >= FEWEST:
        return f"still open after {row['n_labels']} labels, where {max(row['usual'], 1):.0f} or so usually do"
    if row["todo"] == "expert" and row["everybody"]:
        return "everybody has answered it"
    if row["todo"] == "expert" and row["usual"] > MOST:
        return f"this crowd hardly tells {row['label']!r} from {row['second']!r}"
    if row["todo"] == "expert":
        return f"{MOST} more votes would raise the probability that it is right by {row['most']:.2f} only"
    if row["disagreeing"]:
        return f"{row['disagreeing']} of {n_others} other methods say otherwise"
    return OUTVOTED


def _promise(row: dict[str, Any]) -> str:
    """What the votes that a task needs bring; "settle" only where the forecast reaches the level of settled labels."""
    votes = f"{row['votes']} more vote{'s' * (row['votes'] > 1)}"
    if row["settles"]:
        return f"{votes} may settle it"
    return f"{votes} should raise the probability that it is right by {row['gain']:.2f}"


def _cause(row: dict[str, Any]) -> str:
    """Why a task is in doubt on which more votes are worth asking for."""
    if row["n_labels"] < row["usual"]:
        return f"few labels: {row['n_labels']}, where {math.ceil(row['usual'])} or so usually do"
    if row["weakness"] > WEAK:
        return "labelled by workers who are less often right than most"
    if row["outvoted"]:
        return OUTVOTED
    if row["margin"] <= TOLERANCE:
        return "a tie"
    return "workers who are usually right disagree"


def suspected_gold(annotations: Annotations, result: Result, gold: Any, threshold: float = 0.1) -> pl.DataFrame:
    """Gold labels that the crowd contradicts, the least believable first.

    task, gold, label (what the crowd says), p_gold (its probability of the gold label), n_labels, n_agree (labels that
    say the gold label). `result` must have been fitted *without* this gold, or the crowd repeats what it was told.
    """
    _check(annotations, result, ())
    known = as_gold(gold, annotations)
    empty = known is None or not len(known.known)
    at = np.empty(0, dtype=np.int64) if known is None or empty else known.known
    true = np.empty(0, dtype=np.int32) if known is None else known.label[at]
    p = result.posterior[at, true]
    odd = np.flatnonzero(p < threshold)
    odd = odd[np.argsort(p[odd], kind="stable")]
    at, true = at[odd], true[odd]
    return pl.DataFrame(
        {
            "task": annotations.tasks.gather(at),
            "gold": annotations.classes.gather(true),
            "label": annotations.classes.gather(result.labels[at]),
            "p_gold": p[odd],
            "n_labels": annotations.labels_per_task[at],
            "n_agree": annotations.votes[at, true],
        }
    )


def confused_classes(annotations: Annotations, result: Result) -> pl.DataFrame:
    """Pairs of classes that workers take for each other, the most confused first.

    first, second, first_as_second (share of the labels of tasks that are `first` which say `second`), second_as_first,
    n (expected number of such labels, both ways), ambiguous (tasks on which the posterior is torn between the two).
    """
    _check(annotations, result, ())
    k = annotations.n_classes
    table = np.empty((k, k))
    for true in range(k):
        table[true] = np.bincount(annotations.label, weights=result.posterior[annotations.task, true], minlength=k)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12)
    top = np.sort(np.argsort(-result.posterior, axis=1, kind="stable")[:, :2], axis=1)
    torn = result.confidence < SAFE
    first, second = np.triu_indices(k, 1)
    pair = np.bincount(top[torn] @ np.array([k, 1]), minlength=k * k) if k > 1 and torn.any() else np.zeros(k * k)
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
        }
    )


def _check(annotations: Annotations, result: Result, others: Sequence[Result]) -> None:
    for each in (result, *others):
        if len(each.tasks) != annotations.n_tasks or len(each.classes) != annotations.n_classes:
            raise DataError(f"the result of {each.method} is of other annotations; fit it on these votes")
