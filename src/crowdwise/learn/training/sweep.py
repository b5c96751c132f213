"""Sweep: what a method sees at the start of an epoch: the whole crowd, and the classifier on every task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..feeding.crowd import Crowd
from ..probe import evaluating

if TYPE_CHECKING:
    from ..feeding.data import CrowdData
    from ..method import CrowdModel

ROWS = 1024


@dataclass(frozen=True, eq=False)
class Sweep:
    """`log_proba` is computed when first asked for, in evaluation mode and without gradients.

    `restart()` gives the net the weights it began with and clears the optimizers, for methods that train in rounds
    from scratch.
    """

    epoch: int
    epochs: int
    crowd: Crowd
    log_proba_of: Callable[[], Tensor]
    restart: Callable[[], None]

    @cached_property
    def log_proba(self) -> Tensor:
        """log p(class | x) of every task: task, class."""
        return self.log_proba_of()


def sweep_log_proba(model: CrowdModel, data: CrowdData, device: torch.device | str = "cpu") -> Tensor:
    """The classifier on every task of the data, in evaluation mode."""
    with evaluating(model):
        parts = [model.method.classify(model.output(batch.x.to(device))).float() for batch in data.in_order(ROWS)]
    return torch.cat(parts) if parts else torch.empty(0, model.method.n_classes)


def sweep_both(model: CrowdModel, data: CrowdData, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """log p(class | x) and p(class | x, labels) of every task; the latter is the former without a forecaster."""
    k = model.method.n_classes
    alone, together = [torch.empty(0, k)], [torch.empty(0, k)]
    with evaluating(model):
        for piece in data.in_order(ROWS):
            batch = piece.to(device)
            out = model.output(batch.x)
            log_proba = model.method.classify(out).float()
            found = model.method.forecast(out, batch)
            alone.append(log_proba)
            together.append(log_proba.exp() if found is None else found.float())
    return torch.cat([part.to(device) for part in alone]), torch.cat([part.to(device) for part in together])
