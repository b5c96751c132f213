"""What a worker does with each class: recall, precision, confusion, with intervals and effective numbers of labels.

All from the posterior, so they stand for any method. Louis' principle: a task whose class is in doubt counts for less.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from ..maths.skill import Skill, crowd_rows, effective_n, rows_of, share_interval
from .judgement import Judgement

F8 = npt.NDArray[np.float64]


def class_table(annotations: Annotations, result: Result) -> pl.DataFrame:
    """One row a worker and class: how well they know it when they see it, how far to believe them when they say it.

    worker, class, n_true (expected), n_said, recall, recall_low, recall_high, recall_n (effective), precision,
    precision_low, precision_high, label_share, expected_share (of their tasks), bias (their difference).
    """
    return classes_of(Judgement(annotations, result))


def classes_of(judgement: Judgement) -> pl.DataFrame:
    """The same from a judgement."""
    votes = judgement.annotations
    m, k = votes.n_workers, votes.n_classes
    cells, effective = cells_of(judgement)
    at = np.arange(k)
    hits, doubt = np.stack([np.bincount(votes.cell, weights=w, minlength=m * k).reshape(m, k) for w in (
        judgement.weight * judgement.right, judgement.weight * judgement.right * (1 - judgement.right))])  # fmt: skip
    said = judgement.counts.sum(axis=1)
    crowd = (hits.sum(axis=0) + 0.5) / (said.sum(axis=0) + 1.0)
    precise = share_interval(said, hits, doubt, np.tile(crowd, (m, 1)))
    seen = judgement.counts.sum(axis=2)
    total = np.maximum(said.sum(axis=1, keepdims=True), 1e-12)
    who, what = np.indices((m, k)).reshape(2, -1)
    return pl.DataFrame(
        {
            "worker": votes.workers.gather(who),
            "class": votes.classes.gather(what),
            "n_true": seen.ravel(),
            "n_said": said.ravel(),
            **_columns("recall", Skill(*(x[:, at, at] for x in (cells.mean, cells.low, cells.high)))),
            "recall_n": effective[:, at, at].ravel(),
            **_columns("precision", precise),
            "label_share": (said / total).ravel(),
            "expected_share": (seen / total).ravel(),
            "bias": ((said - seen) / total).ravel(),
        }
    )


def confusion_table(annotations: Annotations, result: Result) -> pl.DataFrame:
    """One row a worker and cell: worker, true, observed, p, low, high, n (expected labels), n_effective.

    p is counted from the posterior with two pseudo-labels a row at the crowd's mean, so it stands for any method.
    """
    return confusion_of(Judgement(annotations, result))


def confusion_of(judgement: Judgement) -> pl.DataFrame:
    """The same from a judgement."""
    votes = judgement.annotations
    cells, effective = cells_of(judgement)
    w, t, o = np.indices(cells.mean.shape).reshape(3, -1)
    return pl.DataFrame(
        {
            "worker": votes.workers.gather(w),
            "true": votes.classes.gather(t),
            "observed": votes.classes.gather(o),
            "p": cells.mean.ravel(),
            "low": cells.low.ravel(),
            "high": cells.high.ravel(),
            "n": judgement.counts.ravel(),
            "n_effective": effective.ravel(),
        }
    )


def cells_of(judgement: Judgement) -> tuple[Skill, F8]:
    """Confusion cells [worker, true, observed] with intervals, and the effective number of labels behind each."""
    belief = judgement.posterior[judgement.annotations.task]
    counts, doubts = judgement.counts, judgement.table(belief * (1 - belief))
    n = np.broadcast_to(counts.sum(axis=2, keepdims=True), counts.shape)
    centre = np.broadcast_to(crowd_rows(counts), counts.shape)
    share = rows_of(counts)
    # Louis: what a doubtful row takes away depends on whether it shows this very label.
    doubt = doubts * (1 - share) ** 2 + (doubts.sum(axis=2, keepdims=True) - doubts) * share**2
    return share_interval(n, counts, doubt, centre), effective_n(n, doubt, share)


def _columns(name: str, found: Skill) -> dict[str, F8]:
    return {name: found.mean.ravel(), f"{name}_low": found.low.ravel(), f"{name}_high": found.high.ravel()}
