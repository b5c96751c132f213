"""What the moment methods share: what they need, the order of classes, and how matrices become posteriors.

A moment method estimates confusion[w] and class_prior from how pairs (or triples) of workers label the same tasks:
no start, no local optimum, but much overlap. Workers whom the moments do not reach are judged by the labels of those
whom they do. The posterior is one E-step under the estimates, then `em_steps` steps of Dawid-Skene's EM.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, IdentifiabilityWarning
from ...core.params import Count, Positive, Whole
from ...engine.em import Passes, run
from ...kinds.classes.annotations import Annotations
from ...maths.moments import Pairs, pairs
from ..base import Aggregator, Run, Solution
from ..class_order import ClassOrder
from ..confusion.base import ConfusionModel, Matrices, Params
from ..gold import Gold

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """confusion[worker, true, observed], class_prior, and for which workers there is an estimate at all."""

    confusion: F8
    class_prior: F8
    good: npt.NDArray[np.bool_]
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 1
    converged: bool = True


@dataclass(frozen=True, kw_only=True)
class MomentAggregator(Aggregator):
    """`em_steps` (≥ 0) EM steps at the end; `min_overlap` tasks in common make a pair usable (default 5 · classes);
    `smoothing` (> 0) pseudo-counts keep estimated zeros from ruling classes out."""

    max_workers: ClassVar[int] = 1_000
    em_steps: Whole = 0
    min_overlap: Count | None = None
    smoothing: Positive = 0.1

    @abstractmethod
    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """The estimates of those workers whom the moments reach."""

    def solve(self, annotations: Annotations, gold: Gold | None, run_: Run) -> Solution:  # noqa: ARG002
        """Moments, estimates, E-step, EM steps; classes are put into the order in which they appear and back."""
        if annotations.n_workers > self.max_workers:
            raise DataError(
                f"{self.name} compares all pairs of workers and takes at most {self.max_workers:,}, these data have "
                f"{annotations.n_workers:,}; dawid_skene and hierarchical take any number"
            )
        if annotations.n_classes == 1:
            return _certain(annotations)
        order = ClassOrder.of(annotations, gold)
        votes, known = order.renamed(annotations, gold)
        found = self.estimate(votes, self.overlap(votes))
        self._warn(found)
        return _renamed(self._finish(votes, known, found), order.rank)

    def overlap(self, annotations: Annotations) -> Pairs:
        """The label tables of the pairs that share enough tasks."""
        least = 5 * annotations.n_classes if self.min_overlap is None else self.min_overlap
        seen = pairs(annotations, least)
        if len(seen.first) == 0:
            raise DataError(
                f"{self.name} needs workers who label the same tasks, and no two of them share {least} or more; lower "
                "min_overlap or take hierarchical"
            )
        return seen

    def _warn(self, found: Estimate) -> None:
        if not found.good.all():
            warnings.warn(
                f"{int((~found.good).sum())} of {len(found.good)} workers share too few tasks with others for "
                f"{self.name}; they are judged by the labels of the rest",
                IdentifiabilityWarning,
                stacklevel=4,
            )

    def _finish(self, votes: Annotations, gold: Gold | None, found: Estimate) -> Solution:
        k = votes.n_classes
        model = ConfusionModel(np.full((k, k), self.smoothing), self.smoothing)
        data: Matrices = Passes(model, Run().spread(votes, gold))
        params = self._params(votes, found, gold)
        stats, _ = data.accumulate(params)
        if not found.good.all():
            theta = np.where(found.good[:, None, None], params.theta, model.maximise(stats).theta)
            params = Params(theta, params.class_prior)
            stats, _ = data.accumulate(params)
        stage, trace = np.zeros(len(found.trace), dtype=np.int64), found.trace
        if self.em_steps:
            fit = run(data, stats, max_iter=self.em_steps, tol=1e-8)
            params, stats = fit.params, fit.stats
            trace = np.concatenate([trace, fit.trace])
            stage = np.append(stage, np.ones(len(fit.trace), dtype=np.int64))
        confusion, counts = (np.ascontiguousarray(a.transpose(0, 2, 1)) for a in (params.theta, stats.counts))
        posterior = data.posterior(params)
        went: dict[str, Any] = {"trace": trace, "stage": stage, "n_iter": found.n_iter, "converged": found.converged}
        return Solution(posterior, params.class_prior, confusion, counts, **went)

    def _params(self, votes: Annotations, found: Estimate, gold: Gold | None = None) -> Params:
        """The estimates with pseudo-counts, as if each worker had met the classes at their frequencies.

        What a worker said of gold tasks is counted as it is, the estimate stands for the other labels.
        """
        k = votes.n_classes
        n = np.bincount(votes.worker, weights=votes.weight, minlength=votes.n_workers).astype(np.float64)
        told = np.zeros((votes.n_workers, k, k)) if gold is None else gold.counts(votes)
        n -= told.sum(axis=(1, 2))
        prior = (found.class_prior * votes.n_tasks + self.smoothing) / (votes.n_tasks + k * self.smoothing)
        met = n[:, None, None] * prior[None, :, None]
        met = np.where(found.good[:, None, None], met, 0.0)
        confusion = found.confusion * met + told + self.smoothing
        confusion /= met + told.sum(axis=2, keepdims=True) + k * self.smoothing
        return Params(np.ascontiguousarray(confusion.transpose(0, 2, 1)), prior)


def _renamed(found: Solution, place: npt.NDArray[np.int32]) -> Solution:
    tables: dict[str, Any] = {
        name: None if (table := getattr(found, name)) is None else table[:, place][:, :, place]
        for name in ("confusion", "counts")
    }
    return replace(found, posterior=found.posterior[:, place], class_prior=found.class_prior[place], **tables)


def _certain(annotations: Annotations) -> Solution:
    sure = np.ones((annotations.n_workers, 1, 1))
    return Solution(
        np.ones((annotations.n_tasks, 1)), np.ones(1), sure, sure * annotations.labels_per_worker[:, None, None]
    )
