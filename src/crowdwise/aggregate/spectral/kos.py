"""KOS: iterative message passing between tasks and workers, without a prior.

    x[i→u] = sum_{v ≠ u} s_iv y[v→i],   y[u→i] = sum_{j ≠ i} s_ju x[j→u],   score_i = sum_u s_iu y[u→i]

s is ±1; for K classes it is a vector, 1 for the label and -1/(K-1) for the rest, and one y serves all classes.
Karger, Oh & Shah (2014), Budget-optimal task allocation for reliable crowdsourcing systems, Operations Research
62(1), doi:10.1287/opre.2013.1235. Order-optimal on sparse regular graphs. Fails on graphs of uneven degree: one
spammer with very many labels takes over (rte: .50); belief_propagation does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative
from ...kinds.classes.annotations import Annotations
from ...maths.logspace import normalise_rows, segment_sum
from ...maths.messages import Edges
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from .rank_one import natural_scale, sign_of

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class KOS(Aggregator):
    """`max_iter` rounds (10 is usual) from messages y ~ N(1, 1) drawn with `seed`; gold tasks send their truth.

    All rounds are run; they have settled where the last one moved the messages by at most `tol` of their size.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> KOS().fit(votes).posterior.shape
    (1, 2)
    """

    name: ClassVar[str] = "kos"
    max_iter: Count = 10
    tol: NonNegative = 1e-3

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Rounds of messages, then one vote in which every label weighs what its worker told its task."""
        k, edges = annotations.n_classes, Edges.of(annotations)
        if k == 1:
            return Solution(np.ones((annotations.n_tasks, 1)), np.ones(1))
        vote = edges.pattern[edges.kind]  # edge, class
        sign = (k * vote - vote.sum(axis=1, keepdims=True)) / (k - 1)
        y = 1 + np.random.default_rng(self.seed).standard_normal(len(edges.task))
        weight, moved, rounds = np.ones(annotations.n_workers), np.inf, 0
        for rounds in range(1, self.max_iter + 1):  # noqa: B007
            x = _others(sign * y[:, None], edges.task, edges.task_offsets)
            if gold is not None:
                sure = gold.label[edges.task] < k
                x[sure] = (k * np.eye(k)[gold.label[edges.task[sure]]] - 1) * float(np.sqrt((y**2).mean()))
            heard = (sign * x).sum(axis=1)
            total = np.bincount(edges.worker, weights=heard, minlength=annotations.n_workers)
            new = total[edges.worker] - heard
            size = float(np.sqrt((new**2).mean())) if len(new) else 0.0
            if size == 0:  # no worker has two tasks that others labelled too: nothing to learn
                y, weight, moved = np.ones(len(y)), np.ones(annotations.n_workers), 0.0
                break
            # Messages have a direction and no sign: a round that only turns them round has moved nothing.
            moved = min(float(np.sqrt(((new / size - turn * y) ** 2).mean())) for turn in (1, -1))
            y, weight = new / size, total / size
        found = self._solution(annotations, gold, edges, vote, y, weight)
        return replace(found, n_iter=rounds, converged=moved <= self.tol)

    def _solution(
        self, annotations: Annotations, gold: Gold | None, edges: Edges, vote: F8, y: F8, weight: F8
    ) -> Solution:
        score = segment_sum(vote * y[:, None], edges.task_offsets)
        sign = sign_of(annotations, score)
        score, weight = sign * score, sign * weight
        scale = natural_scale(annotations, weight, score, gold)
        posterior = normalise_rows(scale * score)[0]
        if gold is not None:
            posterior = gold.clamp(posterior)
        return Solution(posterior, posterior.mean(axis=0), extra={"vote_weight": weight, "vote_scale": scale})


def _others(rows: F8, task: npt.NDArray[np.int64], task_offsets: npt.NDArray[np.int64]) -> F8:
    return segment_sum(rows, task_offsets)[task] - rows
