"""Links from features: every task with those most like it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError
from ....core.params import Count, NonNegative
from ....core.side_tables import codes
from ....core.vocabulary import as_series
from ....em.kernels import Stats, Workspace, e_step, stats_of
from ..annotations import Annotations
from ..maths.graphs import Graph, neighbours, settle, softmax
from .base import Aggregator, Run
from .confusion.base import Params, vote_shares
from .confusion.hierarchical import PASSES, Crowd, Hierarchical
from .gold import Gold
from .spread import Solution

F8 = npt.NDArray[np.float64]
# Strengths to choose from, and the share of the labels that is held out to choose by.
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
HELD_OUT = 0.2
_LEAST = 1e-300


@dataclass(frozen=True, kw_only=True)
class GraphField(Aggregator):
    """Graph field: tasks that are linked tend to have one class.

        P(z) ∝ Π_i class_prior[z_i] · exp(strength · Σ_links weight · 1[z_i = z_j]),   y_iw | z_i = k ~ Cat(confusion[w,
        k])

    `hierarchical` whose E-step is a mean field on the graph: a task is judged by its labels and by what is believed
    of its neighbours, in turn with the workers' matrices, which then learn from better labels. In the spirit of
    Traganitis & Giannakis (2022), of which we could read the abstract only. The field is centred
    (kinds/classes/maths/graphs.py): the plain one pulls everything into one class where links are not clean. Fails
    where linked tasks rather differ; beliefs grow too sure where the links repeat each other (log-loss tells).

    `strength` (0 and up) is what a neighbour of the same class is worth, in nats; with `choose` it is the one of
    seven (0 to 1) that best predicts labels held out. `sweeps` of the field are taken in each pass.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxxy"]).linked([(1, 2)])
    >>> GraphField().fit(votes).extra["n_links"]
    1
    """

    name: ClassVar[str] = "graph_field"
    strength: NonNegative = 0.5
    choose: bool = False
    sweeps: Count = 3
    max_iter: Count = 200
    tol: NonNegative = 1e-3
    prior_class: NonNegative = 10.0

    def answer(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Tasks without labels are believed what their neighbours are; they do not speak themselves."""
        found = super().answer(annotations, gold, run)
        silent = annotations.labels_per_task == 0
        if not silent.any() or silent.all():
            return found
        graph = _graph(annotations)
        heard = np.where(silent[:, None], 0.0, found.posterior)
        mean = found.posterior[~silent].mean(axis=0)
        near = np.asarray(graph.table @ heard - (graph.table @ (~silent).astype(np.float64))[:, None] * mean)
        strength = float(found.extra["strength_used"])
        guess = softmax(np.log(np.maximum(found.class_prior, _LEAST)) + strength * near)
        posterior = np.where(silent[:, None], guess, found.posterior)
        return replace(found, posterior=posterior if gold is None else gold.clamp(posterior))

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Rounds of EM, each under the prior that the last round's counts call for."""
        strength = self._chosen(annotations, gold) if self.choose else self.strength
        found, params = self._fit(annotations, gold, run, strength)
        return replace(found, confusion=np.ascontiguousarray(params.theta.transpose(0, 2, 1)))

    def _fit(self, annotations: Annotations, gold: Gold | None, run: Run, strength: float) -> tuple[Solution, Params]:
        k = annotations.n_classes
        space, graph = Workspace.of(annotations), _graph(annotations)
        posterior = vote_shares(annotations, gold)
        crowd = Crowd.start(k, Hierarchical(prior_class=self.prior_class))
        stats: Stats = stats_of(space, posterior)
        passes, settled, turn = 0, False, 0
        while passes < self.max_iter and not settled:
            before = posterior
            crowd = crowd.learn(stats, 100.0)
            model = crowd.model(self.prior_class)
            for _ in range(min(PASSES, self.max_iter - passes)):
                params = model.maximise(stats)
                # Under even classes the posterior is the likelihood of the task's own labels.
                own = e_step(space, params.theta, np.full(k, 1 / k))
                log_p = np.log(np.maximum(own, _LEAST)) + np.log(params.class_prior)
                posterior = settle(graph, log_p, posterior, strength, self.sweeps)
                posterior = posterior if gold is None else gold.clamp(posterior)
                stats = stats_of(space, posterior)
                passes += 1
            settled = turn > 0 and float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            turn += 1
            if run.callback is not None:
                run.callback(passes, float("nan"))
        extra = {"strength_used": strength, "n_links": int(graph.table.nnz // 2)}
        counts = np.ascontiguousarray(stats.counts.transpose(0, 2, 1))
        found = Solution(posterior, params.class_prior, counts=counts, n_iter=passes, converged=settled, extra=extra)
        return found, params

    def _chosen(self, annotations: Annotations, gold: Gold | None) -> float:
        """The strength under which labels that were held out are most likely; the lower of two that are level."""
        kept, out = annotations.split(HELD_OUT, seed=self.seed)
        if not len(out) or not len(kept):
            return self.strength
        scores = []
        for strength in STRENGTHS:
            found, params = self._fit(kept, gold, Run(), strength)
            said = params.theta[out.worker, out.label]  # row, true
            p = np.maximum((found.posterior[out.task] * said).sum(axis=1), 1e-12)
            scores.append(float(np.log(p).mean()))
        best = int(np.argmax(np.round(scores, 6)))
        return STRENGTHS[best]


def _graph(annotations: Annotations) -> Graph:
    assert annotations.links is not None
    return Graph(*codes(annotations.links, annotations.tasks), annotations.n_tasks)


def neighbour_links(tasks: Any, features: Any, k: int = 10) -> pl.DataFrame:
    """A table task, other: each task linked to the k whose features are most like its own.

    Columns are standardised, and features are compared by the cosine of the angle between them. The work grows with the
    square of the number of tasks.

    >>> neighbour_links(["a", "b", "c"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], k=1).height
    3
    """
    names = as_series(tasks, "task")
    x = np.asarray(features, dtype=np.float64)
    if x.ndim < 2 or len(x) != len(names):
        raise DataError(f"{len(names)} tasks need a matrix with as many rows of features, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise DataError("features must be finite numbers; fill in what is missing")
    if k < 1:
        raise DataError(f"k must be at least 1, got {k}")
    found = neighbours(x, k)
    one = np.repeat(np.arange(len(names)), found.shape[1])
    return pl.DataFrame({"task": names.gather(one), "other": names.gather(found.ravel())})
