"""Confusion matrices on a tagger: what a worker says of a token depends on its tag, the same at every token.

    p(label of worker w at token t) = sum_k f_k(x_t) A_w[k, label]
    minimise  mean over labels of -log p(label)  -  the log density of the matrices' Dirichlet priors

The matrices begin at what the labels alone say of the workers (`hierarchical` on single tokens), with `strength` labels
of every tag as a worker who is `right` would give them; the same pull stays on in training. From the identity, as in
`sequence_layer` with start="eye", nothing tells a tag from one that some workers swap it for, and net and matrices may
settle on the wrong one together; thin crowds need the pull, since there the labels alone may end up swapped too.
Rodrigues & Pereira 2018, arXiv:1709.01779, section 5.3, as probabilities.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....core.params import NonNegative, Share
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...spans.crowd import SequenceCrowd
from ...tables import ConfusionTable
from .base import TagMethod, prior_matrix, starting_confusions


class SequenceConfusion(TagMethod):
    """`strength` labels of every tag are expected of every worker before they speak, a share `right` of them right."""

    name = "sequence_confusion"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3, worker_lr=1e-2)
    expected: Tensor

    def __init__(
        self,
        crowd: SequenceCrowd,
        *,
        strength: NonNegative = 20.0,
        right: Share = 0.8,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.table = ConfusionTable(starting_confusions(crowd, strength, right).log(), form="softmax", sparse=sparse)
        self.register_buffer("expected", strength * prior_matrix(crowd.n_states, right), persistent=False)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Through the worker's matrix."""
        found, inverse = batch.present
        columns = self.table.log_of(found)[inverse, :, batch.label[:, 1]]
        return torch.logsumexp(out.log_proba.index_select(0, self.token_of(batch)) + columns, dim=1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The labels' likelihood and the matrices' prior, of which each label carries its share."""
        found, inverse = batch.present
        density = (self.expected * self.table.log_of(found)).sum((1, 2)).index_select(0, inverse)
        heard = self.heard[:, 0].index_select(0, batch.worker).clamp_min(1e-12)
        return {
            "likelihood": -batch.mean_over_labels(self.said(out, batch)),
            "prior": -batch.mean_over_labels(density / heard),
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()
