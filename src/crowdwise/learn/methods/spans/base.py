"""What methods for tags of tokens share: which token a label is of, what labels tell of it, where matrices begin."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from ....aggregate.confusion.hierarchical import Hierarchical
from ....core.errors import CrowdwiseWarning
from ...direct import AnswerMethod
from ...feeding.batch import CrowdBatch
from ...feeding.crowd import Crowd
from ...method import Output
from ...simplex import diagonal_matrix, rows_to_one
from ...spans.crowd import SequenceCrowd
from ...tables import annotations_of


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

    def confusion(self) -> Tensor | None:
        """Confusion matrices worker, true, observed, where the method has them."""
        return None

    def forecast(self, out: Output, batch: CrowdBatch) -> Tensor:
        """log p(tag | x, labels): tokens, tags; without confusions the net's own.

        A worker unseen in training, or of a code beyond the training's, is the crowd's mean worker.
        """
        own = self.confusion()
        if own is None:
            return out.log_proba
        heard = self.heard.to(own)
        share = heard / heard.sum().clamp_min(1e-12)
        mean = (share[:, :, None] * own).sum(0, keepdim=True) if bool(heard.sum() > 0) else own.mean(0, keepdim=True)
        every = torch.cat([torch.where(heard[:, :, None] > 0, own, mean), mean]).clamp_min(1e-12).log()
        said = every[batch.worker.clamp_max(self.n_workers), :, batch.label[:, 1]] * batch.weight[:, None]
        return torch.log_softmax(out.log_proba.index_add(0, self.token_of(batch), said.to(out.log_proba)), dim=1)


def prior_matrix(k: int, right: float) -> Tensor:
    """What is expected of a worker before they speak: `right` of their tags are, the others are all alike."""
    return diagonal_matrix(k, right + (1 - right) / k, (1 - right) / k)


def starting_confusions(crowd: SequenceCrowd, strength: float, right: float) -> Tensor:
    """Confusions by what the labels alone say of the tokens (`hierarchical`), with `strength` labels of every tag
    as expected: worker, true, observed."""
    k = crowd.n_states
    expected = strength * prior_matrix(k, right) + 1e-2
    if not len(crowd):  # a shape: the weights come from a file
        return rows_to_one(expected.expand(crowd.n_workers, k, k))
    tokens = as_tokens(crowd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)  # it is a start, settled or not
        found = Hierarchical().fit(annotations_of(tokens))
    return rows_to_one(tokens.counts(torch.from_numpy(found.posterior.copy()).float()) + expected)


def as_tokens(crowd: SequenceCrowd) -> Crowd:
    """Every token that somebody labelled as a task of its own."""
    wide = int(crowd.label[:, 0].max()) + 1
    keys, task = torch.unique(crowd.task * wide + crowd.label[:, 0], return_inverse=True)
    order = torch.argsort(task, stable=True)
    offset = torch.searchsorted(task[order], torch.arange(len(keys) + 1))
    return Crowd(
        len(keys), crowd.n_workers, crowd.n_states, task[order], crowd.worker[order], crowd.label[order, 1],
        crowd.weight[order], offset,
    )  # fmt: skip
