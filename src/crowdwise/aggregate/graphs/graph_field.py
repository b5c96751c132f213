"""Graph field: tasks that are linked tend to have one class.

    P(z) ∝ Π_i class_prior[z_i] · exp(strength · Σ_links weight · 1[z_i = z_j]),   y_iw | z_i = k ~ Cat(confusion[w, k])

`hierarchical` whose E-step is a mean field on the graph: a task is judged by its labels and by what is believed of its
neighbours, in turn with the workers' matrices, which then learn from better labels. In the spirit of Traganitis &
Giannakis (2022), of which we could read the abstract only. The field is centred (maths/graphs/field.py): the plain one
pulls everything into one class where links are not clean.
Fails where linked tasks rather differ; beliefs grow too sure where the links repeat each other (log-loss tells).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.links import codes
from ...core.params import Count, NonNegative
from ...kinds.classes.annotations import Annotations
from ...maths.graphs.field import Graph, settle, softmax
from ...maths.kernels import Stats, Workspace, e_step, stats_of
from ..base import Aggregator, Run, Solution
from ..confusion.base import Params, vote_shares
from ..confusion.hierarchical import PASSES, Crowd, Hierarchical
from ..gold import Gold

F8 = npt.NDArray[np.float64]
# Strengths to choose from, and the share of the labels that is held out to choose by.
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
HELD_OUT = 0.2
_LEAST = 1e-300


@dataclass(frozen=True, kw_only=True)
class GraphField(Aggregator):
    """`strength` (0 and up) is what a neighbour of the same class is worth, in nats; with `choose` it is the one of
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
