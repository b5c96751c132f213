"""What a session is told about how to ask, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ..core.params import Count, Positive, Share, Whole, check
from ..core.rules import AtLeast


@dataclass(frozen=True)
class Settings:
    """How a session asks. `explore`: share of tasks drawn at random; `warm`: first tasks of a worker that others have
    answered, so that they can be judged; `load`: answers a worker gives at most; `gold_rate`: share of gold among the
    tasks; `qualify`: gold tasks that come first; `floor`: who is surely less often right than this is asked no more;
    `sweep_at`: growth of the answers after which all tasks are looked at again (0: the caller sweeps), by `rounds` of
    EM from the vote shares, one while tasks have few answers: the first round is most of what matrices know, and the
    later ones may drift away from what the labels mean (on web from .49 right to .38 at a fifth of the answers)."""

    explore: Share = 0.0
    warm: Whole = 3
    load: Count | None = None
    gold_rate: Share = 0.0
    qualify: Whole = 0
    floor: Share = 0.0
    sweep_at: Annotated[float, AtLeast(0)] = 0.1
    rounds: Count = 2
    candidates: Count = 64
    cost: Positive = 1.0
    seed: Whole = 0

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Asked:
    """A task for a worker, in their hands until `tell` or `release`; `gold` is for the lead's eyes only."""

    task: int
    worker: int
    gold: bool = False


@dataclass(frozen=True)
class Stopped:
    """Why there is no task: of this worker, or (`final`) of the project."""

    reason: str
    final: bool = False
