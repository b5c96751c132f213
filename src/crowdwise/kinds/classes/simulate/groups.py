"""Groups of simulated workers. Each group draws one confusion matrix per worker.

A worker with confusion matrix A answers a task of class k with class l with probability A[k, l], independently of all
other workers given the truth. Copiers and colluders, at the end of this module, depend on other workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ....core.arrays import F8
from ....core.errors import ParameterError
from ....core.params import Count, Ends, Note, Positive, Share, Whole, check
from ....stats.coins import coins

Range = Annotated[tuple[Share, Share], Ends()]


def in_order(low: float, high: float) -> None:
    """Raise unless low <= high."""
    if low > high:
        raise ParameterError(f"accuracies must go from low to high, got low={low!r}, high={high!r}")


@dataclass(frozen=True)
class Setting:
    """Inputs for drawing a group of workers: number of classes, class frequencies and the random generator.

    Attributes:
        n_classes: Number of classes.
        class_prior: Frequency of each class.
        rng: Random generator of the draws.
    """

    n_classes: int
    class_prior: F8
    rng: np.random.Generator


@dataclass(frozen=True)
class Group(ABC):
    """`n` workers of one type; `confusion` draws their confusion matrices.

    Args:
        n: Number of workers of the group.
    """

    n: Count
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        check(self)
        self.check()

    def check(self) -> None:
        """Raise when parameters do not make sense together."""
        return

    def kinds(self) -> list[str]:
        """The kind of each worker in the table of workers."""
        return [self.kind] * self.n

    @abstractmethod
    def confusion(self, setting: Setting) -> F8:
        """Confusions [worker, true, observed]."""


@dataclass(frozen=True)
class OneCoin(Group):
    """One accuracy per worker, uniform between `low` and `high`, or low + (high - low) · Beta(*beta).

    Args:
        low: Lowest accuracy.
        high: Highest accuracy.
        beta: Both parameters of the Beta distribution of the accuracies between `low` and `high`; None is uniform.
    """

    low: Share = 0.5
    high: Share = 0.9
    beta: tuple[Positive, Positive] | None = None
    kind: ClassVar[str] = "one_coin"

    def check(self) -> None:
        """Check that low <= high."""
        in_order(self.low, self.high)

    def confusion(self, setting: Setting) -> F8:
        """The same accuracy for all classes, errors spread evenly."""
        share = setting.rng.random(self.n) if self.beta is None else setting.rng.beta(*self.beta, size=self.n)
        return coins(self.low + (self.high - self.low) * share, setting.n_classes)


@dataclass(frozen=True)
class TwoCoin(Group):
    """Two classes; sensitivity (class 1 labelled 1) and specificity (class 0 labelled 0), uniform in their ranges.

    Args:
        sensitivity: Lowest and highest probability of class 1 on tasks of class 1.
        specificity: Lowest and highest probability of class 0 on tasks of class 0.
    """

    sensitivity: Range = (0.6, 0.9)
    specificity: Range = (0.6, 0.9)
    kind: ClassVar[str] = "two_coin"

    def confusion(self, setting: Setting) -> F8:
        """One coin for each of the two classes."""
        if setting.n_classes != 2:
            raise ParameterError(
                f"TwoCoin is for two classes, got setting.n_classes={setting.n_classes}; use ClassCoins for more"
            )
        sides = [
            setting.rng.uniform(*self.specificity, size=self.n),
            setting.rng.uniform(*self.sensitivity, size=self.n),
        ]
        return coins(np.stack(sides, axis=1), 2)


@dataclass(frozen=True)
class ClassCoins(Group):
    """One accuracy per worker and class, uniform in [low, high]: two coins for any number of classes.

    Args:
        low: Lowest accuracy on a class.
        high: Highest accuracy on a class.
    """

    low: Share = 0.5
    high: Share = 0.9
    kind: ClassVar[str] = "class_coins"

    def check(self) -> None:
        """Check that low <= high."""
        in_order(self.low, self.high)

    def confusion(self, setting: Setting) -> F8:
        """Errors of each class spread evenly."""
        return coins(setting.rng.uniform(self.low, self.high, size=(self.n, setting.n_classes)), setting.n_classes)


@dataclass(frozen=True)
class DirichletConfusion(Group):
    """Every row of every matrix from a Dirichlet with `diagonal` on the true class and `off` on the others.

    Args:
        diagonal: Dirichlet parameter of the true class; larger values give more accurate workers.
        off: Dirichlet parameter of each other class; larger values give more errors, spread more evenly.
    """

    diagonal: Positive = 6.0
    off: Positive = 1.0
    kind: ClassVar[str] = "dirichlet"

    def confusion(self, setting: Setting) -> F8:
        """Independent rows, so that workers differ in the classes that they mistake."""
        alpha = np.full((setting.n_classes, setting.n_classes), self.off) + (self.diagonal - self.off) * np.eye(
            setting.n_classes
        )
        return np.stack([setting.rng.dirichlet(row, size=self.n) for row in alpha], axis=1)


@dataclass(frozen=True)
class HammerSpammer(Group):
    """round(n · hammer_share) hammers, right with probability `accuracy`; all others are spammers, who guess.

    Args:
        hammer_share: Share of hammers; 0 gives spammers only, 1 hammers only.
        accuracy: Accuracy of the hammers.
    """

    hammer_share: Share = 0.5
    accuracy: Share = 0.95
    kind: ClassVar[str] = "hammer_spammer"

    def kinds(self) -> list[str]:
        """Hammers first, then spammers."""
        hammers = round(self.n * self.hammer_share)
        return ["hammer"] * hammers + ["spammer"] * (self.n - hammers)

    def confusion(self, setting: Setting) -> F8:
        """Fixed matrices of the two sorts of workers."""
        hammer = np.array([kind == "hammer" for kind in self.kinds()])
        return coins(np.where(hammer, self.accuracy, 1 / setting.n_classes), setting.n_classes)


@dataclass(frozen=True)
class PairwiseFlipper(Group):
    """Right with probability `p`, else one wrong class, drawn once per worker and class (Tanno et al. 2019).

    Args:
        p: Accuracy on every class.
    """

    p: Share = 0.7
    kind: ClassVar[str] = "pairwise_flipper"

    def confusion(self, setting: Setting) -> F8:
        """Row k holds p at k and 1 - p at one other class."""
        out = np.tile(self.p * np.eye(setting.n_classes), (self.n, 1, 1))
        class_ = np.arange(setting.n_classes)
        other = (
            class_ + setting.rng.integers(1, setting.n_classes, size=(self.n, setting.n_classes))
        ) % setting.n_classes
        out[np.arange(self.n)[:, None], class_, other] = 1 - self.p
        return out


@dataclass(frozen=True, eq=False)
class Given(Group):
    """Workers with given confusion matrices: `matrices` holds one [true, observed] matrix per worker.

    Args:
        matrices: Probabilities [worker, true, observed] for the `n` workers; every row sums to 1.
    """

    matrices: Annotated[Any, Note("matrices worker, true, observed")] = ()
    kind: ClassVar[str] = "given"

    def check(self) -> None:
        """Check the shape, and that rows are probabilities that sum to one."""
        table = np.asarray(self.matrices, dtype=np.float64)
        if table.ndim != 3 or table.shape[0] != self.n or table.shape[1] != table.shape[2]:
            raise ParameterError(f"matrices must have shape ({self.n}, classes, classes), got {table.shape}")
        if not (np.isfinite(table).all() and (table >= 0).all() and np.allclose(table.sum(axis=2), 1)):
            raise ParameterError("every row of matrices must be non-negative and sum to 1; divide rows by their sums")

    def confusion(self, setting: Setting) -> F8:
        """The matrices as they are."""
        table = np.array(self.matrices, dtype=np.float64)
        if table.shape[1] != setting.n_classes:
            raise ParameterError(
                f"matrices have {table.shape[1]} classes but n_classes is {setting.n_classes}; make them agree"
            )
        return table


# ----------------------------------------------------------------
# Spammers, adversaries and dependent workers.
# Constants, guessers and adversaries answer independently. A copier gives another worker's answers; the members of a
# ring of colluders agree on a wrong answer for each task. `confusion` describes their independent answers, `marginal`
# the marginal distribution of the answers of one of them.


@dataclass(frozen=True)
class Constant(Group):
    """Always gives one class: class number `label`, or one drawn for each worker.

    Args:
        label: Number of the class; None draws one for each worker.
    """

    label: Whole | None = None
    kind: ClassVar[str] = "constant"

    def confusion(self, setting: Setting) -> F8:
        """One column of ones."""
        if self.label is not None and self.label >= setting.n_classes:
            raise ParameterError(f"label must be a class number from 0 to {setting.n_classes - 1}, got {self.label!r}")
        label = (
            setting.rng.integers(setting.n_classes, size=self.n) if self.label is None else np.full(self.n, self.label)
        )
        return np.repeat(np.eye(setting.n_classes)[label][:, None, :], setting.n_classes, axis=1)


@dataclass(frozen=True)
class Guesser(Group):
    """Guesses: every class equally often, or as often as it occurs (`by="prior"`).

    Args:
        by: "uniform" gives every class equally often, "prior" as often as it occurs.
    """

    by: Literal["uniform", "prior"] = "uniform"
    kind: ClassVar[str] = "guesser"

    def confusion(self, setting: Setting) -> F8:
        """Equal rows."""
        row = setting.class_prior if self.by == "prior" else np.full(setting.n_classes, 1 / setting.n_classes)
        return np.tile(row, (self.n, setting.n_classes, 1))


@dataclass(frozen=True)
class Adversary(Group):
    """Right with probability `p`, else the true class permuted, by a permutation that keeps no class in place.

    Args:
        p: Probability of a right answer; smaller values give more systematic errors.
    """

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
    """All copy the answer of the same worker with probability `fidelity`, and else guess.

    The source is worker number `member` of group number `of` (its index in the list of groups), or a random worker of
    that group. On a task that the source did not do, all copiers give the answer that the source would have given.

    Args:
        of: Index of the copied worker's group in the list of groups.
        fidelity: Probability of copying; 1 gives exact copies, 0 independent guessers.
        member: Index of the copied worker within the group; None draws it.
    """

    of: Whole = 0
    fidelity: Share = 0.95
    member: Whole | None = None
    kind: ClassVar[str] = "copier"

    def confusion(self, setting: Setting) -> F8:
        """A copier who does not copy guesses."""
        return Guesser(self.n).confusion(setting)

    def marginal(self, confusion: F8, source_confusion: F8) -> F8:
        """The marginal confusion of copiers, given that of their source."""
        return self.fidelity * source_confusion + (1 - self.fidelity) * confusion


@dataclass(frozen=True)
class Colluder(Group):
    """A ring: with probability `p_corr` a member gives the ring's wrong answer to the task, else an honest one.

    The wrong answer is drawn once per task for the whole ring; an honest answer is right with probability `accuracy`
    (1, the truth, in Traganitis & Giannakis 2021).

    Args:
        p_corr: Probability of the ring's answer; 0 gives independent workers, 1 members who always agree.
        accuracy: Accuracy of the honest answers.
    """

    p_corr: Share = 0.9
    accuracy: Share = 1.0
    kind: ClassVar[str] = "colluder"

    def confusion(self, setting: Setting) -> F8:
        """A colluder who does not collude has one accuracy for all classes."""
        return coins(np.full(self.n, self.accuracy), setting.n_classes)

    def marginal(self, confusion: F8) -> F8:
        """The marginal confusion of a member: the ring's answer is any wrong class, all equally likely."""
        return self.p_corr * coins(np.zeros(self.n), confusion.shape[1]) + (1 - self.p_corr) * confusion
