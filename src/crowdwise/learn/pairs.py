"""Training on answers to pairs of items: their crowd, data, worker parameters, and the base class of estimators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid
from torch.utils.data import Dataset

from ..core.arrays import I8
from ..core.errors import DataError
from ..core.vocabulary import as_series, quote
from ..core.votes import Votes
from .data.batch import CrowdBatch
from .data.crowd import AnswerRows, feature_rows
from .data.dataset import CrowdData, FeatureError, as_features
from .data.inputs import Inputs
from .fitting import CrowdEstimator
from .tables import WorkerTable
from .training.sweep import sweep_answers


@dataclass(frozen=True, eq=False)
class PairAnswers(AnswerRows):
    """Answers to `n_tasks` pairs[task, 2] of items, sorted by task: task, worker, label, weight.

    `per_item` is the net's number of outputs for one item; those of the first item precede those of the second.
    """

    n_tasks: int
    n_workers: int
    per_item: int
    pairs: Tensor
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    @property
    def n_outputs(self) -> int:
        """Outputs for both items."""
        return 2 * self.per_item

    @classmethod
    def of(
        cls,
        left: I8,
        right: I8,
        worker: I8,
        label: I8,
        weight: Any,
        *,
        n_workers: int,
        per_item: int,
        swapped_label: I8,
    ) -> Self:
        """The answers with each pair of items as one task, the lower code first.

        swapped_label[label] is the same answer to the pair in the other order.
        """
        low, high = np.minimum(left, right), np.maximum(left, right)
        label = np.where(left > right, swapped_label[label], label)
        wide = int(high.max(initial=0)) + 1
        keys, task = np.unique(low * wide + high, return_inverse=True)
        order = np.argsort(task, kind="stable")
        weights = np.ones(len(task)) if weight is None else np.asarray(weight, dtype=np.float64)
        pair_task, pair_worker, pair_label = (
            torch.from_numpy(np.ascontiguousarray(column[order])) for column in (task, worker, label)
        )
        pairs = torch.from_numpy(np.stack([keys // wide, keys % wide], axis=1))
        offset = torch.from_numpy(np.searchsorted(task[order], np.arange(len(keys) + 1)))
        pair_weight = torch.from_numpy(weights[order].astype(np.float32))
        return cls(len(keys), n_workers, per_item, pairs, pair_task, pair_worker, pair_label, pair_weight, offset)

    @classmethod
    def shape(cls, n_workers: int, per_item: int, n_items: int = 0) -> Self:
        """A crowd without answers; its pairs are the items in order, two at a time, the last one twice if odd."""
        n = (n_items + 1) // 2
        pairs = torch.arange(2 * n).clamp_max(max(n_items - 1, 0)).view(n, 2)
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n + 1, dtype=torch.int64)
        return cls(n, n_workers, per_item, pairs, none, none, none, torch.empty(0), offset)


class PairData(CrowdData):
    """x[item, ...] and the answers to pairs of its rows: a batch holds x[pair, 2, ...]."""

    crowd: PairAnswers

    def __init__(self, x: Tensor, crowd: PairAnswers) -> None:
        self.x, self.crowd = x, crowd
        self.task_weight = torch.ones(crowd.n_tasks)
        self._items = ItemData(x)

    def row_shape(self) -> tuple[int, ...]:
        """The shape of one item."""
        return self._items.row_shape()

    def take(self, rows: Tensor) -> Tensor:
        """Both items of these pairs."""
        features: Tensor = self._items.take(self.crowd.pairs[rows].flatten())
        return features.view(-1, 2, *features.shape[1:])

    def read(self, groups: list[Tensor], *, clean: bool = False, seed: int = 0) -> Iterator[Tensor]:  # noqa: ARG002
        """Both items of each group of pairs."""
        return map(self.take, groups)


class ItemData(CrowdData):
    """The items alone."""

    def __init__(self, x: Tensor | Dataset[Any]) -> None:
        self.x, self.inputs = x, Inputs(x)


class Pairwise(nn.Module):
    """A net of single items, applied to both of a pair: x[B, 2, ...] to B, 2 · outputs."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """The outputs for the first item, then those for the second."""
        outputs: Tensor = self.net(x.flatten(0, 1))
        return outputs.reshape(len(x), -1)


def item_rows(names: Any, items: pl.Series, n: int) -> tuple[pl.Series, I8]:
    """The names of the rows of the features, and the row of each item of the votes."""
    row_names = items if names is None else as_series(names, "item")
    if len(row_names) != n:
        hint = "; say with items= which row is which" if names is None else ""
        raise DataError(f"there are {n:,} rows of features for {len(row_names):,} items{hint}")
    if names is None:
        return row_names, np.arange(n)
    rows, has_features = feature_rows(row_names, items, "item")
    if not has_features.all():
        missing = items.filter(pl.Series(~has_features))
        raise DataError(f"{len(missing):,} of {len(items):,} items have no features: {quote(missing)}; give each a row")
    return row_names, rows


def item_features(x: Any) -> Tensor:
    """Features of items as a tensor."""
    features = as_features(x)
    if not isinstance(features, Tensor):
        raise FeatureError("features of items must be an array or a tensor; a Dataset has no rows to pair")
    return features


class PairEstimator(CrowdEstimator):
    """Base class of estimators that train a net of single items on answers to pairs of them."""

    @property
    def items_(self) -> pl.Series:
        """The items of the rows of the features."""
        return self.tasks_

    def _train_on_pairs(
        self, votes: Votes[Any], x: Tensor, items: Any, label: npt.NDArray[Any], swapped_label: list[int]
    ) -> I8:
        """Train on the label of each vote and return the row of the features of each item of the votes."""
        answers: Any = votes.answers
        self.tasks_, row = item_rows(items, answers.items, len(x))
        crowd = PairAnswers.of(
            row[answers.left], row[answers.right], votes.worker.astype(np.int64), label.astype(np.int64), votes.weight,
            n_workers=votes.n_workers, per_item=self._n_outputs(), swapped_label=np.array(swapped_label),
        )  # fmt: skip
        self.workers_ = votes.workers
        self._train(x, crowd)
        return row

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return PairData(x, crowd)

    def rebuild_net(self) -> nn.Module:
        """A new net of one item, wrapped so that it is applied to both items of a pair."""
        return Pairwise(super().rebuild_net())

    def _checked_features(self, X: Any) -> Tensor:
        """Features for prediction."""
        self._refuse_unfitted()
        x = item_features(X)
        self._refuse_other_shape(tuple(x.shape[1:]))
        return x

    def _item_outputs(self, x: Tensor) -> Tensor:
        """The method's answer for each item: item, output."""
        data = PairData(x, self._shape_of_crowd(len(x)))
        return sweep_answers(self.model_, data, self._device()).cpu().view(-1, self._n_outputs())[: len(x)]

    def _shape_of_crowd(self, n_items: int = 0) -> PairAnswers:
        return PairAnswers.shape(len(self.workers_), self._n_outputs(), n_items)


# ----------------------------------------------------------------
# Probabilities of workers as logits with a Beta prior.


class LogitTable(WorkerTable):
    """logit[worker, ...] of a worker's probabilities, from `start`, with a Beta(right, wrong) prior on each.

    The prior is the density of the logit, whose mode is never at 0 or 1.
    """

    def __init__(self, n: int, parts: int, start: float, right: float, wrong: float) -> None:
        start = min(start, 1 - 1e-6)
        super().__init__(torch.full((n, parts), math.log(start / (1 - start))))
        self.right, self.wrong = right, wrong

    def prior(self, logit: Tensor) -> Tensor:
        """Log density of logit[A, parts], summed over parts: A."""
        return (self.right * logsigmoid(logit) + self.wrong * logsigmoid(-logit)).sum(1)

    def prior_loss(self, batch: CrowdBatch, label_weight: Tensor) -> Tensor:
        """The prior's term of the loss, divided among the answers of a worker, so that an epoch contains it once."""
        logit = self.rows(batch.worker)
        share = label_weight[:, 0].index_select(0, batch.worker).clamp_min(1e-12)
        return -batch.mean_over_labels(self.prior(logit) / share)


def loss_terms(log_likelihood: Tensor, table: LogitTable, batch: CrowdBatch, label_weight: Tensor) -> dict[str, Tensor]:
    """The terms of the loss of a method with such a table: the likelihood of the answers, and the prior."""
    return {
        "likelihood": -batch.mean_over_labels(log_likelihood),
        "prior": table.prior_loss(batch, label_weight),
    }


def log_mixture(logit: Tensor, straight: Tensor, swapped: Tensor) -> Tensor:
    """log(p e^straight + (1 - p) e^swapped) with p = sigmoid(logit)."""
    return torch.logaddexp(logsigmoid(logit) + straight, logsigmoid(-logit) + swapped)
