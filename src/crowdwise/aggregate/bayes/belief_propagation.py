"""Belief propagation: integrate the workers' confusion matrices out instead of estimating them.

    p(z | y) ∝ prod_i h_i(z_i) prod_u ∫ p(theta) prod_{i of u} theta[z_i, y_iu] dtheta

Messages between tasks and workers (maths/messages.py); exact on graphs without loops and the best known answer on
sparse random graphs when the prior is right. Liu, Peng & Ihler (2012), Variational inference for crowdsourcing,
NeurIPS 25; Ok, Oh, Shin & Yi (2016), Optimality of belief propagation for crowdsourced classification, ICML.
Fails with a prior far from the crowd's and, as all loopy propagation, may oscillate on dense graphs (`damping`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...core.params import Count, NonNegative, Positive, PositiveShare
from ...core.rules import Between
from ...kinds.classes.annotations import Annotations
from ...maths import nodes as priors
from ...maths.messages import Beliefs, Edges, Nodes, propagate
from ..base import Aggregator, Run, Solution
from ..gold import Gold

F8 = npt.NDArray[np.float64]
Damping = Annotated[float, Between(0, 0.99)]
Prior = Literal["one_coin", "two_coin", "dirichlet", "hammer_spammer"]

# Beyond these, more quadrature nodes change nothing that anybody could see.
MAX_NODES = {"one_coin": 100, "two_coin": 16}
# log h of a class that gold rules out.
NEVER = -1e4


@dataclass(frozen=True, kw_only=True)
class BeliefPropagation(Aggregator):
    """`prior`: "one_coin" (accuracy ~ Beta(prior_right, prior_wrong)), "two_coin" (one such accuracy per class, two
    classes only), "dirichlet" (rows ~ Dir with `prior_right` on the diagonal and `prior_wrong` elsewhere, by
    `n_samples` draws) or "hammer_spammer" (hammers, right with `hammer_accuracy`, in the odds prior_right :
    prior_wrong). `n_nodes` per accuracy (default: as many as make the integrals exact, at most 100, two-coin 16).
    `damping` in [0, 1) calms oscillation; `learn_class_prior` fits class frequencies by an outer EM.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> BeliefPropagation().fit(votes).posterior.round(3)
    array([[0.667, 0.333]])
    """

    name: ClassVar[str] = "belief_propagation"
    prior: Prior = "one_coin"
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    hammer_accuracy: PositiveShare = 0.95
    n_nodes: Count | None = None
    n_samples: Count = 400
    max_iter: Count = 100
    tol: NonNegative = 1e-3
    damping: Damping = 0.0
    learn_class_prior: bool = False

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Propagate until the messages settle; with a learnt class prior, until that settles too."""
        k = annotations.n_classes
        edges, nodes = Edges.of(annotations), self.nodes(annotations)
        class_prior, start, left = np.full(k, 1 / k), None, self.max_iter
        while True:
            unary = np.tile(np.log(np.maximum(class_prior, 1e-12)), (annotations.n_tasks, 1))
            if gold is not None:
                unary[gold.known] = np.where(np.eye(k)[gold.label[gold.known]] > 0, 0.0, NEVER)
            found = propagate(
                edges,
                nodes,
                unary,
                max_iter=left,
                tol=self.tol,
                damping=self.damping,
                start=start,
                callback=run.callback,
            )
            left -= found.n_iter
            new = found.posterior.mean(axis=0)
            settled = not self.learn_class_prior or float(np.abs(new - class_prior).max()) < self.tol
            if settled or left < 1:
                return self._solution(found, nodes, class_prior, self.max_iter - left, settled)
            class_prior, start = new, found.message

    def nodes(self, annotations: Annotations) -> Nodes:
        """The prior in the form that the messages want."""
        k, a, b = annotations.n_classes, self.prior_right, self.prior_wrong
        if self.prior == "hammer_spammer":
            return priors.hammer_spammer(a / (a + b), self.hammer_accuracy, k)
        if self.prior == "dirichlet":
            return priors.dirichlet(a, b, k, self.n_samples, np.random.default_rng(self.seed))
        weight = np.bincount(annotations.worker, weights=annotations.weight, minlength=1)
        # A worker's factor is a polynomial of the degree of their labels; n nodes integrate degree 2 n - 1 exactly.
        exact = int(np.ceil((weight.max() + 1) / 2))
        n = min(exact, MAX_NODES[self.prior]) if self.n_nodes is None else self.n_nodes
        if self.prior == "one_coin":
            return priors.one_coin(a, b, k, n)
        if k != 2:
            raise DataError(f"the two-coin prior is for two classes, these data have {k}; take prior='dirichlet'")
        return priors.two_coin(a, b, n)

    def _solution(self, found: Beliefs, nodes: Nodes, class_prior: F8, n_iter: int, settled: bool) -> Solution:
        # The expected confusion under the worker's belief: what a new task of theirs would be judged by.
        confusion = np.einsum("us,sto->uto", found.belief, nodes.theta)
        return Solution(
            found.posterior,
            class_prior,
            confusion=confusion / confusion.sum(axis=2, keepdims=True),
            n_iter=n_iter,
            converged=found.converged and settled,
        )
