"""deepBP: belief propagation between tasks and workers, with the classifier as what is known of each task.

    h = clip(f(x), c),   q = BP(h, labels, prior)                      (algorithm 2; eq. 20 and 21)
    f minimises -sum_i sum_k q_i(k) log f_k(x_i)                       (eq. 23)

The workers' confusion matrices are integrated out, exactly for Beta priors, so that a wrong prior and workers who label
everything at random do little harm. Fails where many labels come from workers who are nothing like the prior
(one coin: errors spread evenly), and costs up to `max_iter` passes over all labels in every epoch.
Kim, Cho, Kim & Ok 2022, Robust deep learning from crowds with belief propagation, AISTATS.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ....aggregate.bayes.belief_propagation import BeliefPropagation, Damping, Prior
from ....core.params import Count, NonNegative, Positive, PositiveShare, Share, Whole
from ....maths.messages import Edges, Nodes, propagate
from ...em import EMMethod
from ...feeding.batch import CrowdBatch
from ...feeding.crowd import Crowd
from ...method import Defaults, Output
from ...simplex import clip_simplex, rows_to_one
from ...tables import annotations_of
from ...training.sweep import Sweep
from .deep_mf import check_clip


class DeepBP(EMMethod):
    """`prior`, `prior_right`, `prior_wrong`, `hammer_accuracy`, `n_nodes`, `n_samples`, `max_iter`, `tol`, `damping`:
    as the aggregator `belief_propagation` has them; `prior="dirichlet"` takes samples, the others are exact.

    `clip` bounds the classifier's say in the inference. `loss_on_clipped=True` also trains on the clipped output, as
    the authors' code does. Where the classifier is surer than `clip`, two classes then have no gradient at all; of more
    classes the others still have one, among themselves. The forecaster takes the workers' mean confusions under their
    beliefs; what propagation itself says of the training tasks is `target`.
    """

    name = "deep_bp"
    defaults = Defaults(epochs=200, batch_size=None, lr=1e-3)
    matrices: Tensor

    def __init__(
        self,
        crowd: Crowd,
        *,
        prior: Prior = "one_coin",
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        hammer_accuracy: PositiveShare = 0.95,
        n_nodes: Count | None = None,
        n_samples: Count = 400,
        max_iter: Count = 100,
        tol: NonNegative = 1e-3,
        damping: Damping = 0.0,
        clip: Share = 0.9,
        loss_on_clipped: bool = False,
        seed: Whole = 0,
    ) -> None:
        super().__init__(crowd)
        self.inference = BeliefPropagation(
            prior=prior, prior_right=prior_right, prior_wrong=prior_wrong, hammer_accuracy=hammer_accuracy,
            n_nodes=n_nodes, n_samples=n_samples, max_iter=max_iter, tol=tol, damping=damping, seed=seed,
        )  # fmt: skip
        self.clip, self.loss_on_clipped = check_clip(clip, crowd.n_classes), loss_on_clipped
        self.register_buffer("matrices", rows_to_one(crowd.counts(crowd.soft_majority) + 0.01))
        self._graph: tuple[Edges, Nodes] | None = None

    def begin_epoch(self, sweep: Sweep) -> None:
        """Propagate from uniform messages under the clipped classifier (line 3 of algorithm 2)."""
        if self._graph is None or sweep.epoch == 0:
            annotations = annotations_of(sweep.crowd.to("cpu"))
            self._graph = Edges.of(annotations), self.inference.nodes(annotations)
        edges, nodes = self._graph
        unary = clip_simplex(sweep.log_proba.double().exp(), self.clip).clamp_min(1e-12).log().cpu().numpy()
        how = self.inference
        found = propagate(edges, nodes, unary, max_iter=how.max_iter, tol=how.tol, damping=how.damping)
        self.target.copy_(torch.from_numpy(found.posterior))
        mean = np.einsum("us,sto->uto", found.belief, nodes.theta)
        self.matrices = rows_to_one(torch.from_numpy(mean).to(self.matrices))

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to what propagation says; the target carries no gradient."""
        return {"cross_entropy": self.cross_entropy(self._log_h(out) if self.loss_on_clipped else out.log_proba, batch)}

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Clipped classifier × mean confusions under the workers' beliefs, normalised."""
        log_confusion = self.matrices.index_select(0, batch.present[0]).log()
        return torch.softmax(self._log_h(out) + batch.evidence(log_confusion), dim=1)

    def confusion(self) -> Tensor:
        """Mean confusions under the workers' beliefs."""
        return self.matrices

    def _log_h(self, out: Output) -> Tensor:
        return clip_simplex(out.log_proba.exp(), self.clip).clamp_min(1e-12).log()
