"""CrowdData: features and labels; batches in an order that depends on the seed and the epoch only."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ...core.errors import DataError, ParameterError
from ...core.vocabulary import as_series
from ...core.votes import Votes
from ..probe import as_floats
from .batch import CrowdBatch
from .crowd import AnswerRows, Crowd
from .folder import FeatureFolder
from .inputs import Inputs, Rows, TableOfArrays, map_tree

CHECKED_AT_A_TIME = 1 << 22  # numbers


class CrowdData:
    """Features x (numpy, a tensor, a dict of arrays, a FeatureFolder, or any torch Dataset that yields x or (x, ...))
    and the Crowd that labelled their rows.

    With `Inputs` as x, batches in training and rows in order (`in_order`) may come from different sources.
    `balance=True`, for classes, weights tasks so that all classes, by the majority vote, have the same total weight.
    """

    def __init__(self, x: Any, crowd: AnswerRows, *, balance: bool = False) -> None:
        self.inputs = x if isinstance(x, Inputs) else Inputs(as_features(x))
        self.x, self.crowd = self.inputs.x, crowd
        n = len(self.x)
        if n != crowd.n_tasks:
            raise DataError(f"there are {n:,} rows of features for {crowd.n_tasks:,} tasks; one row per task is needed")
        self.task_weight = _balanced(cast("Crowd", crowd)) if balance else torch.ones(n)

    def __len__(self) -> int:
        return self.crowd.n_tasks

    def batches(
        self, size: int, *, seed: int = 0, epoch: int = 0, rank: int = 0, world: int = 1, skip: int = 0
    ) -> Iterator[CrowdBatch]:
        """Shuffled batches of labelled tasks; of each batch this process takes every `world`-th task."""
        tasks = self.crowd.labelled.nonzero().squeeze(1).numpy()
        rng = np.random.default_rng([seed, epoch])
        order = torch.from_numpy(
            self.x.shuffled(tasks, rng) if isinstance(self.x, FeatureFolder) else rng.permutation(tasks)
        )
        last = self.steps(size) - 1
        groups = [order[step * size : None if step == last else (step + 1) * size] for step in range(skip, last + 1)]
        own = [group[rank::world] for group in groups]
        inputs = self.read(own, seed=hash((seed, epoch)) % 2**63)
        for group, x in zip(groups, inputs, strict=True):
            yield self._batch(group, x, rank, world)

    def steps(self, size: int) -> int:
        """Number of batches in an epoch. A single remaining task joins the last batch, because batch norm needs two."""
        if size < 1:
            raise ParameterError(f"batch_size must be at least 1, got {size}")
        full, remainder = divmod(int(self.crowd.labelled.sum()), size)
        return full + (remainder > 1 or (remainder == 1 and not full))

    def in_order(self, size: int, first: int = 0, last: int | None = None) -> Iterator[CrowdBatch]:
        """All tasks (or first .. last - 1), labelled or not, in their order."""
        end = len(self) if last is None else last
        groups = [torch.arange(lo, min(lo + size, end)) for lo in range(first, end, size)]
        for group, x in zip(groups, self.read(groups, clean=True), strict=True):
            yield self._batch(group, x)

    def batch(self, tasks: Tensor, *, rank: int = 0, world: int = 1) -> CrowdBatch:
        """The batch of these tasks, or this process's part of it."""
        return self._batch(tasks, self.take(tasks[rank::world]), rank, world)

    def _batch(self, tasks: Tensor, x: Any, rank: int = 0, world: int = 1) -> CrowdBatch:
        crowd, own_tasks = self.crowd, tasks[rank::world]
        places, row = crowd.rows_of(own_tasks)
        weight, task_weight = crowd.weight.index_select(0, places), self.task_weight.index_select(0, own_tasks)
        if world == 1:
            label_total, task_total = (weight * task_weight.index_select(0, row)).sum(), task_weight.sum()
        else:  # totals are those of the whole batch
            all_rows, _ = crowd.rows_of(tasks)
            label_total = (crowd.weight[all_rows] * self.task_weight[crowd.task[all_rows]]).sum()
            task_total = self.task_weight[tasks].sum()
        return CrowdBatch(
            x=map_tree(as_floats, x),
            task=own_tasks,
            row=row,
            worker=crowd.worker.index_select(0, places),
            label=crowd.label.index_select(0, places),
            weight=weight,
            place=places,
            task_weight=task_weight,
            label_total=label_total.clamp_min(1e-12),  # a batch of tasks without labels has nothing to average
            task_total=task_total,
            share=len(own_tasks) / max(len(tasks), 1),
        )

    def row_shape(self) -> tuple[int, ...]:
        """The shape of one input of the net; empty where it is not one array."""
        row = self.take(torch.arange(min(len(self.x), 1)))
        return tuple(row.shape[1:]) if isinstance(row, Tensor) else ()

    def take(self, rows: Tensor) -> Any:
        """Features of these tasks; bytes of images stay bytes until they are needed."""
        return map_tree(as_floats, self.inputs.take(rows))

    def read(self, groups: list[Tensor], *, clean: bool = False, seed: int = 0) -> Iterator[Any]:
        """The features of each of these groups of tasks; `clean` ones for evaluation."""
        return self.inputs.batches(groups, clean=clean, seed=seed)


class FeatureError(DataError, ValueError):
    """Unusable features, or labels in a matrix; a ValueError too, as scikit-learn expects."""


def as_features(x: Any) -> Tensor | Dataset[Any]:
    """Features as a tensor of numbers, or the Dataset itself; NaN and infinity are refused."""
    if isinstance(x, Dataset):
        return x
    if isinstance(x, str | Path):
        return FeatureFolder(x)
    if isinstance(x, Mapping) and not hasattr(x, "tocsr"):
        return TableOfArrays(x)
    by_number = hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, list | tuple)
    if by_number and not any(hasattr(x, name) for name in ("__array__", "to_numpy", "tocsr", "shape")):
        return Rows(x)
    if isinstance(x, Tensor):
        return _checked(x)
    if hasattr(x, "tocsr"):
        raise FeatureError("sparse features are not supported; give x.toarray()")
    array = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)  # a frame of pandas or polars
    if array.dtype.kind == "c":
        raise FeatureError("Complex data not supported: features must be real numbers")
    if array.dtype.kind == "O":  # numbers of several kinds, or anything
        try:
            array = array.astype(np.float32)
        except ValueError as error:
            raise FeatureError(f"features must be numbers ({error}); encode text or categories first") from None
    if array.dtype.kind not in "fiub":
        raise FeatureError(f"features must be numbers, got {array.dtype}; encode text or categories first")
    return _checked(_shared(array))


def row_names(x: Any, tasks: Any) -> Any:
    """The names of the rows of the features: those given, or those of a folder of features."""
    return x.tasks if tasks is None and isinstance(x, FeatureFolder) else tasks


def task_names(votes: Votes[Any] | None, tasks: Any, n: int) -> pl.Series:
    """The names of the n rows of the features: `tasks`, or those of the votes, or numbers for a wide matrix (None)."""
    if votes is None:
        names = pl.Series("task", np.arange(n) if tasks is None else tasks)
    else:
        names = votes.tasks if tasks is None else as_series(tasks, "task")
    if len(names) == n:
        return names
    if tasks is None:
        raise DataError(
            f"there are {n:,} rows of features for {len(names):,} tasks; pass the names of the rows as tasks="
        )
    raise DataError(f"tasks= names {len(names):,} tasks, X has {n:,} rows")


def _shared(array: np.ndarray[Any, Any]) -> Tensor:
    """The array as a tensor on the same memory where torch can, so that a memory-mapped file stays on disk."""
    if array.dtype.itemsize > 8 or not array.dtype.isnative or any(step < 0 for step in array.strides):
        array = np.ascontiguousarray(
            array, dtype=np.float32 if array.dtype.kind == "f" else array.dtype.newbyteorder("=")
        )
    with warnings.catch_warnings():  # torch warns of read-only memory; features are only read
        warnings.filterwarnings("ignore", message=".*not writable", category=UserWarning)
        return torch.from_numpy(array)


def _checked(x: Tensor) -> Tensor:
    if x.dim() < 2:
        raise FeatureError(f"features must have a row per task, got shape {tuple(x.shape)}. Reshape your data")
    if x[:1].numel() == 0 and len(x):
        raise FeatureError(f"0 feature(s) (shape={tuple(x.shape)}) while a minimum of 1 is required.")
    if x.is_floating_point() and len(x):
        # In single precision, as the net gets them, and in parts, because x may be larger than memory.
        rows = max(1, CHECKED_AT_A_TIME // max(1, x[0].numel()))
        bad = torch.cat([~torch.isfinite(part.float().flatten(1)).all(1) for part in torch.split(x, rows)])
        if bad.any():
            row = int(bad.nonzero()[0])
            raise FeatureError(
                f"{int(bad.sum())} rows of features hold NaN or infinity, the first is row {row}; fix them"
            )
    return x


def _balanced(crowd: Crowd) -> Tensor:
    """Weight of each task: inverse to the frequency of its classes among the votes, mean one over labelled tasks."""
    shares = crowd.soft_majority
    common = shares[crowd.labelled].mean(0).clamp_min(1e-6)
    weight = shares @ (1.0 / common)
    return torch.as_tensor(weight / weight[crowd.labelled].mean().clamp_min(1e-12))
