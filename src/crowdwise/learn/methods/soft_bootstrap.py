"""Soft bootstrapping: the target is mostly the votes and a little what the net itself believes.

    minimise  -sum_k (beta y_k + (1 - beta) f_k(x)) log f_k(x),   y the shares of the votes

A net that is sure may overrule a label: good against scattered errors, helpless against systematic ones, and it knows
nothing of workers. Reed et al. 2015, arXiv:1412.6596; a baseline of Tanno et al. 2019, arXiv:1902.03680.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from ...core.params import Share
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..targets import vote_targets


class SoftBootstrap(CrowdMethod):
    """`beta` is the votes' part of the target, in 0..1; `targets` as in vanilla ("soft" shares or "hard" majority).

    The paper lets gradients flow through the net's own part of the target, which adds a pull to low entropy;
    `detach=True` stops them there.
    """

    name = "soft_bootstrap"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)

    def __init__(
        self, crowd: Crowd, *, beta: Share = 0.95, detach: bool = False, targets: Literal["soft", "hard"] = "soft"
    ) -> None:
        super().__init__(crowd)
        self.beta, self.detach = beta, detach
        self.targets: Literal["soft", "hard"] = targets

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the votes, and to the net itself."""
        own = out.log_proba.exp()
        own = own.detach() if self.detach else own
        votes = vote_targets(batch, self.n_classes, self.targets)
        return {
            "cross_entropy": -self.beta * batch.mean_over_tasks((votes * out.log_proba).sum(1)),
            "bootstrap": -(1 - self.beta) * batch.mean_over_tasks((own * out.log_proba).sum(1)),
        }
