"""EM for classes that belong to tasks or not, each class by itself, with Beta priors on hits and alarms.

    member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w, k] if member else alarms[w, k])
    hits[w, k] ~ Beta(1 + a, 1 + b),  alarms[w, k] ~ Beta(1 + c, 1 + d) with pseudo-counts [worker, class]

`tied` gives a worker one pair of rates for all classes: counts and pseudo-counts are then [worker, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import SetRows

F8 = npt.NDArray[np.float64]
I1 = npt.NDArray[np.int8]
# Rates stay this far from 0 and 1.
EDGE = 1e-9


@dataclass(frozen=True)
class Pseudo:
    """Pseudo-counts of what workers name where it is true (yes, no) and where it is not."""

    true_yes: F8
    true_no: F8
    false_yes: F8
    false_no: F8
    rate: float = 1.0


@dataclass(frozen=True)
class Rates:
    """hits and alarms [worker, class], rate[class]."""

    hits: F8
    alarms: F8
    rate: F8


@dataclass(frozen=True)
class Counts:
    """Expected counts by worker and class: named and true, true; named and not true, not true. mass[class] of tasks."""

    named_true: F8
    true: F8
    named_false: F8
    false: F8
    mass: F8
    heard: F8


class SetModel:
    """The steps of EM over rows, with gold[task, class] (1, 0, or -1 where it is not known)."""

    def __init__(self, rows: SetRows, gold: I1 | None, tied: bool = False) -> None:
        self.rows, self.gold, self.tied = rows, gold, tied
        self.heard = rows.asked > 0
        self.all_heard = bool(self.heard.all())

    def clamp(self, posterior: F8) -> F8:
        """The posterior with certainty where the truth is known."""
        return posterior if self.gold is None else np.where(self.gold >= 0, self.gold, posterior)

    def counts(self, posterior: F8) -> Counts:
        """What a posterior makes of the rows."""
        named, true = self.rows.counts(posterior)
        all_named, offered = self.rows.said, self.rows.offered
        parts = [named, true, np.maximum(all_named - named, 0.0), np.maximum(offered - true, 0.0)]
        if self.tied:
            parts = [np.asarray(part.sum(axis=1, keepdims=True)) for part in parts]
        mass = posterior.sum(axis=0) if self.all_heard else np.where(self.heard, posterior, 0.0).sum(axis=0)
        return Counts(parts[0], parts[1], parts[2], parts[3], mass, self.heard.sum(axis=0).astype(np.float64))

    def rates(self, counts: Counts, pseudo: Pseudo) -> Rates:
        """The M-step: the mode of the posterior density."""
        hits = (counts.named_true + pseudo.true_yes) / np.maximum(counts.true + pseudo.true_yes + pseudo.true_no, EDGE)
        alarms = (counts.named_false + pseudo.false_yes) / np.maximum(
            counts.false + pseudo.false_yes + pseudo.false_no, EDGE
        )
        rate = (counts.mass + pseudo.rate) / np.maximum(counts.heard + 2 * pseudo.rate, EDGE)
        return Rates(*(np.clip(each, EDGE, 1 - EDGE) for each in (hits, alarms, rate)))

    def full(self, rates: Rates) -> tuple[F8, F8]:
        """Hits and alarms for every class, whether or not workers have one pair of them."""
        shape = (self.rows.n_workers, self.rows.n_classes)
        return np.broadcast_to(rates.hits, shape), np.broadcast_to(rates.alarms, shape)

    def posterior(self, rates: Rates, pseudo: Pseudo) -> tuple[F8, float]:
        """The E-step, and the log posterior density of the rates that it was taken under."""
        hits, alarms = self.full(rates)
        odds = self.rows.log_odds(hits, alarms)
        odds += np.log(rates.rate) - np.log1p(-rates.rate)
        tail = np.exp(-np.abs(odds))
        soft = np.log1p(tail)  # log(1 + exp(odds)) without what lies above 0
        soft += np.maximum(odds, 0.0)
        if self.gold is not None:
            soft = np.where(self.gold >= 0, np.where(self.gold == 1, odds, 0.0), soft)
        cells = float(soft.sum()) + len(odds) * float(np.log1p(-rates.rate).sum())
        posterior = np.where(odds >= 0, 1.0, tail)
        tail += 1.0
        posterior /= tail
        said, left = self.rows.said, self.rows.offered - self.rows.said
        unsure = float((said * np.log(alarms) + left * np.log1p(-alarms)).sum())
        density = (
            (pseudo.true_yes * np.log(rates.hits) + pseudo.true_no * np.log1p(-rates.hits)).sum()
            + (pseudo.false_yes * np.log(rates.alarms) + pseudo.false_no * np.log1p(-rates.alarms)).sum()
            + pseudo.rate * (np.log(rates.rate) + np.log1p(-rates.rate)).sum()
        )
        return self.clamp(posterior), cells + unsure + float(density)
