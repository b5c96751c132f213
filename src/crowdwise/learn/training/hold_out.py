"""Held-out labels."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import torch

from ...core.errors import DataError, ParameterError
from ..data.crowd import AnswerRows

AnyCrowd = TypeVar("AnyCrowd", bound=AnswerRows)


def hold_out(crowd: AnyCrowd, share: float, seed: int = 0) -> tuple[AnyCrowd, AnyCrowd]:
    """The labels to train on, and all labels of a random `share` of the labelled tasks; tasks keep their codes."""
    if not 0 < share < 1:
        raise ParameterError(f"the held-out share must lie between 0 and 1, got {share}")
    tasks = crowd.labelled.nonzero().squeeze(1)
    n = round(share * len(tasks))
    if n < 1 or n >= len(tasks):
        raise DataError(f"{len(tasks)} labelled tasks are too few to hold out {share:.0%} of them")
    chosen = np.random.default_rng([seed, 1]).permutation(tasks.numpy())[:n]
    is_held_out = torch.zeros(crowd.n_tasks, dtype=torch.bool)
    is_held_out[torch.from_numpy(chosen)] = True
    rows = is_held_out[crowd.task]
    return crowd.keep(~rows), crowd.keep(rows)
