"""What a fit says of every single label: is it right, and what would the others have said without it?

`right` takes part in the label's own judgement, `others` does not: from the task's posterior the worker's own
likelihood term is removed, which for a confusion-matrix method is exact,

    others[row, k]  ∝  posterior[task, k] / confusion[worker, k, label].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.result import Result
from ..annotations import Annotations
from ..maths.skill import Skill, crowd_rows, effective_n, rows_of, share_interval
from ..methods.infer import ConfusionTable
from .copying import Suspicion, suspicion

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    """Annotations with the fit that belongs to them; arrays by row are in the order of the annotations."""

    annotations: Annotations
    result: Result

    def __post_init__(self) -> None:
        a, r = self.annotations, self.result
        for name in ("tasks", "workers", "classes"):
            mine, theirs = getattr(a, name), getattr(r, name)
            if len(mine) != len(theirs) or mine.to_list() != theirs.to_list():
                raise DataError(f"the result and the annotations have different {name}; fit the method on these votes")

    @cached_property
    def weight(self) -> F8:
        """Weight of each row, one by default."""
        return np.ones(len(self.annotations)) if self.annotations.weight is None else self.annotations.weight

    @cached_property
    def counts(self) -> F8:
        """counts[worker, true, observed]: expected numbers of labels under the posterior."""
        return self.table(self.posterior[self.annotations.task])

    def table(self, belief: F8) -> F8:
        """table[worker, true, observed] of belief[row, true]."""
        votes = self.annotations
        m, k = votes.n_workers, votes.n_classes
        out = np.empty((m, k, k))
        for true in range(k):
            cells = np.bincount(votes.cell, weights=self.weight * belief[:, true], minlength=m * k)
            out[:, true, :] = cells.reshape(m, k)
        return out

    @cached_property
    def others(self) -> F8:
        """others[row, class]: posterior of the row's task without anything its worker said of it."""
        votes, (table, posterior) = self.annotations, self._model
        out = table.without_own(votes, posterior)
        known = self.known[votes.task]  # stays known, whoever is left out
        out[known] = posterior[votes.task[known]]
        return out

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """known[task]: tasks whose truth was given as gold."""
        gold = self.result.gold
        return np.zeros(self.annotations.n_tasks, dtype=bool) if gold is None else gold

    @cached_property
    def posterior(self) -> F8:
        """posterior[task, class] by which the workers are judged: the E-step under their confusions.

        For an EM method this is the result's own; an average of methods, or a calibrated posterior, is softer than the
        workers deserve. A method that knows more of a task than its workers (groups, difficulty) keeps its own.
        """
        return self._model[1]

    @cached_property
    def _model(self) -> tuple[ConfusionTable, F8]:
        """The workers' confusions and the posterior that belongs to them."""
        result = self.result
        if result.confusion is None:
            table = self.table(result.posterior[self.annotations.task]) + 0.5
            prior = result.extra.get("class_weight", result.class_prior)
            model = ConfusionTable(result, table / table.sum(axis=2, keepdims=True), prior)
        else:
            model = ConfusionTable.of(result)
            if not isinstance(result.model, ConfusionTable):
                return model, result.posterior
        return model, np.where(self.known[:, None], result.posterior, model.posterior(self.annotations))

    @cached_property
    def suspicion(self) -> Suspicion:
        """How probable it is that each worker is a spammer: the table of quality and the flags both ask."""
        return suspicion(self.annotations, self.others)

    @cached_property
    def right(self) -> F8:
        """right[row]: probability that the row's label is the true one."""
        return np.asarray(self.posterior[self.annotations.task, self.annotations.label])

    @cached_property
    def confirmed(self) -> F8:
        """confirmed[row]: probability of the row's label by everybody else."""
        return np.asarray(self.others[np.arange(len(self.annotations)), self.annotations.label])


# ----------------------------------------------------------------
# What a worker does with each class: recall, precision, confusion, with intervals and effective numbers of labels.
# All from the posterior, so they stand for any method. Louis' principle: a task whose class is in doubt counts for
# less.


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
