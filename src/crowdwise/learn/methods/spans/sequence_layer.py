"""Crowd Layer for sequences: one matrix for every worker on the net's probabilities, the same at every token.

    p(label of worker w at token t) = softmax(W_wᵀ f(x_t))
    minimise  mean over labels of -log p(label)

The paper begins at the identity. The softmax of probabilities is then nearly flat (.40 on the right one of five tags),
so little holds a tag to its place, and where workers swap two tags net and matrices may swap them too. By default W
begins at the logs of what the labels alone say of the workers, as in `sequence_confusion`.
Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.2 and 5.3.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ....core.params import NonNegative, Positive, Share
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...spans.crowd import SequenceCrowd
from ...tables import WorkerTable
from .base import TagMethod, starting_confusions


class SequenceLayer(TagMethod):
    """`start="labels"` begins at log confusions (`strength`, `right`: see sequence_confusion), "eye" at `scale` ×
    identity, as the paper does."""

    name = "sequence_layer"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def __init__(
        self,
        crowd: SequenceCrowd,
        *,
        start: Literal["labels", "eye"] = "labels",
        strength: NonNegative = 20.0,
        right: Share = 0.8,
        scale: Positive = 1.0,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        k = crowd.n_states
        eye = (scale * torch.eye(k)).expand(crowd.n_workers, k, k)
        begin = eye if start == "eye" else starting_confusions(crowd, strength, right).log()
        self.table = WorkerTable(begin, sparse=sparse)

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

    def confusion(self) -> Tensor:
        """Derived confusions: the layer's answer to a net that is sure of a tag."""
        return torch.softmax(self.table.all(), dim=2)
