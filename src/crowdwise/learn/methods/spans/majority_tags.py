"""The baseline for tags of tokens: the net alone, on each token's majority.

minimise  mean over labelled tokens of the cross-entropy to the tag that leads, tags that lead together sharing
"""

from __future__ import annotations

from torch import Tensor

from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from .base import TagMethod


class MajorityTags(TagMethod):
    """The net alone, trained on the tag that leads among each token's labels."""

    name = "majority_tags"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """As if everybody were right."""
        return out.log_proba.index_select(0, self.token_of(batch)).gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Every labelled token counts once."""
        token, k = self.token_of(batch), self.n_outputs
        votes = batch.weight.new_zeros(len(out.logits) * k).index_add(0, token * k + batch.label[:, 1], batch.weight)
        votes = votes.view(-1, k)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        likely = (lead * out.log_proba).sum(1) / lead.sum(1).clamp_min(1e-12)
        many = votes.sum(1).clamp_min(1e-12)
        return {"cross_entropy": -batch.mean_over_labels((likely / many).index_select(0, token))}
