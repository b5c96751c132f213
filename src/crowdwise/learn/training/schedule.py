"""Learning-rate schedules in the loop: which step with every batch, which with every epoch, and what a plateau is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch.optim.lr_scheduler import CyclicLR, LRScheduler, OneCycleLR, ReduceLROnPlateau

from ...core.errors import ParameterError

Pace = Literal["batch", "epoch"]
_BY_BATCH = (OneCycleLR, CyclicLR)  # torch says so of these two; of the others either makes sense


class Schedules:
    """Any number of schedulers, each stepped as it is meant to be, or all of them as `pace` says.

    ReduceLROnPlateau watches the held-out score where there is one, in the direction of its mode, or else the loss.
    """

    def __init__(
        self,
        given: LRScheduler | Sequence[LRScheduler] | None,
        pace: Pace | None,
        steps: int,
        epochs: int,
        scored: bool,
    ) -> None:
        if pace not in (None, "batch", "epoch"):
            raise ParameterError(f"scheduler_pace must be batch or epoch, got {pace!r}")
        self.all = [] if given is None else [given] if isinstance(given, LRScheduler) else list(given)
        self.by_batch = [each for each in self.all if (pace or _usual(each)) == "batch"]
        for each in self.all:
            self._check(each, steps * epochs if each in self.by_batch else epochs, scored)

    def _check(self, each: LRScheduler, steps: int, scored: bool) -> None:
        name = type(each).__name__
        if isinstance(each, ReduceLROnPlateau):
            if each in self.by_batch:
                raise ParameterError("ReduceLROnPlateau watches whole epochs; leave scheduler_pace as it is")
            if each.mode == "max" and not scored:
                raise ParameterError("ReduceLROnPlateau(mode='max') watches the criterion's score, but there is none")
        if isinstance(each, OneCycleLR) and each.total_steps < steps:
            unit = "batch" if each in self.by_batch else "epoch"
            raise ParameterError(
                f"{name} has {each.total_steps} steps, but steps with every {unit}, {steps} times; "
                f"give it total_steps={steps}, or say scheduler_pace='epoch' or 'batch'"
            )

    def batch(self) -> None:
        """A batch is over."""
        for each in self.by_batch:
            each.step()

    def epoch(self, loss: float, score: float | None) -> None:
        """An epoch is over."""
        for each in self.all:
            if isinstance(each, ReduceLROnPlateau):
                each.step(loss if score is None else score if each.mode == "max" else -score)
            elif each not in self.by_batch:
                each.step()


def _usual(scheduler: LRScheduler) -> Pace:
    return "batch" if isinstance(scheduler, _BY_BATCH) else "epoch"
