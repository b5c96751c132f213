"""Workers who do not look at the task, mean harm, or listen to one another.

Constants, guessers and adversaries are wrong on their own account. A copier hands in another worker's answers; the
members of a ring of colluders agree on a wrong answer for each task. `confusion` says how they answer when left to
themselves, `marginal` what a single one of them looks like from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..core.errors import ParameterError
from ..core.params import Share, Whole
from ..maths.coins import coins
from .groups import F8, Group, Setting


@dataclass(frozen=True)
class Constant(Group):
    """Says one class whatever the task: class number `label`, or one drawn for each worker."""

    label: Whole | None = None
    kind: ClassVar[str] = "constant"

    def confusion(self, setting: Setting) -> F8:
        """One column of ones."""
        if self.label is not None and self.label >= setting.n_classes:
            raise ParameterError(f"label must be a class number from 0 to {setting.n_classes - 1}, got {self.label!r}")
        said = (
            setting.rng.integers(setting.n_classes, size=self.n) if self.label is None else np.full(self.n, self.label)
        )
        return np.repeat(np.eye(setting.n_classes)[said][:, None, :], setting.n_classes, axis=1)


@dataclass(frozen=True)
class Guesser(Group):
    """Guesses without looking: every class alike, or as often as it occurs (`by="prior"`)."""

    by: Literal["uniform", "prior"] = "uniform"
    kind: ClassVar[str] = "guesser"

    def confusion(self, setting: Setting) -> F8:
        """Equal rows."""
        row = setting.class_prior if self.by == "prior" else np.full(setting.n_classes, 1 / setting.n_classes)
        return np.tile(row, (self.n, setting.n_classes, 1))


@dataclass(frozen=True)
class Adversary(Group):
    """Right with probability `p`, else the answer of a permutation of the classes that keeps none in place."""

    p: Share = 0.1
    kind: ClassVar[str] = "adversary"

    def confusion(self, setting: Setting) -> F8:
        """p on the diagonal, 1 - p along one random cycle through all classes (a cycle keeps no class in place)."""
        out = np.tile(self.p * np.eye(setting.n_classes), (self.n, 1, 1))
        cycle = setting.rng.permuted(np.tile(np.arange(setting.n_classes), (self.n, 1)), axis=1)
        out[np.arange(self.n)[:, None], cycle, np.roll(cycle, 1, axis=1)] = 1 - self.p
        return out


@dataclass(frozen=True)
class Copier(Group):
    """All copy one worker's answer with probability `fidelity`, and else guess.

    The source is worker number `member` of group number `of` (its place in the list of groups), or one of that group
    drawn at random. Asked a task that the source was not asked, the copiers hand in what the source would have said,
    all of them the same.
    """

    of: Whole = 0
    fidelity: Share = 0.95
    member: Whole | None = None
    kind: ClassVar[str] = "copier"

    def confusion(self, setting: Setting) -> F8:
        """Left alone, a copier guesses."""
        return Guesser(self.n).confusion(setting)

    def marginal(self, own: F8, source: F8) -> F8:
        """What copiers of a source with this confusion look like."""
        return self.fidelity * source + (1 - self.fidelity) * own


@dataclass(frozen=True)
class Colluder(Group):
    """A ring: with probability `p_corr` a member gives the ring's wrong answer of the task, else they are honest.

    The wrong answer is one for the whole ring, drawn once per task; an honest answer is right with probability
    `accuracy` (Traganitis & Giannakis 2021 take 1: the truth).
    """

    p_corr: Share = 0.9
    accuracy: Share = 1.0
    kind: ClassVar[str] = "colluder"

    def confusion(self, setting: Setting) -> F8:
        """Left alone, a colluder flips one coin."""
        return coins(np.full(self.n, self.accuracy), setting.n_classes)

    def marginal(self, own: F8) -> F8:
        """What a single member looks like: the ring's wrong answer falls on every wrong class alike."""
        return self.p_corr * coins(np.zeros(self.n), own.shape[1]) + (1 - self.p_corr) * own
