"""Which labels are doubtful? Contested tasks, gold that the crowd contradicts, and classes taken for each other.

Tasks are the other half of the data than workers, hence a module beside the room `workers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .aggregate.gold import as_gold
from .annotations import Annotations
from .errors import DataError
from .maths.ties import TOLERANCE
from .result import Result

F8 = npt.NDArray[np.float64]

# Below this confidence a label deserves another vote.
SAFE = 0.9


def contested(annotations: Annotations, result: Result, others: Sequence[Result] = ()) -> pl.DataFrame:
    """One row a task, the most contested first.

    task, label, confidence, second (the runner-up), margin (between the two), entropy (nats), n_labels, n_agree (labels
    that say so), difficulty (by the method where it has one, else the share of labels that differ), disagreeing (how
    many of the `others`, results of other methods on the same tasks, have another label), why (in words; empty when
    safe).

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
            "why": _why(result.confidence, margin, n, agree, np.asarray(against), len(others)),
        }
    )
    rank = np.lexsort((np.arange(len(n)), -result.entropy, -np.asarray(against)))
    return table.select(pl.all().gather(rank))


def _why(
    confidence: F8, margin: F8, n: npt.NDArray[np.int64], agree: npt.NDArray[np.int64], against: F8, n_others: int
) -> list[str]:
    """One short reason a task, the gravest; empty where the label is safe."""
    out = []
    for p, gap, size, yes, no in zip(confidence, margin, n, agree, against, strict=True):
        if size == 0:
            out.append("no labels")
        elif gap <= TOLERANCE:
            out.append("tied")
        elif p < SAFE:
            out.append(f"only {p:.0%} sure")
        elif no:
            out.append(f"{int(no)} of {n_others} other methods say otherwise")
        elif yes * 2 < size:
            out.append(f"only {yes} of {size} labels say so")
        else:
            out.append("")
    return out


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
