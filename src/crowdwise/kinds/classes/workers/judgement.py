"""Assessment of every single label by a fit: the probability that it is right, with and without the label itself.

`right` is based on the full posterior; `others` leaves the worker's label out. The worker's likelihood term is removed
from the posterior of the task, which is exact for confusion-matrix methods:

    others[row, k]  ∝  posterior[task, k] / confusion[worker, k, label].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ....core.arrays import F8, Mask
from ....core.errors import DataError
from ....core.result import Result
from ....em.rows import row_weights
from ..annotations import Annotations
from ..maths.skill import Skill, crowd_rows, effective_n, rows_of, share_interval
from ..methods.infer import FittedConfusion
from .copying import SpammerEstimate, estimate_spammers


@dataclass(frozen=True)
class Judgement:
    """Annotations with a result fitted on them; arrays by row are in the order of the annotations."""

    annotations: Annotations
    result: Result

    def __post_init__(self) -> None:
        votes, result = self.annotations, self.result
        for name in ("tasks", "workers", "classes"):
            votes_names, result_names = getattr(votes, name), getattr(result, name)
            if len(votes_names) != len(result_names) or votes_names.to_list() != result_names.to_list():
                raise DataError(f"the result and the annotations have different {name}; fit the method on these votes")

    @cached_property
    def weight(self) -> F8:
        """Weight of each row, one by default."""
        return row_weights(self.annotations)

    @cached_property
    def counts(self) -> F8:
        """Expected numbers of labels [worker, true, observed] under the posterior."""
        return self.table(self.posterior[self.annotations.task])

    def table(self, belief: F8) -> F8:
        """Sum belief[row, true] into a table [worker, true, observed]."""
        votes = self.annotations
        m, k = votes.n_workers, votes.n_classes
        out = np.empty((m, k, k))
        for true in range(k):
            cells = np.bincount(votes.cell, weights=self.weight * belief[:, true], minlength=m * k)
            out[:, true, :] = cells.reshape(m, k)
        return out

    @cached_property
    def others(self) -> F8:
        """Posterior [row, class] of the row's task without the labels of the row's worker."""
        votes, (table, posterior) = self.annotations, self._model
        out = table.without_own(votes, posterior)
        is_gold = self.is_gold[votes.task]  # gold does not depend on the workers
        out[is_gold] = posterior[votes.task[is_gold]]
        return out

    @cached_property
    def is_gold(self) -> Mask:
        """Mask of the tasks with gold."""
        gold = self.result.gold
        return np.zeros(self.annotations.n_tasks, dtype=bool) if gold is None else gold

    @cached_property
    def posterior(self) -> F8:
        """Posterior [task, class] used to assess the workers: one E-step with their confusion matrices.

        For an EM method this is the posterior of the result. An average of methods or a calibrated posterior would be
        too soft for assessing workers. Methods with further parameters (groups, difficulty) keep their posterior.
        """
        return self._model[1]

    @cached_property
    def _model(self) -> tuple[FittedConfusion, F8]:
        """Confusion matrices of the workers and the corresponding posterior."""
        result = self.result
        if result.confusion is None:
            table = self.table(result.posterior[self.annotations.task]) + 0.5
            prior = result.extra.get("class_weight", result.class_prior)
            model = FittedConfusion(result, table / table.sum(axis=2, keepdims=True), prior)
        else:
            model = FittedConfusion.of(result)
            if not isinstance(result.model, FittedConfusion):
                return model, result.posterior
        return model, np.where(self.is_gold[:, None], result.posterior, model.posterior(self.annotations))

    @cached_property
    def spammer_estimate(self) -> SpammerEstimate:
        """Probability of each worker to be a spammer, computed once for the quality table and the flags."""
        return estimate_spammers(self.annotations, self.others)

    @cached_property
    def right(self) -> F8:
        """Probability [row] that the row's label is right."""
        return np.asarray(self.posterior[self.annotations.task, self.annotations.label])

    @cached_property
    def confirmed(self) -> F8:
        """Probability [row] of the row's label by the other workers."""
        return np.asarray(self.others[np.arange(len(self.annotations)), self.annotations.label])


# ----------------------------------------------------------------
# Recall, precision and confusion per worker and class, with intervals and effective numbers of labels. All are computed
# from the posterior, so they are available for any method. Louis' principle: tasks with an uncertain class count less.


def class_table(annotations: Annotations, result: Result) -> pl.DataFrame:
    """Compute recall and precision of every worker for every class.

    Args:
        annotations: The votes.
        result: A result fitted on these votes.

    Returns:
        A table with one row per worker and class: worker, class, n_true (expected), n_said, recall, recall_low,
        recall_high, recall_n (effective), precision, precision_low, precision_high, label_share, expected_share (of
        the worker's tasks), bias (their difference).
    """
    return classes_of(Judgement(annotations, result))


def classes_of(judgement: Judgement) -> pl.DataFrame:
    """Like `class_table`, from a judgement."""
    votes = judgement.annotations
    m, k = votes.n_workers, votes.n_classes
    cells, effective = cells_of(judgement)
    classes = np.arange(k)
    hits, variance = np.stack([np.bincount(votes.cell, weights=w, minlength=m * k).reshape(m, k) for w in (
        judgement.weight * judgement.right, judgement.weight * judgement.right * (1 - judgement.right))])  # fmt: skip
    n_observed = judgement.counts.sum(axis=1)
    crowd = (hits.sum(axis=0) + 0.5) / (n_observed.sum(axis=0) + 1.0)
    precise = share_interval(n_observed, hits, variance, np.tile(crowd, (m, 1)))
    n_true = judgement.counts.sum(axis=2)
    total = np.maximum(n_observed.sum(axis=1, keepdims=True), 1e-12)
    worker, class_ = np.indices((m, k)).reshape(2, -1)
    return pl.DataFrame(
        {
            "worker": votes.workers.gather(worker),
            "class": votes.classes.gather(class_),
            "n_true": n_true.ravel(),
            "n_said": n_observed.ravel(),
            **_columns("recall", Skill(*(x[:, classes, classes] for x in (cells.mean, cells.low, cells.high)))),
            "recall_n": effective[:, classes, classes].ravel(),
            **_columns("precision", precise),
            "label_share": (n_observed / total).ravel(),
            "expected_share": (n_true / total).ravel(),
            "bias": ((n_observed - n_true) / total).ravel(),
        }
    )


def confusion_table(annotations: Annotations, result: Result) -> pl.DataFrame:
    """Compute the confusion matrices of all workers with intervals.

    Args:
        annotations: The votes.
        result: A result fitted on these votes.

    Returns:
        A table with one row per worker and cell: worker, true, observed, p, low, high, n (expected labels),
        n_effective. p is computed from the posterior with two pseudo-labels per row at the crowd's mean, so it is
        available for any method.
    """
    return confusion_of(Judgement(annotations, result))


def confusion_of(judgement: Judgement) -> pl.DataFrame:
    """Like `confusion_table`, from a judgement."""
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
    """Confusion cells [worker, true, observed] with intervals, and their effective numbers of labels."""
    belief = judgement.posterior[judgement.annotations.task]
    counts, total_variance = judgement.counts, judgement.table(belief * (1 - belief))
    n = np.broadcast_to(counts.sum(axis=2, keepdims=True), counts.shape)
    centre = np.broadcast_to(crowd_rows(counts), counts.shape)
    share = rows_of(counts)
    # Louis: the information lost by an uncertain row depends on whether it has this label.
    variance = (
        total_variance * (1 - share) ** 2 + (total_variance.sum(axis=2, keepdims=True) - total_variance) * share**2
    )
    return share_interval(n, counts, variance, centre), effective_n(n, variance, share)


def _columns(name: str, interval: Skill) -> dict[str, F8]:
    return {name: interval.mean.ravel(), f"{name}_low": interval.low.ravel(), f"{name}_high": interval.high.ravel()}
