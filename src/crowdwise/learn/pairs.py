"""PairCrowd: what was said of pairs of items, a task a pair, and PairData, which gives a net both items of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid
from torch.utils.data import Dataset

from ..core.errors import DataError
from ..core.vocabulary import as_series, lookup, quote
from .data.batch import CrowdBatch
from .data.crowd import Rows
from .data.dataset import CrowdData, FeatureError, as_features
from .tables import WorkerTable

I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairCrowd(Rows):
    """Answers to `n_tasks` pairs[task, 2] of items, sorted by task: task, worker, label, weight.

    `per_item` is what a net says of one item: so many numbers. It says them of both, one after the other.
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
        """What is said of both items."""
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
        """Rows of answers; each pair of items once, the lower code first. turned[label] is what a label means when
        its items change places."""
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
        """A crowd that has said nothing; its pairs go through all items, two at a time, the last one twice if odd."""
        n = (n_items + 1) // 2
        pairs = torch.arange(2 * n).clamp_max(max(n_items - 1, 0)).view(n, 2)
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n + 1, dtype=torch.int64)
        return cls(n, n_workers, per_item, pairs, none, none, none, torch.empty(0), offset)


class PairData(CrowdData):
    """x[item, ...] and the crowd that spoke of pairs of its rows: a batch holds x[pair, 2, ...]."""

    crowd: PairCrowd

    def __init__(self, x: Tensor, crowd: PairCrowd) -> None:
        self.x, self.crowd = x, crowd
        self.task_weight = torch.ones(crowd.n_tasks)
        self._items = ItemData(x)

    def row_shape(self) -> tuple[int, ...]:
        """The shape of one item."""
        return self._items.row_shape()

    def take(self, rows: Tensor) -> Tensor:
        """Both items of these pairs."""
        features = self._items.take(self.crowd.pairs[rows].flatten())
        return features.view(-1, 2, *features.shape[1:])


class ItemData(CrowdData):
    """The items alone."""

    def __init__(self, x: Tensor | Dataset[Any]) -> None:
        self.x = x


class Pairwise(nn.Module):
    """A net of single items, asked about both of a pair: x[B, 2, ...] to B, 2 · outputs."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """What the net says of the first item, then of the second."""
        outputs: Tensor = self.net(x.flatten(0, 1))
        return outputs.reshape(len(x), -1)


def item_rows(names: Any, items: pl.Series, n: int) -> tuple[pl.Series, I8]:
    """The names of the features' rows, and for each of the votes' items its row."""
    row_names = items if names is None else as_series(names, "item")
    if len(row_names) != n:
        hint = "; say with items= which row is which" if names is None else ""
        raise DataError(f"there are {n:,} rows of features for {len(row_names):,} items{hint}")
    if names is None:
        return row_names, np.arange(n)
    same = row_names if row_names.dtype == items.dtype else row_names.cast(items.dtype, strict=False)
    repeated = same.filter(same.is_duplicated())
    if len(repeated):
        raise DataError(f"the features have two rows for item {quote(repeated.unique(maintain_order=True))}")
    order = same.arg_sort()
    at, has_features = lookup(same.gather(order), items)
    if not has_features.all():
        missing = items.filter(pl.Series(~has_features))
        raise DataError(f"{len(missing):,} of {len(items):,} items have no features: {quote(missing)}; give each a row")
    return row_names, order.to_numpy().astype(np.int64)[at]


def item_features(x: Any) -> Tensor:
    """Features of items as a tensor."""
    features = as_features(x)
    if not isinstance(features, Tensor):
        raise FeatureError("features of items must be an array or a tensor; a Dataset has no rows to pair")
    return features


# ----------------------------------------------------------------
# Chances of workers as logits, with a Beta prior that every answer carries a share of.


class ChanceTable(WorkerTable):
    """logit[worker, ...] of a worker's chances, from `start`, with a Beta(right, wrong) prior on each.

    The prior is the density of the logit, whose mode is never at 0 or 1.
    """

    def __init__(self, n: int, parts: int, start: float, right: float, wrong: float) -> None:
        start = min(start, 1 - 1e-6)
        super().__init__(torch.full((n, parts), math.log(start / (1 - start))))
        self.right, self.wrong = right, wrong

    def prior(self, logit: Tensor) -> Tensor:
        """Log density of logit[A, parts], its parts added up: A."""
        return (self.right * logsigmoid(logit) + self.wrong * logsigmoid(-logit)).sum(1)

    def pull(self, batch: CrowdBatch, label_weight: Tensor) -> Tensor:
        """The prior's term of the loss: each answer carries its share of its worker's, so that an epoch has it once."""
        logit = self.rows(batch.worker)
        share = label_weight[:, 0].index_select(0, batch.worker).clamp_min(1e-12)
        return -batch.mean_over_labels(self.prior(logit) / share)


def terms(log_likelihood: Tensor, table: ChanceTable, batch: CrowdBatch, label_weight: Tensor) -> dict[str, Tensor]:
    """What every method with such a table minimises: the likelihood of what was said, log P[answer], and the prior."""
    return {"likelihood": -batch.mean_over_labels(log_likelihood), "prior": table.pull(batch, label_weight)}


def both_ways(chance: Tensor, straight: Tensor, swapped: Tensor) -> Tensor:
    """log(c e^ahead + (1 - c) e^turned) with c = sigmoid(chance)."""
    return torch.logaddexp(logsigmoid(chance) + straight, logsigmoid(-chance) + swapped)
