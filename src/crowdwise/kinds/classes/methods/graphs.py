"""The graph field: a method for tasks with links, and links between tasks with similar features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ....core.errors import DataError
from ....core.params import Count, NonNegative
from ....core.side_tables import codes
from ....core.vocabulary import as_series
from ....em.kernels import Stats, Workspace, e_step, stats_of, transposed
from ..annotations import Annotations
from ..maths.graphs import Graph, mean_field, neighbours, softmax
from .base import Aggregator, SolveOptions
from .confusion.base import Params, vote_shares
from .confusion.hierarchical import PASSES, Hierarchical, SharedPrior
from .gold import GoldLabels
from .partitioned import Solution

# Strengths to choose from, and the share of the labels that is held out for the choice.
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
HELD_OUT = 0.2
_LEAST = 1e-300


@dataclass(frozen=True, kw_only=True)
class GraphField(Aggregator):
    """Graph field: linked tasks tend to have the same class.

        P(z) ∝ Π_i class_prior[z_i] · exp(strength · Σ_links weight · 1[z_i = z_j]),   y_iw | z_i = k ~ Cat(confusion[w,
        k])

    `hierarchical` with a mean field on the graph as its E-step: the posterior of a task combines its labels with the
    posteriors of its neighbours, in turn with the confusion matrices, which then learn from better labels. In the
    spirit of Traganitis & Giannakis (2022), of which only the abstract was available to us. The field is centred
    (kinds/classes/maths/graphs.py): the plain one pulls everything into one class where links are noisy. Fails where
    linked tasks tend to differ; the posterior is overconfident where links repeat each other (log-loss shows it).

    `strength` (0 and up) is the evidence of a neighbour of the same class, in nats; with `choose` it is the one of
    seven (0 to 1) that best predicts held-out labels. Each pass takes `sweeps` sweeps of the field.

    Args:
        strength: Log-odds in nats that a neighbour of the same class adds, for a link of weight 1; 0 ignores the links,
            and larger values make linked tasks more alike.
        choose: Whether to use, instead of `strength`, the one of seven values (0 to 1) that best predicts held-out
            labels.
        sweeps: Number of sweeps of the mean field in each pass of EM; each moves the posterior half of the way.
        max_iter: Maximum number of passes of EM.
        tol: Largest change of a posterior in a round of five passes at which EM stops.
        prior_class: Pseudo-tasks of each class; larger values make the class prior more uniform.

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

    def fit_solution(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Fit, then estimate tasks without labels from their neighbours; they do not influence other tasks."""
        solution = super().fit_solution(annotations, gold, options)
        empty = annotations.labels_per_task == 0
        if not empty.any() or empty.all():
            return solution
        graph = _graph(annotations)
        labelled = np.where(empty[:, None], 0.0, solution.posterior)
        mean = solution.posterior[~empty].mean(axis=0)
        field = np.asarray(graph.table @ labelled - (graph.table @ (~empty).astype(np.float64))[:, None] * mean)
        strength = float(solution.extra["strength_used"])
        from_neighbours = softmax(np.log(np.maximum(solution.class_prior, _LEAST)) + strength * field)
        posterior = np.where(empty[:, None], from_neighbours, solution.posterior)
        return replace(solution, posterior=posterior if gold is None else gold.clamp(posterior))

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Run rounds of EM, each under the prior estimated from the counts of the last round."""
        strength = self._choose_strength(annotations, gold) if self.choose else self.strength
        solution, params = self._fit(annotations, gold, options, strength)
        return replace(solution, confusion=transposed(params.theta))

    def _fit(
        self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions, strength: float
    ) -> tuple[Solution, Params]:
        k = annotations.n_classes
        space, graph = Workspace.of(annotations), _graph(annotations)
        posterior = vote_shares(annotations, gold)
        crowd = SharedPrior.start(k, Hierarchical(prior_class=self.prior_class))
        stats: Stats = stats_of(space, posterior)
        passes, converged, n_rounds = 0, False, 0
        while passes < self.max_iter and not converged:
            before = posterior
            crowd = crowd.learn(stats, 100.0)
            model = crowd.model(self.prior_class)
            for _ in range(min(PASSES, self.max_iter - passes)):
                params = model.maximise(stats)
                # Under even classes the posterior is the likelihood of the task's own labels.
                likelihood = e_step(space, params.theta, np.full(k, 1 / k))
                log_p = np.log(np.maximum(likelihood, _LEAST)) + np.log(params.class_prior)
                posterior = mean_field(graph, log_p, posterior, strength, self.sweeps)
                posterior = posterior if gold is None else gold.clamp(posterior)
                stats = stats_of(space, posterior)
                passes += 1
            converged = n_rounds > 0 and float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            n_rounds += 1
            if options.callback is not None:
                options.callback(passes, float("nan"))
        extra = {"strength_used": strength, "n_links": int(graph.table.nnz // 2)}
        counts = transposed(stats.counts)
        solution = Solution(
            posterior, params.class_prior, counts=counts, n_iter=passes, converged=converged, extra=extra
        )
        return solution, params

    def _choose_strength(self, annotations: Annotations, gold: GoldLabels | None) -> float:
        """Return the strength under which held-out labels are most likely, the lower one of a tie."""
        train, test = annotations.split(HELD_OUT, seed=self.seed)
        if not len(test) or not len(train):
            return self.strength
        scores = []
        for strength in STRENGTHS:
            solution, params = self._fit(train, gold, SolveOptions(), strength)
            likelihood = params.theta[test.worker, test.label]  # row, true
            p = np.maximum((solution.posterior[test.task] * likelihood).sum(axis=1), 1e-12)
            scores.append(float(np.log(p).mean()))
        best = int(np.argmax(np.round(scores, 6)))
        return STRENGTHS[best]


def _graph(annotations: Annotations) -> Graph:
    assert annotations.links is not None
    return Graph(*codes(annotations.links, annotations.tasks), annotations.n_tasks)


def neighbour_links(tasks: Any, features: Any, k: int = 10) -> pl.DataFrame:
    """Link each task to the k tasks with the most similar features.

    Columns are standardised, and features are compared by cosine similarity. The cost grows with the square of the
    number of tasks.

    Args:
        tasks: Names of the tasks.
        features: A matrix with a row of features per task.
        k: Number of links per task.

    Returns:
        A table with columns task, other.

    >>> neighbour_links(["a", "b", "c"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], k=1).height
    3
    """
    names = as_series(tasks, "task")
    x = np.asarray(features, dtype=np.float64)
    if x.ndim < 2 or len(x) != len(names):
        raise DataError(f"{len(names)} tasks need a matrix with as many rows of features, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise DataError("features must be finite numbers; fill in missing values")
    if k < 1:
        raise DataError(f"k must be at least 1, got {k}")
    others = neighbours(x, k)
    task = np.repeat(np.arange(len(names)), others.shape[1])
    return pl.DataFrame({"task": names.gather(task), "other": names.gather(others.ravel())})
