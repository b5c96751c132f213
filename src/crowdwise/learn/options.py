"""TrainingOptions: how a net is trained, the same for every kind of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch

from ..core.params import AtLeast, Below, Count, Whole
from .method import Rate
from .training.history import Callback


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingOptions:
    """The options that all estimators of `crowdwise.learn` share.

    Not frozen, because every estimator is one, and scikit-learn sets their parameters.

    Args:
        params: Parameters of the method.
        epochs: Number of epochs. Like the next four, None stands for the value in the method's paper.
        batch_size: Tasks per batch.
        lr: Learning rate of the net.
        worker_lr: Learning rate of the worker parameters.
        weight_decay: Weight decay of the net.
        validation: Share of tasks whose answers are held out. The epoch that predicts them best is kept; with 0, all
            tasks are used and the last epoch is kept.
        patience: Stop after this many epochs without improvement on the held-out answers.
        refit: Train again on all tasks for the selected number of epochs.
        device: Device for training.
        fabric: Lightning Fabric for training in several processes.
        callbacks: Training callbacks, called after every epoch.
        folder: Folder for checkpoints, which are written after every epoch.
        every: Steps between further checkpoints.
        resume: Continue from the last checkpoint.
        seed: Seed of all random numbers.
    """

    params: Mapping[str, Any] | None = None
    epochs: Count | None = None
    batch_size: Count | None = None
    lr: Rate | None = None
    worker_lr: Rate | None = None
    weight_decay: Rate | None = None
    validation: Annotated[float, AtLeast(0), Below(1)] = 0.15
    patience: Count | None = None
    refit: bool = False
    device: str | torch.device = "cpu"
    fabric: Any = None
    callbacks: Sequence[Callback] = ()
    folder: str | Path | None = None
    every: Count | None = None
    resume: bool = False
    seed: Whole = 0
