"""EM for label sets, detection of idle workers, scores, and distances, on sparse data.

For each class, x = 1 if a worker named it and x = 0 if the worker did not name it although it was offered. With
hits h[worker, class] = P(x = 1 | true) and alarms f[worker, class] = P(x = 1 | not true) the log odds of a task are

    logit(rate) + Σ_rows log((1 - h) / (1 - f)) + Σ_named [log(h / f) - log((1 - h) / (1 - f))]

so the classes that were not named, which are most cells, need only one product of a sparse task × worker matrix with a
table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import betaln, expit, logit, logsumexp

from ...core.arrays import F8, I8, Mask
from ...stats.abilities import posterior_of
from ...stats.bootstrap import resampled_intervals


@dataclass(frozen=True, eq=False)
class SetRows:
    """Answers as arrays: row i names code[start[i]..start[i + 1]] and was offered menus[menu[i]]."""

    task: npt.NDArray[Any]
    worker: npt.NDArray[Any]
    start: I8
    code: npt.NDArray[Any]
    n_tasks: int
    n_workers: int
    n_classes: int
    weight: F8 | None = None
    menu: npt.NDArray[Any] | None = None
    menus: Mask | None = None

    @cached_property
    def _places(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None, Mask | None]:
        """(place of each row, task of each place, offered[place, class]); a place is a task with one menu."""
        if self.menu is None or self.menus is None:
            return self.task, None, None
        key = self.task.astype(np.int64) * len(self.menus) + self.menu
        keys, place = np.unique(key, return_inverse=True)
        return place, keys // len(self.menus), self.menus[keys % len(self.menus)]

    @cached_property
    def _by_place(self) -> Any:
        """Weights as a sparse matrix [place, worker]."""
        place, task_of_place, _ = self._places
        n = self.n_tasks if task_of_place is None else len(task_of_place)
        ones = np.ones(len(self.task)) if self.weight is None else self.weight
        return csr_array((ones, (place, self.worker)), shape=(n, self.n_workers))

    @cached_property
    def _by_worker(self) -> Any:
        """Weights as a sparse matrix [worker, place]."""
        return self._by_place.T.tocsr()

    @cached_property
    def _entries(self) -> tuple[I8, I8, F8 | None]:
        """Index in [task, class], index in [worker, class] and weight of each named class."""
        row = np.repeat(np.arange(len(self.task)), np.diff(self.start))
        cells = [axis[row].astype(np.int64) * self.n_classes + self.code for axis in (self.task, self.worker)]
        return cells[0], cells[1], None if self.weight is None else self.weight[row]

    def _over_tasks(self, values: F8) -> F8:
        """Sum values[place, class] over the places of each task, for offered classes only."""
        _, task_of_place, offered = self._places
        if task_of_place is None or offered is None:
            return values
        out = np.zeros((self.n_tasks, values.shape[1]))
        np.add.at(out, task_of_place, values * offered)
        return out

    def _at_places(self, values: F8) -> F8:
        """Return values[task, class] at each place, 0 for classes that were not offered."""
        _, task_of_place, offered = self._places
        return values if task_of_place is None or offered is None else values[task_of_place] * offered

    @cached_property
    def named_by_worker(self) -> F8:
        """[worker, class]: how often the worker named the class."""
        _, cell, weight = self._entries
        return self._table(cell, weight, self.n_workers)

    @cached_property
    def offered_to_worker(self) -> F8:
        """[worker, class]: how often the class was offered to the worker."""
        return np.asarray(self._by_worker @ self._at_places(np.ones((self.n_tasks, self.n_classes))))

    @cached_property
    def named_in_task(self) -> F8:
        """[task, class]: how often the class was named."""
        cell, _, weight = self._entries
        return self._table(cell, weight, self.n_tasks)

    @cached_property
    def offered_in_task(self) -> F8:
        """[task, class]: how often the class was offered."""
        return self._over_tasks(np.asarray(self._by_place @ np.ones((self.n_workers, self.n_classes))))

    def shares(self) -> F8:
        """Return the share of offers in which a class was named; the share over all tasks where it was not offered."""
        named, offered = self.named_in_task.sum(axis=0), self.offered_in_task.sum(axis=0)
        class_share = named / np.maximum(offered, 1e-300)
        return np.where(
            self.offered_in_task > 0,
            self.named_in_task / np.where(self.offered_in_task > 0, self.offered_in_task, 1.0),
            class_share,
        )

    def log_odds(self, hits: F8, alarms: F8) -> F8:
        """Return the log odds [task, class] without the rate, given hits and alarms [worker, class]."""
        unsaid = np.log1p(-hits) - np.log1p(-alarms)
        more = np.log(hits) - np.log(alarms) - unsaid
        out = self._over_tasks(np.asarray(self._by_place @ unsaid))
        task, worker, weight = self._entries
        named = more.ravel()[worker]
        out += self._table(task, named if weight is None else named * weight, self.n_tasks)
        return out

    def counts(self, posterior: F8) -> tuple[F8, F8]:
        """Return expected counts (named and true, offered and true), both [worker, class], under a posterior."""
        task, worker, weight = self._entries
        p = posterior.ravel()[task]
        named = self._table(worker, p if weight is None else p * weight, self.n_workers)
        return named, np.asarray(self._by_worker @ self._at_places(posterior))

    def _table(self, cell: I8, weight: F8 | None, n: int) -> F8:
        flat = np.bincount(cell, weights=weight, minlength=n * self.n_classes)
        return flat.astype(np.float64, copy=False).reshape(n, self.n_classes)


# ----------------------------------------------------------------
# EM for classes that belong to tasks or not, each class separately, with Beta priors on hits and alarms.
#     member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w, k] if member else alarms[w, k])
#     hits[w, k] ~ Beta(1 + a, 1 + b),  alarms[w, k] ~ Beta(1 + c, 1 + d) with pseudo-counts [worker, class]
#
# With `tied`, a worker has one pair of rates for all classes: counts and pseudo-counts are then [worker, 1].

I1 = npt.NDArray[np.int8]
# Rates are clipped to stay this far from 0 and 1.
EDGE = 1e-9


@dataclass(frozen=True)
class Pseudo:
    """Pseudo-counts of naming (yes) and not naming (no) a class where it is true and where it is not."""

    true_yes: F8
    true_no: F8
    false_yes: F8
    false_no: F8
    rate: float = 1.0


@dataclass(frozen=True)
class SetRates:
    """Rates: hits and alarms [worker, class], rate[class]."""

    hits: F8
    alarms: F8
    rate: F8


@dataclass(frozen=True)
class Counts:
    """Expected counts per worker and class; expected number of tasks with each class, and of tasks that offered it."""

    named_true: F8
    true: F8
    named_false: F8
    false: F8
    mass: F8
    n_offered: F8


class SetModel:
    """The steps of EM, with gold[task, class] (1, 0, or -1 if unknown)."""

    def __init__(self, rows: SetRows, gold: I1 | None, tied: bool = False) -> None:
        self.rows, self.gold, self.tied = rows, gold, tied
        self.is_offered = rows.offered_in_task > 0
        self.all_offered = bool(self.is_offered.all())

    def clamp(self, posterior: F8) -> F8:
        """Return the posterior with gold in place of the estimates."""
        return posterior if self.gold is None else np.where(self.gold >= 0, self.gold, posterior)

    def counts(self, posterior: F8) -> Counts:
        """Return the expected counts under a posterior."""
        named, true = self.rows.counts(posterior)
        all_named, offered = self.rows.named_by_worker, self.rows.offered_to_worker
        parts = [named, true, np.maximum(all_named - named, 0.0), np.maximum(offered - true, 0.0)]
        if self.tied:
            parts = [np.asarray(part.sum(axis=1, keepdims=True)) for part in parts]
        mass = posterior.sum(axis=0) if self.all_offered else np.where(self.is_offered, posterior, 0.0).sum(axis=0)
        return Counts(parts[0], parts[1], parts[2], parts[3], mass, self.is_offered.sum(axis=0).astype(np.float64))

    def rates(self, counts: Counts, pseudo: Pseudo) -> SetRates:
        """Run the M-step: the mode of the posterior density."""
        hits = (counts.named_true + pseudo.true_yes) / np.maximum(counts.true + pseudo.true_yes + pseudo.true_no, EDGE)
        alarms = (counts.named_false + pseudo.false_yes) / np.maximum(
            counts.false + pseudo.false_yes + pseudo.false_no, EDGE
        )
        rate = (counts.mass + pseudo.rate) / np.maximum(counts.n_offered + 2 * pseudo.rate, EDGE)
        return SetRates(*(np.clip(value, EDGE, 1 - EDGE) for value in (hits, alarms, rate)))

    def full(self, rates: SetRates) -> tuple[F8, F8]:
        """Return hits and alarms [worker, class], expanded if they are tied."""
        shape = (self.rows.n_workers, self.rows.n_classes)
        return np.broadcast_to(rates.hits, shape), np.broadcast_to(rates.alarms, shape)

    def posterior(self, rates: SetRates, pseudo: Pseudo) -> tuple[F8, float]:
        """Run the E-step; also return the log posterior density of the rates."""
        hits, alarms = self.full(rates)
        odds = self.rows.log_odds(hits, alarms)
        odds += np.log(rates.rate) - np.log1p(-rates.rate)
        tail = np.exp(-np.abs(odds))
        soft = np.log1p(tail)  # log(1 + exp(odds)) without its linear part
        soft += np.maximum(odds, 0.0)
        if self.gold is not None:
            soft = np.where(self.gold >= 0, np.where(self.gold == 1, odds, 0.0), soft)
        cells = float(soft.sum()) + len(odds) * float(np.log1p(-rates.rate).sum())
        posterior = np.where(odds >= 0, 1.0, tail)
        tail += 1.0
        posterior /= tail
        named, unnamed = self.rows.named_by_worker, self.rows.offered_to_worker - self.rows.named_by_worker
        unsure = float((named * np.log(alarms) + unnamed * np.log1p(-alarms)).sum())
        density = (
            (pseudo.true_yes * np.log(rates.hits) + pseudo.true_no * np.log1p(-rates.hits)).sum()
            + (pseudo.false_yes * np.log(rates.alarms) + pseudo.false_no * np.log1p(-rates.alarms)).sum()
            + pseudo.rate * (np.log(rates.rate) + np.log1p(-rates.rate)).sum()
        )
        return self.clamp(posterior), cells + unsure + float(density)


# ----------------------------------------------------------------
# The prior shared by a crowd: some classes are easy to miss, and some workers miss many.
#     hits[w, k] ~ Beta(strength[k] · m), logit m = logit(pooled hits of class k) + shift[w], shift[w] ~ N(0, spread²)
#
# and the same for alarms, with a separate shift. The shifts are posterior modes by Newton's method, the spread is
# estimated by EM over the shifts, and the strength of each class maximises the evidence on a grid.

GRID = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0])
# Maximum number of workers used to choose the strengths.
MAX_WORKERS = 2000
# Grid index of the initial strength, 8.
_INITIAL_STRENGTH = 4
_MIN_VARIANCE = 1e-3


@dataclass(frozen=True)
class RatePrior:
    """Prior of hits or of alarms: shift[worker], the variance of the shifts, and the strength of each class."""

    shift: F8
    variance: float
    grid_index: I8
    mean: F8

    @classmethod
    def start(cls, m: int, k: int, variance: float) -> RatePrior:
        """Return the initial prior."""
        return cls(np.zeros(m), variance, np.full(k, _INITIAL_STRENGTH), np.full((m, k), 0.5))

    def update(self, named: F8, n: F8, guess: float, weight: float, *, shifts: bool) -> RatePrior:
        """Update from expected counts [worker, class], with `weight` pseudo-counts at the rate `guess`."""
        pooled = (named.sum(axis=0) + weight * guess) / (n.sum(axis=0) + weight)
        base = np.log(pooled) - np.log1p(-pooled)
        new = self._with_shifts(named, n, base) if shifts else self
        mean = np.clip(expit(base + new.shift[:, None]), 1e-6, 1 - 1e-6)
        return replace(new, mean=mean, grid_index=new._best_strength(named, n, mean))

    def _with_shifts(self, named: F8, n: F8, base: F8) -> RatePrior:
        shift, variance = self.shift, self.variance
        has_counts = n.sum(axis=1) > 0
        steep = np.full(len(shift), 1 / variance)
        for _ in range(6):
            p = expit(base + shift[:, None])
            slope = (named - n * p).sum(axis=1) - shift / variance
            steep = (n * p * (1 - p)).sum(axis=1) + 1 / variance
            shift = shift + np.clip(slope / steep, -2, 2)
        if has_counts.any():
            variance = max(float((shift[has_counts] ** 2 + 1 / steep[has_counts]).mean()), _MIN_VARIANCE)
        return replace(self, shift=shift, variance=variance)

    def _best_strength(self, named: F8, n: F8, mean: F8) -> I8:
        """Return the grid index of the best strength among the current one and its two neighbours."""
        has_counts = np.flatnonzero(n.sum(axis=1) > 0)
        sample = has_counts[:: max(len(has_counts) // MAX_WORKERS, 1)]
        named, n, mean = named[sample], n[sample], mean[sample]
        candidates = np.clip(self.grid_index + np.arange(-1, 2)[:, None], 0, len(GRID) - 1)
        evidence = [_evidence(named, n, mean, GRID[place]) for place in candidates]
        return np.asarray(candidates[np.argmax(evidence, axis=0), np.arange(len(self.grid_index))])

    @property
    def strength(self) -> F8:
        """strength[class] of the Beta priors."""
        return GRID[self.grid_index]

    def pseudo(self) -> tuple[F8, F8]:
        """Return the pseudo-counts of yes and no."""
        return self.strength * self.mean, self.strength * (1 - self.mean)


def _evidence(named: F8, n: F8, mean: F8, strength: F8) -> F8:
    """Return the log evidence of each class's counts under Beta(strength · mean)."""
    a, b = strength * mean, strength * (1 - mean)
    return np.asarray((betaln(a + named, b + np.maximum(n - named, 0.0)) - betaln(a, b)).sum(axis=0))


@dataclass(frozen=True)
class CrowdPrior:
    """Priors of hits and alarms shared by all workers."""

    hits: RatePrior
    alarms: RatePrior

    @classmethod
    def start(cls, m: int, k: int, variance: float = 0.5) -> CrowdPrior:
        """Return the initial priors."""
        return cls(RatePrior.start(m, k, variance), RatePrior.start(m, k, variance))

    def update(self, counts: Counts, weight: float, *, shifts: bool) -> CrowdPrior:
        """Update from the expected counts of all workers."""
        size = float(counts.true.sum() + counts.false.sum())
        usual = float(counts.named_true.sum() + counts.named_false.sum()) / size if size else 0.5
        low = min(usual, 0.2)  # prior guess of the false-alarm rate
        return CrowdPrior(
            self.hits.update(counts.named_true, counts.true, 0.8, weight, shifts=shifts),
            self.alarms.update(counts.named_false, counts.false, low, weight, shifts=shifts),
        )

    def pseudo(self, rate: float) -> Pseudo:
        """Return the pseudo-counts of the M-step."""
        return Pseudo(*self.hits.pseudo(), *self.alarms.pseudo(), rate)


# ----------------------------------------------------------------
# Workers who name classes without looking at the task. Each worker's answers are evaluated under two models:
#     honest   a true class is named with log odds hit[class] + s + v, any other class with alarm[class] + t + v
#     idle     a class is named with log odds named[class] + u + v, regardless of the task
#
# s, t and u are effects of the worker; v is the worker's habit with one class, the same in both models, so naming a
# class often, or always, is not evidence of being idle. Whether a class is true is the belief from all other workers.
# The crowd's hit, alarm and named, the spread of the workers and the share of idle workers are estimated. Beliefs are
# binned, so that the cost of a fit does not grow with the number of answers.

# In log odds: bins of beliefs; grid of worker effects; habits with a class and their prior, most of them small, a few
# so large that a class is always or never named.
BIN_EDGES = np.arange(-6.0, 7.0)
SHIFT = np.linspace(-4.2, 4.2, 15)
HABITS, HABIT_PRIOR = (-4.0, -0.8, 0.0, 0.8, 4.0), (0.01, 0.17, 0.64, 0.17, 0.01)
# Standard deviations of s and t among honest workers and their prior; share and standard deviation of outliers.
SPREADS, SPREAD_PRIOR = (0.3, 0.6, 1.0, 1.5), (0.25, 0.3, 0.3, 0.15)
STRAY, STRAY_SPREAD = 0.02, 2.0
# Standard deviation of u among idle workers.
IDLE_SPREAD = 0.7
# Pseudo-cells that shrink the rates of a class to those of all classes; maximum number of rounds; change of the
# probabilities at which they stop; EM iterations per round.
SHRINKAGE, ROUNDS, TOLERANCE, PASSES = 2.0, 6, 1e-3, 15
TINY = 1e-4


@dataclass(frozen=True, eq=False)
class BeliefBins:
    """Answers binned by belief: yes and no [class, worker, bin], and the mean belief of each bin."""

    yes: F8
    no: F8
    belief: F8


def bin_answers(worker: I8, belief: F8, named: Mask, offered: Mask, n_workers: int) -> BeliefBins:
    """Bin the answers, given belief, named and offered [row, class]."""
    belief = np.clip(belief, TINY, 1 - TINY)
    at = np.searchsorted(BIN_EDGES, logit(belief))
    n, k = len(BIN_EDGES) + 1, belief.shape[1]
    place = worker[:, None] * n + at
    yes, no = (
        np.array([np.bincount(place[:, c], use[:, c], n_workers * n) for c in range(k)]).reshape(k, n_workers, n)
        for use in ((named & offered).astype(np.float64), (~named & offered).astype(np.float64))
    )
    total = np.bincount(at.ravel(), offered.ravel(), n)
    mean = np.bincount(at.ravel(), (belief * offered).ravel(), n) / np.maximum(total, 1)
    return BeliefBins(yes, no, np.where(total > 0, mean, 0.5))


def idle_probabilities(cells: BeliefBins, included: Mask) -> F8:
    """Return the probability that each worker is idle; workers who are not `included` are ignored and get 0."""
    idle = np.where(included, 0.1, 1.0)
    for _ in range(ROUNDS):
        hit, alarm = _rates(cells, 1 - idle)
        honest, idle_evidence = _log_evidence(cells, hit, alarm, _named(cells, included))
        last, idle = idle, np.where(included, _idle_posterior(honest, idle_evidence, included), 1.0)
        if np.abs(idle - last).max(initial=0.0) < TOLERANCE:
            break
    return np.where(included, idle, 0.0)


def _rates(cells: BeliefBins, trust: F8) -> tuple[F8, F8]:
    """Return the crowd's log odds of naming each class where it is true and where it is not, by EM."""
    yes, no = (np.einsum("kwb,w->kb", counts, trust) for counts in (cells.yes, cells.no))
    q = cells.belief
    hit, alarm = np.full((len(yes), 1), 0.5), np.full((len(yes), 1), 0.05)
    for _ in range(PASSES):
        hits = yes * q * hit / (q * hit + (1 - q) * alarm)
        misses = no * q * (1 - hit) / (q * (1 - hit) + (1 - q) * (1 - alarm))
        hit, alarm = (_shrunk_share(one, two) for one, two in ((hits, misses), (yes - hits, no - misses)))
    return logit(np.clip(hit, 0.01, 0.99))[:, 0], logit(np.clip(alarm, 5e-4, 0.95))[:, 0]


def _shrunk_share(yes: F8, no: F8) -> F8:
    """Return the share of yes of each class, shrunk to the share of all classes."""
    share = yes.sum() / max(float(yes.sum() + no.sum()), TINY)
    one, two = yes.sum(axis=1), no.sum(axis=1)
    return np.asarray((one + SHRINKAGE * share) / (one + two + SHRINKAGE))[:, None]


def _named(cells: BeliefBins, included: Mask) -> F8:
    """Return the crowd's log odds of naming each class, regardless of the task."""
    share = _shrunk_share(cells.yes[:, included].sum(axis=1), cells.no[:, included].sum(axis=1))
    return np.asarray(logit(np.clip(share[:, 0], 2e-3, 0.98)))


def _log_evidence(cells: BeliefBins, hit: F8, alarm: F8, named: F8) -> tuple[F8, F8]:
    """Return the log-likelihoods [worker, s, t] of honest and [worker, u] of idle workers, averaged over habits."""
    m, g, q = cells.yes.shape[1], len(SHIFT), cells.belief[:, None, None]
    honest, idle = np.zeros((m, g * g)), np.zeros((m, g))
    for c, (yes, no) in enumerate(zip(cells.yes, cells.no, strict=True)):
        looks, blind = [], []
        ones, zeros = yes.sum(axis=1)[:, None], no.sum(axis=1)[:, None]
        for habit, prior in zip(HABITS, HABIT_PRIOR, strict=True):
            of_true, of_false = expit(hit[c] + SHIFT + habit)[:, None], expit(alarm[c] + SHIFT + habit)
            p = np.clip(q * of_true + (1 - q) * of_false, TINY, 1 - TINY).reshape(len(q), -1)
            looks.append(yes @ np.log(p) + no @ np.log1p(-p) + np.log(prior))
            r = np.clip(expit(named[c] + SHIFT + habit), TINY, 1 - TINY)
            blind.append(ones * np.log(r) + zeros * np.log1p(-r) + np.log(prior))
        honest += logsumexp(looks, axis=0)
        idle += logsumexp(blind, axis=0)
    return honest.reshape(m, g, g), idle


def _normal(spread: float) -> F8:
    density = np.exp(-0.5 * (SHIFT / spread) ** 2)
    return np.asarray(density / density.sum())


def _idle_posterior(honest: F8, idle: F8, included: Mask) -> F8:
    blind = logsumexp(idle + np.log(_normal(IDLE_SPREAD)), axis=1)
    top = np.maximum(honest.max(axis=(1, 2)), blind)
    likelihood = np.exp(honest - top[:, None, None])
    stray = likelihood @ _normal(STRAY_SPREAD) @ _normal(STRAY_SPREAD)
    good, prior = [], []
    for s, p in zip(SPREADS, SPREAD_PRIOR, strict=True):
        for t, q in zip(SPREADS, SPREAD_PRIOR, strict=True):
            good.append((1 - STRAY) * (likelihood @ _normal(t) @ _normal(s)) + STRAY * stray)
            prior.append(np.log(p * q))
    out = np.zeros(len(blind))
    posterior = posterior_of(np.exp(blind - top)[included], None, np.stack(good, axis=1)[included], np.array(prior))
    out[included] = posterior[0]
    return out


# ----------------------------------------------------------------
# Scores against the truth: F1 over all classes and per class, Jaccard, exact sets, log loss.
# Every score is a function of sums over tasks, so bootstrap intervals come from task counts: a resample is a row of
# counts, and all scores of all resamples come from one product.

# Probabilities are clipped to stay this far from 0 and 1 in the log loss.
CLIP = 1e-6
# Number of (resample, task) cells that are processed at a time.
_CELLS = 4_000_000
# Maximum number of resamples × tasks; larger data get fewer resamples.
_DRAWS = 100_000_000


@dataclass(frozen=True)
class SetScores:
    """Scores by name, their intervals, and the counts of each class."""

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    by_class: F8  # counts[class, (correct, estimated, true)]


def set_scores(estimated: Mask, p: F8 | None, truth: I1, resamples: int = 0, seed: int = 0) -> SetScores:
    """Return the scores of estimated[task, class] against truth[task, class] (1, 0, or -1: not counted).

    p[task, class] are the probabilities, if there are any.
    """
    counted, true = truth >= 0, truth == 1
    estimated = estimated & counted
    right = estimated & true
    per_task = [right.sum(axis=1), estimated.sum(axis=1), true.sum(axis=1)]
    intersection, union = per_task[0], per_task[1] + per_task[2] - per_task[0]
    terms = {
        "jaccard": np.where(union > 0, intersection / np.maximum(union, 1), 1.0),
        "exact": (estimated == true).all(axis=1, where=counted).astype(np.float64),
        "hamming": ((estimated == true) & counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1),
    }
    if p is not None:
        chance = np.clip(np.where(true, p, 1 - p), CLIP, 1.0)
        n = np.maximum(counted.sum(axis=1), 1)
        terms["log_loss"] = np.where(counted, -np.log(chance), 0.0).sum(axis=1) / n
        terms["brier"] = np.where(counted, (p - true) ** 2, 0.0).sum(axis=1) / n
    by_class = np.stack([x.sum(axis=0) for x in (right, estimated, true)], axis=1).astype(np.float64)
    values = {**_f1(by_class[None]), **{name: np.array([term.mean()]) for name, term in terms.items()}}
    scores = {name: float(value[0]) for name, value in values.items()}
    intervals = _intervals(terms, [right, estimated, true], resamples, seed) if resamples else {}
    return SetScores(scores, intervals, by_class)


def f1_of(counts: F8) -> F8:
    """Return 2 · correct / (estimated + true) over the last axis; NaN if both are 0."""
    total = counts[..., 1] + counts[..., 2]
    return np.where(total > 0, 2 * counts[..., 0] / np.where(total > 0, total, 1.0), np.nan)


def _f1(counts: F8) -> dict[str, F8]:
    """Return micro and macro F1 of counts[draw, class, (correct, estimated, true)]; 1 if all counts are 0."""
    micro = np.nan_to_num(f1_of(counts.sum(axis=1)), nan=1.0)
    class_f1 = f1_of(counts)
    is_defined = np.isfinite(class_f1)
    macro = np.where(
        is_defined.any(axis=1),
        np.where(is_defined, class_f1, 0.0).sum(axis=1) / np.maximum(is_defined.sum(axis=1), 1),
        1.0,
    )
    return {"micro_f1": micro, "macro_f1": macro}


def _intervals(terms: dict[str, F8], parts: list[Mask], resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    n, k = parts[0].shape
    table = csr_array(np.concatenate(parts, axis=1).astype(np.float64)).T.tocsr()  # part and class, task
    names = list(terms)
    means = np.stack([terms[name] for name in names])

    def scores(times: F8) -> dict[str, F8]:
        sums = np.asarray(table @ times.T).T.reshape(len(times), 3, k).transpose(0, 2, 1)
        return {**_f1(sums), **dict(zip(names, (means @ times.T) / n, strict=True))}

    resamples = min(resamples, max(_DRAWS // max(n, 1), 100))
    return resampled_intervals(n, resamples, seed, scores, draws_at_a_time=max(1, _CELLS // max(n, 1)))


# ---------------------------------------------------------------- Sets as bits, and the distance of two sets
# MASI: 1 - J · M, where J is the Jaccard index and M is 1 for equal sets, 2/3 if one contains the other, 1/3 if they
# overlap, 0 if they are disjoint. Passonneau (2006), LREC, aclanthology.org/L06-1392.

U8 = npt.NDArray[np.uint64]


def packed(row: npt.NDArray[Any], code: npt.NDArray[Any], n_rows: int, n_classes: int) -> U8:
    """Return words[row, class // 64] with a bit for each class that the row names."""
    n_words = max((n_classes + 63) // 64, 1)
    out = np.zeros((n_rows, n_words), dtype=np.uint64)
    bit = np.left_shift(np.uint64(1), (code % 64).astype(np.uint64))
    np.bitwise_or.at(out, (row, code // 64), bit)
    return out


def sizes(words: U8) -> npt.NDArray[np.int64]:
    """Return the number of bits of each row."""
    return np.asarray(np.bitwise_count(words).sum(axis=1), dtype=np.int64)


def masi(words: U8, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """Return the MASI distance of rows i and j; two empty sets have distance 0."""
    a, b = words[i], words[j]
    n_common, n_union, n_left, n_right = sizes(a & b), sizes(a | b), sizes(a), sizes(b)
    jaccard = np.where(n_union > 0, n_common / np.maximum(n_union, 1), 1.0)
    equal = n_common == n_union
    within = (n_common == n_left) | (n_common == n_right)
    monotonicity = np.select([equal, (n_common > 0) & within, n_common > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    return np.asarray(1.0 - jaccard * monotonicity)
