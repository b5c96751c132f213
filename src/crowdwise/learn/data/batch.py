"""CrowdBatch: the features of some tasks and all of their labels, in ragged form."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .inputs import map_tree


@dataclass(eq=False)  # not frozen: mixed precision of Fabric and Lightning fills in a copy of it
class CrowdBatch:
    """x[B, ...], task[B] and the labels row[A], worker[A], label[A], weight[A] with row[a] in 0..B-1.

    x may also be a dict or a list of tensors with B rows.
    `label` is a class's code, or for numbers label[A, part]. `place[A]` is the row of each label in the Crowd, for
    methods with a parameter for every label.

    When several processes share a batch, each holds a part: `label_total` and `task_total` are sums over the whole
    batch and `share` is this part's share of it, so that losses of the parts add up to the loss of the whole.
    """

    x: Any
    task: Tensor
    row: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    place: Tensor
    task_weight: Tensor
    label_total: Tensor
    task_total: Tensor
    share: float = 1.0

    def __len__(self) -> int:
        return len(self.task)

    def to(self, device: torch.device | str) -> CrowdBatch:
        """The same batch on a device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {
            name: map_tree(lambda part: part.to(device, non_blocking=True), v) for name, v in values.items()
        }
        return CrowdBatch(**moved)

    def only(self, labels: Tensor) -> CrowdBatch:
        """The same tasks with only these labels (a mask over labels); totals stay those of the whole batch."""
        selected: dict[str, Any] = {n: getattr(self, n)[labels] for n in ("row", "worker", "label", "weight", "place")}
        return replace(self, **selected)

    def wide(self) -> CrowdBatch:
        """The same batch with weights in single precision at least, because half precision cannot count labels."""
        if self.weight.element_size() >= 4:
            return self
        names = ("label", "weight", "task_weight", "label_total", "task_total")
        changed: dict[str, Any] = {name: at_least_single(getattr(self, name)) for name in names}
        return replace(self, **changed)

    @cached_property
    def present(self) -> tuple[Tensor, Tensor]:
        """The workers of the batch's labels, and the position of each label's worker among them."""
        workers, inverse = torch.unique(self.worker, return_inverse=True)
        return workers, inverse

    def mean_over_labels(self, values: Tensor) -> Tensor:
        """Weighted mean of values[A] over the labels of the whole batch (this process's share of the sum)."""
        return (values * self.weight * self.task_weight.index_select(0, self.row)).sum() / self.label_total

    def mean_over_tasks(self, values: Tensor) -> Tensor:
        """Weighted mean of values[B] over the tasks of the whole batch (this process's share of the sum)."""
        return (values * self.task_weight).sum() / self.task_total

    def sum_by_task(self, values: Tensor) -> Tensor:
        """Sums of values[A, ...] over each task's labels, weights applied: B, ..."""
        weight = self.weight.view(-1, *[1] * (values.dim() - 1))
        out = torch.zeros(len(self), *values.shape[1:], dtype=values.dtype, device=values.device)
        return out.index_add(0, self.row, values * weight.to(values.dtype))

    def evidence(self, log_confusion: Tensor) -> Tensor:
        """Sum over each task's labels of log_confusion[worker, :, label], worker counted among those present: B, K."""
        return self.sum_by_task(self.label_columns(log_confusion))

    def label_columns(self, log_confusion: Tensor) -> Tensor:
        """log_confusion[worker, :, label] of every label, worker counted among those present: A, K."""
        m, k, observed = log_confusion.shape
        columns = log_confusion.transpose(1, 2).reshape(m * observed, k)
        return columns.index_select(0, self.present[1] * observed + self.label)

    def votes(self, n_classes: int) -> Tensor:
        """Weight of the votes for each class: B, K."""
        cells = self.weight.new_zeros(len(self) * n_classes)
        return cells.index_add(0, self.row * n_classes + self.label, self.weight).view(len(self), n_classes)


def at_least_single(values: Tensor) -> Tensor:
    """Numbers of half precision as single precision, all others as they are."""
    return values.float() if values.is_floating_point() and values.element_size() < 4 else values
