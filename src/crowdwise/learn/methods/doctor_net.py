"""Doctor Net: a head per worker on shared features, each trained on its worker's labels; their mean decides.

    p_w(x) = softmax(V phi(x) + V_w phi(x)),   cross-entropy of p_w(x_i) to y_iw,   p(x) = mean_w p_w(x)

V is the net's own last layer, which all heads share, and V_w what worker w does differently, at first nothing: the same
family as free heads, but a worker with few labels stays near the others. Every worker learns to be predicted, not to be
corrected: a crowd that is wrong on average stays wrong (case 2 of Max-MIG's experiments).
Guan, Gulshan, Dai & Hinton 2018, Who said what, arXiv:1703.08774.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..nets.heads import WorkerHeads

# Tasks × workers × classes that are in memory at once when all heads speak.
CHUNK = 2_000_000


class DoctorNet(CrowdMethod):
    """Heads on what the net's last linear layer sees; a step touches only the heads of the batch's workers."""

    name = "doctor_net"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    needs_features = True

    def __init__(self, crowd: Crowd, *, n_features: int, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        m, k = crowd.n_workers, crowd.n_classes
        self.heads = WorkerHeads(torch.zeros(m, k, n_features), torch.zeros(m, k), sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of each head to its worker's labels."""
        own = self.heads(_features(out), batch)
        log_p = torch.log_softmax(out.logits.index_select(0, batch.row) + own, dim=1)
        said = log_p.gather(1, batch.label[:, None]).squeeze(1)
        return {"cross_entropy": -batch.mean_over_labels(said)}

    def shares(self) -> Tensor:
        """Weight of every head in the mean: equal among the workers who labelled something."""
        heard = (self.heard.sum(1) > 0).to(self.heard)
        heard = heard if bool(heard.any()) else torch.ones_like(heard)
        return heard / heard.sum()

    def speak(self, out: Output, workers: Tensor) -> Tensor:
        """What the heads of these workers say: B, worker, K."""
        weight, bias = self.heads.weight.rows(workers), self.heads.bias.rows(workers)
        own = torch.einsum("wkd,bd->bwk", weight, _features(out)) + bias
        return torch.softmax(out.logits[:, None] + own, dim=2)

    def classify(self, out: Output) -> Tensor:
        """log of the heads' weighted mean, a chunk of heads at a time."""
        share = self.shares()
        speakers = share.nonzero().squeeze(1)
        width = max(1, CHUNK // max(1, out.logits.numel()))
        total = torch.zeros_like(out.logits)
        for part in torch.split(speakers, width):
            total = total + torch.einsum("w,bwk->bk", share[part].to(total), self.speak(out, part))
        return total.clamp_min(1e-12).log()

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:  # noqa: ARG002
        """Heads predict workers, not workers given the truth: no forecaster."""
        return None


def _features(out: Output) -> Tensor:
    if out.features is None:
        raise ValueError("the net's features were not tapped; wrap net and method in a CrowdModel")
    return out.features
