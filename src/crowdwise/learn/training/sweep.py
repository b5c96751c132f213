"""Sweep: the whole crowd and the net's predictions for all tasks, for the E-step at the start of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from ..data.crowd import Crowd
from ..data.folder import FeatureFolder
from ..probe import evaluating

if TYPE_CHECKING:
    from ..data.dataset import CrowdData
    from ..method import CrowdMethod, CrowdModel

# Tasks per call of the net, and tasks per part if features are read from disk.
ROWS, PART = 1024, 1 << 16


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive tasks: their `rows` among all tasks, their labels, and the net's predictions."""

    rows: slice
    crowd: Crowd
    log_proba_of: Callable[[], Tensor]

    @cached_property
    def log_proba(self) -> Tensor:
        """log p(class | x) of these tasks."""
        return self.log_proba_of()


@dataclass(frozen=True, eq=False)
class Sweep:
    """`log_proba` is computed on first use, in evaluation mode and without gradients; `value` is its name for methods
    for numbers, whose crowd is a NumberCrowd.

    `parts()` gives the tasks in parts if there is a `log_proba_between(first, last)`, and all at once otherwise.
    `restart()` resets the net to its initial weights and clears the optimizers, for methods that train in rounds.
    """

    epoch: int
    epochs: int
    crowd: Crowd
    log_proba_of: Callable[[], Tensor]
    restart: Callable[[], None]
    log_proba_between: Callable[[int, int], Tensor] | None = None

    def parts(self) -> Iterator[Part]:
        """All tasks, in their order."""
        n, log_proba_between = self.crowd.n_tasks, self.log_proba_between
        if log_proba_between is None:
            yield Part(slice(0, n), self.crowd, lambda: self.log_proba)
            return
        for lo in range(0, n, PART):
            hi = min(lo + PART, n)
            yield Part(slice(lo, hi), self.crowd.between(lo, hi), partial(log_proba_between, lo, hi))

    @cached_property
    def log_proba(self) -> Tensor:
        """log p(class | x) of every task: task, class."""
        return self.log_proba_of()

    @property
    def value(self) -> Tensor:
        """The net's prediction of every task: task, part."""
        return self.log_proba


def sweep_of(
    model: CrowdModel, data: CrowdData, device: torch.device, epoch: int, epochs: int, restart: Callable[[], None]
) -> Sweep:
    """The sweep at the start of an epoch; in parts if the features are read from disk."""
    return Sweep(
        epoch, epochs, cast("Crowd", data.crowd.to(device)), lambda: sweep_answers(model, data, device), restart,
        partial(sweep_answers, model, data, device) if isinstance(data.x, FeatureFolder) else None,
    )  # fmt: skip


def sweep_answers(
    model: CrowdModel, data: CrowdData, device: torch.device | str = "cpu", first: int = 0, last: int | None = None
) -> Tensor:
    """The method's answer for all tasks of the data (or first .. last - 1), in evaluation mode: log p(class | x), or
    numbers."""
    with evaluating(model):
        batches = data.in_order(ROWS, first, last)
        parts = [model.method.answer(model.output(batch.x.to(device))).float() for batch in batches]
    return torch.cat(parts) if parts else torch.empty(0, model.method.n_outputs)


def sweep_both(
    model: CrowdModel, data: CrowdData, device: torch.device | str = "cpu", *, quick: bool = False
) -> tuple[Tensor, Tensor]:
    """log p(class | x) and p(class | x, labels) of every task; without a forecaster, the latter is p(class | x).

    `quick` allows for a cheaper estimate where a method has one (`CrowdMethod.estimate`).
    """
    method = cast("CrowdMethod", model.method)
    k = method.n_classes
    without_labels, with_labels = [torch.empty(0, k)], [torch.empty(0, k)]
    with evaluating(model):
        for cpu_batch in data.in_order(ROWS):
            batch = cpu_batch.to(device)
            out = model.output(batch.x)
            log_proba = (method.estimate(out) if quick else method.classify(out)).float()
            posterior = method.forecast(out, batch)
            without_labels.append(log_proba)
            with_labels.append(log_proba.exp() if posterior is None else posterior.float())
    return torch.cat([part.to(device) for part in without_labels]), torch.cat([part.to(device) for part in with_labels])
