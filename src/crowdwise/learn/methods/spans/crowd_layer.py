"""Crowd Layer for sequences: one matrix for every worker on the net's probabilities, the same at every token.

    p(label of worker w at token t) = softmax(W_wᵀ f(x_t)),   W_w from the identity
    minimise  mean over labels of -log p(label)

Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.2 and 5.3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....core.params import Positive
from ...direct import AnswerMethod
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...spans.crowd import SequenceCrowd
from ...tables import WorkerTable


class TagMethod(AnswerMethod):
    """A method for tags of tokens; `out` holds the tokens of all sentences of the batch, one after the other."""

    def wanted(self) -> str:
        """One output a tag."""
        return f"there are {self.n_outputs} tags (outside, and begin and inside of each)"

    def answer(self, out: Output) -> Tensor:
        """log p(tag | x): tokens, tags."""
        return out.log_proba

    def token_of(self, batch: CrowdBatch) -> Tensor:
        """For each label its token among those of the batch."""
        count = (batch.x[..., -1] > 0).sum(1)
        return (torch.cumsum(count, 0) - count).index_select(0, batch.row) + batch.label[:, 0]


class SequenceLayer(TagMethod):
    """Matrices begin at `scale` × identity."""

    name = "crowd_layer"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def __init__(self, crowd: SequenceCrowd, *, scale: Positive = 1.0, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        k = crowd.n_states
        self.table = WorkerTable((scale * torch.eye(k)).expand(crowd.n_workers, k, k), sparse=sparse)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Through the worker's matrix."""
        found, inverse = batch.present
        proba = out.log_proba.exp().index_select(0, self.token_of(batch))
        matrix = self.table.rows(found).index_select(0, inverse)
        scores = torch.log_softmax(torch.einsum("ak,akl->al", proba, matrix), dim=1)
        return scores.gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels; tokens without labels and padding are not among them."""
        return {"cross_entropy": -batch.mean_over_labels(self.said(out, batch))}


class MajorityTags(TagMethod):
    """The baseline: the net alone, trained on the tag that leads among each token's labels."""

    name = "majority"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """As if everybody were right."""
        return out.log_proba.index_select(0, self.token_of(batch)).gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the leading tag, tags that lead together sharing; every labelled token counts once."""
        token, k = self.token_of(batch), self.n_outputs
        votes = batch.weight.new_zeros(len(out.logits) * k).index_add(0, token * k + batch.label[:, 1], batch.weight)
        votes = votes.view(-1, k)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        likely = (lead * out.log_proba).sum(1) / lead.sum(1).clamp_min(1e-12)
        many = votes.sum(1).clamp_min(1e-12)
        return {"cross_entropy": -batch.mean_over_labels((likely / many).index_select(0, token))}
