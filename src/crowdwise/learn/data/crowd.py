"""Crowd: the labels of the training tasks as tensors, in the order of the rows of the features."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from ...core.arrays import I8
from ...core.errors import DataError
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes

if TYPE_CHECKING:
    from ...kinds.classes.annotations import Annotations


class AnswerRows:
    """Base class of crowds of any kind of answers: rows of task, worker, label, weight, sorted by task.

    `label` has a row for every answer: the class's code, or numbers.
    """

    n_tasks: int
    n_workers: int
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    def __len__(self) -> int:
        return len(self.task)

    @property
    def n_outputs(self) -> int:
        """Number of outputs of the net for a task."""
        raise NotImplementedError

    @cached_property
    def labelled(self) -> Tensor:
        """Whether a task has any label."""
        return self.offset[1:] > self.offset[:-1]

    def rows_of(self, tasks: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of the labels of these tasks, and for each label the position of its task in `tasks`."""
        start = self.offset.index_select(0, tasks)
        count = self.offset.index_select(0, tasks + 1) - start
        row = torch.repeat_interleave(count)  # position i, count[i] times
        shift = start + count - torch.cumsum(count, 0)  # from a label's position in the output to its row
        return torch.arange(len(row)) + shift.index_select(0, row), row

    def keep(self, rows: Tensor) -> Self:
        """The same tasks and workers with only these labels (a mask over rows)."""
        counts = torch.bincount(self.task[rows], minlength=self.n_tasks)
        offset = torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(counts, 0)])
        selected: Self = replace(
            cast("Any", self), task=self.task[rows], worker=self.worker[rows], label=self.label[rows],
            weight=self.weight[rows], offset=offset,
        )  # fmt: skip
        return selected

    def to(self, device: torch.device | str) -> Self:
        """The same crowd on a device."""
        values = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        moved: dict[str, Any] = {name: v.to(device) if isinstance(v, Tensor) else v for name, v in values.items()}
        return type(self)(**moved)


@dataclass(frozen=True, eq=False)
class Crowd(AnswerRows):
    """Labels of `n_tasks` tasks as task, worker, label, weight, sorted by task; a task may have none.

    `offset[task] : offset[task + 1]` are the rows of a task. Without rows it is only a shape, which is enough to
    build a method whose weights come from a file.
    """

    n_tasks: int
    n_workers: int
    n_classes: int
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    @property
    def n_outputs(self) -> int:
        """One output per class."""
        return self.n_classes

    @classmethod
    def of(cls, annotations: Annotations, tasks: pl.Series | None = None) -> Crowd:
        """The annotations as tensors; `tasks` names the rows of the features, in their order."""
        order, n_tasks, task, worker, weight, offset = in_rows(annotations, tasks)
        label = torch.from_numpy(annotations.label[order].astype(np.int64))
        return cls(n_tasks, annotations.n_workers, annotations.n_classes, task, worker, label, weight, offset)

    @classmethod
    def shape(cls, n_workers: int, n_classes: int, n_tasks: int = 0) -> Crowd:
        """A crowd without labels."""
        none = torch.empty(0, dtype=torch.int64)
        offset = torch.zeros(n_tasks + 1, dtype=torch.int64)
        return cls(n_tasks, n_workers, n_classes, none, none, none, torch.empty(0), offset)

    def between(self, first: int, last: int) -> Crowd:
        """The labels of the tasks first .. last - 1, which are renumbered from 0."""
        lo, hi = int(self.offset[first]), int(self.offset[last])
        rows = (self.worker[lo:hi], self.label[lo:hi], self.weight[lo:hi], self.offset[first : last + 1] - lo)
        return Crowd(last - first, self.n_workers, self.n_classes, self.task[lo:hi] - first, *rows)

    @cached_property
    def votes(self) -> Tensor:
        """Weight of the votes for each class of each task: task, class."""
        cells = torch.zeros(self.n_tasks * self.n_classes)
        return cells.index_add(0, self.task * self.n_classes + self.label, self.weight).view(self.n_tasks, -1)

    @cached_property
    def soft_majority(self) -> Tensor:
        """Shares of the votes, task × class; uniform for tasks without labels."""
        total = self.votes.sum(1, keepdim=True)
        return torch.where(total > 0, self.votes / total.clamp_min(1e-12), torch.tensor(1.0 / self.n_classes))

    def counts(self, posterior: Tensor) -> Tensor:
        """Expected number of labels by worker, true and observed class, under posterior[task, class]."""
        k = self.n_classes
        cells = torch.zeros(self.n_workers * k, k, dtype=posterior.dtype, device=posterior.device)
        cells.index_add_(0, self.worker * k + self.label, posterior[self.task] * self.weight[:, None].to(posterior))
        return cells.view(self.n_workers, k, k).transpose(1, 2)  # worker, true, observed

    def evidence(self, log_confusion: Tensor) -> Tensor:
        """Sum over a task's labels of log_confusion[worker, :, label]: task, class."""
        k = self.n_classes
        columns = log_confusion.transpose(1, 2).reshape(-1, k)  # worker·observed, true
        terms = columns[self.worker * k + self.label] * self.weight[:, None].to(log_confusion)
        return torch.zeros(self.n_tasks, k, dtype=terms.dtype, device=terms.device).index_add_(0, self.task, terms)


SortedRows = tuple[I8, int, Tensor, Tensor, Tensor, Tensor]


def in_rows(votes: Votes[Any], tasks: pl.Series | None) -> SortedRows:
    """The rows of the votes sorted by task, where `tasks` names the rows of the features: (order, number of tasks,
    task, worker, weight, offset)."""
    task: npt.NDArray[Any] = votes.task
    n_tasks = votes.n_tasks
    if tasks is not None:
        task, n_tasks = _task_rows(votes, tasks)[votes.task], len(tasks)
    order = np.argsort(task, kind="stable")
    weight = np.ones(len(task)) if votes.weight is None else votes.weight
    by_worker, by_task = (torch.from_numpy(c[order].astype(np.int64)) for c in (votes.worker, task))
    offset = torch.from_numpy(np.searchsorted(task[order], np.arange(n_tasks + 1)))
    return order, n_tasks, by_task, by_worker, torch.from_numpy(weight[order].astype(np.float32)), offset


def _task_rows(votes: Votes[Any], tasks: pl.Series) -> I8:
    """Row of the features of each task of the votes; 0 for tasks without features, which must have no votes."""
    row, has_features = feature_rows(tasks, votes.tasks, "task")
    voted = votes.labels_per_task > 0
    if not has_features[voted].all():
        missing = votes.tasks.filter(pl.Series(voted & ~has_features))
        raise DataError(
            f"{len(missing):,} of {int(voted.sum()):,} labelled tasks have no features: {quote(missing)}; "
            "give a row of features for each, or select the annotations of the others"
        )
    return row


def feature_rows(names: pl.Series, wanted: pl.Series, what: str) -> tuple[I8, npt.NDArray[np.bool_]]:
    """Row of the features of each wanted name (0 if it has none), and whether it has one; `names` are the rows'."""
    names = names if names.dtype == wanted.dtype else names.cast(wanted.dtype, strict=False)
    repeated = names.filter(names.is_duplicated())
    if len(repeated):
        raise DataError(f"the features have two rows for {what} {quote(repeated.unique(maintain_order=True))}")
    order = names.arg_sort()
    at, has_features = lookup(names.gather(order), wanted)
    rows = np.zeros(len(wanted), dtype=np.int64)
    rows[has_features] = order.to_numpy()[at[has_features]]
    return rows, has_features


def codes_in(trained: pl.Series, names: pl.Series) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Code of each name among those of the training, and whether it is one of them."""
    return lookup(trained, names if names.dtype == trained.dtype else names.cast(trained.dtype, strict=False))
