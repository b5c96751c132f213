"""What is common to a crowd that answers with sets: classes that are easy to miss, workers who miss much.

    hits[w, k] ~ Beta(strength[k] · m),   logit m = logit(pooled hits of class k) + shift[w],   shift[w] ~ N(0, spread²)

and the same for alarms, with a shift of its own. Shifts are modes by Newton's method, the spread is learnt by EM over
the shifts, the strength of each class has the highest evidence on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, expit

from .em import Counts, Pseudo

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
GRID = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0])
# Workers whose counts settle the strengths, where there are more.
MOST = 2000
_START = 4  # the strength to begin with: 8
_NARROW = 1e-3


@dataclass(frozen=True)
class Side:
    """Hits, or alarms: shift[worker] with the variance of the shifts, and the place of each class's strength."""

    shift: F8
    variance: float
    place: I8
    mean: F8

    @classmethod
    def start(cls, m: int, k: int, variance: float) -> Side:
        """Before the first count."""
        return cls(np.zeros(m), variance, np.full(k, _START), np.full((m, k), 0.5))

    def learn(self, named: F8, n: F8, guess: float, weight: float, *, shifts: bool) -> Side:
        """From expected counts [worker, class]; `weight` pseudo-counts of the rate `guess` stand before them."""
        pooled = (named.sum(axis=0) + weight * guess) / (n.sum(axis=0) + weight)
        base = np.log(pooled) - np.log1p(-pooled)
        new = self._shifted(named, n, base) if shifts else self
        mean = np.clip(expit(base + new.shift[:, None]), 1e-6, 1 - 1e-6)
        return replace(new, mean=mean, place=new._best(named, n, mean))

    def _shifted(self, named: F8, n: F8, base: F8) -> Side:
        shift, spread = self.shift, self.variance
        heard = n.sum(axis=1) > 0
        steep = np.full(len(shift), 1 / spread)
        for _ in range(6):
            p = expit(base + shift[:, None])
            slope = (named - n * p).sum(axis=1) - shift / spread
            steep = (n * p * (1 - p)).sum(axis=1) + 1 / spread
            shift = shift + np.clip(slope / steep, -2, 2)
        if heard.any():
            spread = max(float((shift[heard] ** 2 + 1 / steep[heard]).mean()), _NARROW)
        return replace(self, shift=shift, variance=spread)

    def _best(self, named: F8, n: F8, mean: F8) -> I8:
        """The strength's place on the grid: the best of its own and the two beside it."""
        heard = np.flatnonzero(n.sum(axis=1) > 0)
        some = heard[:: max(len(heard) // MOST, 1)]
        named, n, mean = named[some], n[some], mean[some]
        near = np.clip(self.place + np.arange(-1, 2)[:, None], 0, len(GRID) - 1)
        found = [_evidence(named, n, mean, GRID[place]) for place in near]
        return np.asarray(near[np.argmax(found, axis=0), np.arange(len(self.place))])

    @property
    def strength(self) -> F8:
        """strength[class]."""
        return GRID[self.place]

    def pseudo(self) -> tuple[F8, F8]:
        """Pseudo-counts of yes and no."""
        return self.strength * self.mean, self.strength * (1 - self.mean)


def _evidence(named: F8, n: F8, mean: F8, strength: F8) -> F8:
    """Log evidence of each class's counts under Beta(strength · mean)."""
    a, b = strength * mean, strength * (1 - mean)
    return np.asarray((betaln(a + named, b + np.maximum(n - named, 0.0)) - betaln(a, b)).sum(axis=0))


@dataclass(frozen=True)
class SetCrowd:
    """What all workers share: hits and alarms."""

    hits: Side
    alarms: Side

    @classmethod
    def start(cls, m: int, k: int, variance: float = 0.5) -> SetCrowd:
        """Before the first answer."""
        return cls(Side.start(m, k, variance), Side.start(m, k, variance))

    def learn(self, counts: Counts, weight: float, *, shifts: bool) -> SetCrowd:
        """From the expected counts of all workers."""
        size = float(counts.true.sum() + counts.false.sum())
        usual = float(counts.named_true.sum() + counts.named_false.sum()) / size if size else 0.5
        low = min(usual, 0.2)  # before anything is seen, a class is named as often as classes are, where it is not true
        return SetCrowd(
            self.hits.learn(counts.named_true, counts.true, 0.8, weight, shifts=shifts),
            self.alarms.learn(counts.named_false, counts.false, low, weight, shifts=shifts),
        )

    def pseudo(self, rate: float) -> Pseudo:
        """The prior that the M-step takes."""
        return Pseudo(*self.hits.pseudo(), *self.alarms.pseudo(), rate)
