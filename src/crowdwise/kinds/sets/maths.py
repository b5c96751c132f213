"""Sets as sparse cells: what they say of every task and class, and what every worker said and left unsaid.

For each class by itself, x = 1 where a worker named it and 0 where they did not although it was offered. With
hits h[worker, class] = P(x = 1 | true) and alarms f[worker, class] = P(x = 1 | not true) the log-odds of a task are

    logit(rate) + Σ_rows log((1 - h) / (1 - f)) + Σ_named [log(h / f) - log((1 - h) / (1 - f))]

so that the unsaid, most of all cells, is one product of a sparse task × worker matrix with a table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import betaln, expit, logit, logsumexp

from ...stats.abilities import chances_of
from ...stats.bootstrap import central, times_drawn

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetRows:
    """Rows of task and worker codes; entries `code` of row start[i]..start[i + 1]; menus[menu[row]] was offered."""

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
        """(place of each row, task of each place, offered[place, class]): a place is a task under one menu."""
        if self.menu is None or self.menus is None:
            return self.task, None, None
        key = self.task.astype(np.int64) * len(self.menus) + self.menu
        found, place = np.unique(key, return_inverse=True)
        return place, found // len(self.menus), self.menus[found % len(self.menus)]

    @cached_property
    def _graph(self) -> Any:
        """Weights by place and worker."""
        place, of, _ = self._places
        n = self.n_tasks if of is None else len(of)
        ones = np.ones(len(self.task)) if self.weight is None else self.weight
        return csr_array((ones, (place, self.worker)), shape=(n, self.n_workers))

    @cached_property
    def _turned(self) -> Any:
        """The same by worker and place."""
        return self._graph.T.tocsr()

    @cached_property
    def _entries(self) -> tuple[I8, I8, F8 | None]:
        """Of every named class: its cell among tasks, its cell among workers, its weight."""
        row = np.repeat(np.arange(len(self.task)), np.diff(self.start))
        cells = [who[row].astype(np.int64) * self.n_classes + self.code for who in (self.task, self.worker)]
        return cells[0], cells[1], None if self.weight is None else self.weight[row]

    def _over_tasks(self, values: F8) -> F8:
        """values[place, class] summed over the places of each task, as far as offered."""
        _, of, offered = self._places
        if of is None or offered is None:
            return values
        out = np.zeros((self.n_tasks, values.shape[1]))
        np.add.at(out, of, values * offered)
        return out

    def _at_places(self, values: F8) -> F8:
        """values[task, class] at every place, 0 where not offered."""
        _, of, offered = self._places
        return values if of is None or offered is None else values[of] * offered

    @cached_property
    def said(self) -> F8:
        """said[worker, class]: how often they named it."""
        _, cell, weight = self._entries
        return self._table(cell, weight, self.n_workers)

    @cached_property
    def offered(self) -> F8:
        """offered[worker, class]: how often they could have."""
        return np.asarray(self._turned @ self._at_places(np.ones((self.n_tasks, self.n_classes))))

    @cached_property
    def votes(self) -> F8:
        """votes[task, class]: how often the class was named."""
        cell, _, weight = self._entries
        return self._table(cell, weight, self.n_tasks)

    @cached_property
    def asked(self) -> F8:
        """asked[task, class]: how often it could have been."""
        return self._over_tasks(np.asarray(self._graph @ np.ones((self.n_workers, self.n_classes))))

    def shares(self) -> F8:
        """Share of those who were offered a class and named it; the class's own share where nobody was."""
        named, asked = self.votes.sum(axis=0), self.asked.sum(axis=0)
        usual = named / np.maximum(asked, 1e-300)
        return np.where(self.asked > 0, self.votes / np.where(self.asked > 0, self.asked, 1.0), usual)

    def log_odds(self, hits: F8, alarms: F8) -> F8:
        """Of every task and class, without the rate: by each worker's hits and alarms [worker, class]."""
        unsaid = np.log1p(-hits) - np.log1p(-alarms)
        more = np.log(hits) - np.log(alarms) - unsaid
        out = self._over_tasks(np.asarray(self._graph @ unsaid))
        task, worker, weight = self._entries
        named = more.ravel()[worker]
        out += self._table(task, named if weight is None else named * weight, self.n_tasks)
        return out

    def counts(self, posterior: F8) -> tuple[F8, F8]:
        """(named and true, offered and true), both [worker, class], expected under posterior[task, class]."""
        task, worker, weight = self._entries
        p = posterior.ravel()[task]
        named = self._table(worker, p if weight is None else p * weight, self.n_workers)
        return named, np.asarray(self._turned @ self._at_places(posterior))

    def _table(self, cell: I8, weight: F8 | None, n: int) -> F8:
        flat = np.bincount(cell, weights=weight, minlength=n * self.n_classes)
        return flat.astype(np.float64, copy=False).reshape(n, self.n_classes)


# ----------------------------------------------------------------
# EM for classes that belong to tasks or not, each class by itself, with Beta priors on hits and alarms.
#     member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w, k] if member else alarms[w, k])
#     hits[w, k] ~ Beta(1 + a, 1 + b),  alarms[w, k] ~ Beta(1 + c, 1 + d) with pseudo-counts [worker, class]
#
# `tied` gives a worker one pair of rates for all classes: counts and pseudo-counts are then [worker, 1].

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


# ----------------------------------------------------------------
# What is common to a crowd that answers with sets: classes that are easy to miss, workers who miss much.
#     hits[w, k] ~ Beta(strength[k] · m), logit m = logit(pooled hits of class k) + shift[w], shift[w] ~ N(0, spread²)
#
# and the same for alarms, with a shift of its own. Shifts are modes by Newton's method, the spread is learnt by EM
# over the shifts, the strength of each class has the highest evidence on a grid.

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


# ----------------------------------------------------------------
# Who names classes without looking at the task? Each worker's answers are weighed under two laws:
#     honest   a class that holds is named with log odds hit[class] + s + v, any other with alarm[class] + t + v
#     idle     whatever the task, a class is named with log odds named[class] + u + v
#
# s, t and u are the worker's, v their habit with one class, the same in both laws: who names a class often, or
# always, is not idle for that. Whether a class holds is what everybody else says of it. The crowd's hit, alarm and
# named, how far workers lie apart and how many are idle come from the crowd itself. Beliefs go into bins, so that the
# cost of a fit does not grow with the number of answers.

# In log odds: bins of beliefs; where a worker may stand beside the crowd; habits with a class and how likely they are,
# most small, a few so large that a class is named always or never.
EDGES = np.arange(-6.0, 7.0)
SHIFT = np.linspace(-4.2, 4.2, 15)
HABITS, HABIT_PRIOR = (-4.0, -0.8, 0.0, 0.8, 4.0), (0.01, 0.17, 0.64, 0.17, 0.01)
# How far honest workers may lie apart in s and in t, and how likely that is; some are far from the others.
SPREADS, SPREAD_PRIOR = (0.3, 0.6, 1.0, 1.5), (0.25, 0.3, 0.3, 0.15)
STRAY, STRAY_SPREAD = 0.02, 2.0
# How far idle workers lie apart in u.
IDLE_SPREAD = 0.7
# The crowd's rates of a class are drawn to those of all classes by so many cells; rounds of rates and chances, fewer
# where no chance moves by more than this; passes of a round.
HELD, ROUNDS, SETTLED, PASSES = 2.0, 6, 1e-3, 15
TINY = 1e-4


@dataclass(frozen=True, eq=False)
class Cells:
    """Answers in bins: yes and no [class, worker, bin], and the mean belief of each bin."""

    yes: F8
    no: F8
    belief: F8


def cells_of(worker: I8, belief: F8, named: Mask, offered: Mask, n_workers: int) -> Cells:
    """From belief, named and offered [row, class]."""
    belief = np.clip(belief, TINY, 1 - TINY)
    at = np.searchsorted(EDGES, logit(belief))
    n, k = len(EDGES) + 1, belief.shape[1]
    place = worker[:, None] * n + at
    yes, no = (
        np.array([np.bincount(place[:, c], use[:, c], n_workers * n) for c in range(k)]).reshape(k, n_workers, n)
        for use in ((named & offered).astype(np.float64), (~named & offered).astype(np.float64))
    )
    total = np.bincount(at.ravel(), offered.ravel(), n)
    mean = np.bincount(at.ravel(), (belief * offered).ravel(), n) / np.maximum(total, 1)
    return Cells(yes, no, np.where(total > 0, mean, 0.5))


def idle_chances(cells: Cells, known: Mask) -> F8:
    """Of each worker, the chance that they do not look; those who are not `known` have 0, and tell nothing."""
    found = np.where(known, 0.1, 1.0)
    for _ in range(ROUNDS):
        hit, alarm = _rates(cells, 1 - found)
        honest, idle = _looking_evidence(cells, hit, alarm, _named(cells, known))
        last, found = found, np.where(known, _chances(honest, idle, known), 1.0)
        if np.abs(found - last).max(initial=0.0) < SETTLED:
            break
    return np.where(known, found, 0.0)


def _rates(cells: Cells, trust: F8) -> tuple[F8, F8]:
    """The crowd's log odds of naming a class that holds, and one that does not, by EM over what holds."""
    yes, no = (np.einsum("kwb,w->kb", each, trust) for each in (cells.yes, cells.no))
    q = cells.belief
    hit, alarm = np.full((len(yes), 1), 0.5), np.full((len(yes), 1), 0.05)
    for _ in range(PASSES):
        hits = yes * q * hit / (q * hit + (1 - q) * alarm)
        misses = no * q * (1 - hit) / (q * (1 - hit) + (1 - q) * (1 - alarm))
        hit, alarm = (_held(one, two) for one, two in ((hits, misses), (yes - hits, no - misses)))
    return logit(np.clip(hit, 0.01, 0.99))[:, 0], logit(np.clip(alarm, 5e-4, 0.95))[:, 0]


def _held(yes: F8, no: F8) -> F8:
    """The share of yes of each class, drawn to that of all classes."""
    share = yes.sum() / max(float(yes.sum() + no.sum()), TINY)
    one, two = yes.sum(axis=1), no.sum(axis=1)
    return np.asarray((one + HELD * share) / (one + two + HELD))[:, None]


def _named(cells: Cells, known: Mask) -> F8:
    """The crowd's log odds of naming each class, whatever the task."""
    found = _held(cells.yes[:, known].sum(axis=1), cells.no[:, known].sum(axis=1))
    return np.asarray(logit(np.clip(found[:, 0], 2e-3, 0.98)))


def _looking_evidence(cells: Cells, hit: F8, alarm: F8, named: F8) -> tuple[F8, F8]:
    """Log-likelihoods [worker, s, t] and [worker, u], summed over classes, each averaged over habits."""
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


def _chances(honest: F8, idle: F8, known: Mask) -> F8:
    blind = logsumexp(idle + np.log(_normal(IDLE_SPREAD)), axis=1)
    top = np.maximum(honest.max(axis=(1, 2)), blind)
    each = np.exp(honest - top[:, None, None])
    far = each @ _normal(STRAY_SPREAD) @ _normal(STRAY_SPREAD)
    good, prior = [], []
    for s, p in zip(SPREADS, SPREAD_PRIOR, strict=True):
        for t, q in zip(SPREADS, SPREAD_PRIOR, strict=True):
            good.append((1 - STRAY) * (each @ _normal(t) @ _normal(s)) + STRAY * far)
            prior.append(np.log(p * q))
    out = np.zeros(len(blind))
    found = chances_of(np.exp(blind - top)[known], None, np.stack(good, axis=1)[known], np.array(prior))
    out[known] = found[0]
    return out


# ----------------------------------------------------------------
# How good sets are, given the truth: F1 over all classes and class by class, Jaccard, exact sets, log-loss.
# Every score is a function of sums over tasks, so intervals come from tasks drawn with replacement: a draw is a row
# of task counts, and all scores of all draws come from one product.

# Probabilities nearer to 0 or 1 than this count as this in the log-loss.
CLIP = 1e-6
# Task counts are made for so many (draw, task) cells at a time.
_CELLS = 4_000_000
# Draws × tasks beyond which fewer draws do.
_DRAWS = 100_000_000


@dataclass(frozen=True)
class SetScores:
    """The scores by name, their intervals where they were asked for, and F1 of each class with its counts."""

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    by_class: F8  # class: right, said, true


def set_scores(said: Mask, p: F8 | None, known: I1, resamples: int = 0, seed: int = 0) -> SetScores:
    """Of said[task, class] against known[task, class] (1, 0, or -1: not counted), with p[task, class] if there is."""
    counted, true = known >= 0, known == 1
    said = said & counted
    right = said & true
    per_task = [right.sum(axis=1), said.sum(axis=1), true.sum(axis=1)]
    both, one = per_task[0], per_task[1] + per_task[2] - per_task[0]
    terms = {
        "jaccard": np.where(one > 0, both / np.maximum(one, 1), 1.0),
        "exact": (said == true).all(axis=1, where=counted).astype(np.float64),
        "hamming": ((said == true) & counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1),
    }
    if p is not None:
        own = np.clip(np.where(true, p, 1 - p), CLIP, 1.0)
        n = np.maximum(counted.sum(axis=1), 1)
        terms["log_loss"] = np.where(counted, -np.log(own), 0.0).sum(axis=1) / n
        terms["brier"] = np.where(counted, (p - true) ** 2, 0.0).sum(axis=1) / n
    by_class = np.stack([x.sum(axis=0) for x in (right, said, true)], axis=1).astype(np.float64)
    values = {**_f1(by_class[None]), **{name: np.array([term.mean()]) for name, term in terms.items()}}
    found = {name: float(value[0]) for name, value in values.items()}
    between = _intervals(terms, [right, said, true], resamples, seed) if resamples else {}
    return SetScores(found, between, by_class)


def f1_of(counts: F8) -> F8:
    """2 right / (said + true) over the last axis; NaN where neither was."""
    both = counts[..., 1] + counts[..., 2]
    return np.where(both > 0, 2 * counts[..., 0] / np.where(both > 0, both, 1.0), np.nan)


def _f1(counts: F8) -> dict[str, F8]:
    """Micro and macro F1 of counts[draw, class, (right, said, true)]; nothing said and nothing true is all right."""
    micro = np.nan_to_num(f1_of(counts.sum(axis=1)), nan=1.0)
    each = f1_of(counts)
    some = np.isfinite(each)
    macro = np.where(some.any(axis=1), np.where(some, each, 0.0).sum(axis=1) / np.maximum(some.sum(axis=1), 1), 1.0)
    return {"micro_f1": micro, "macro_f1": macro}


def _intervals(terms: dict[str, F8], parts: list[Mask], resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    rng = np.random.default_rng(seed)
    n, k = parts[0].shape
    from scipy.sparse import csr_array

    table = csr_array(np.concatenate(parts, axis=1).astype(np.float64)).T.tocsr()  # part and class, task
    names = list(terms)
    means = np.stack([terms[name] for name in names])
    times = min(resamples, max(_DRAWS // max(n, 1), 100))
    step = max(1, _CELLS // max(n, 1))
    drawn: dict[str, list[F8]] = {}
    for lo in range(0, times, step):
        size = min(step, times - lo)
        count = times_drawn(size, n, rng)
        sums = np.asarray(table @ count.T).T.reshape(size, 3, k).transpose(0, 2, 1)
        own = {**_f1(sums), **dict(zip(names, (means @ count.T) / n, strict=True))}
        for name, value in own.items():
            drawn.setdefault(name, []).append(value)
    return {name: central(np.concatenate(values), n, 0.95) for name, values in drawn.items()}


# ---------------------------------------------------------------- Sets as bits, and how far two of them are apart
# MASI: 1 - J · M, where J is the share of common elements (Jaccard) and M is 1 for equal sets, 2/3 where one holds
# the other, 1/3 where they overlap, 0 where they have nothing in common. Passonneau (2006), LREC,
# aclanthology.org/L06-1392.

U8 = npt.NDArray[np.uint64]


def packed(row: npt.NDArray[Any], code: npt.NDArray[Any], n_rows: int, n_classes: int) -> U8:
    """words[row, class // 64] with a bit for each class that the row names."""
    n_words = max((n_classes + 63) // 64, 1)
    out = np.zeros((n_rows, n_words), dtype=np.uint64)
    bit = np.left_shift(np.uint64(1), (code % 64).astype(np.uint64))
    np.bitwise_or.at(out, (row, code // 64), bit)
    return out


def sizes(words: U8) -> npt.NDArray[np.int64]:
    """How many bits each row has."""
    return np.asarray(np.bitwise_count(words).sum(axis=1), dtype=np.int64)


def masi(words: U8, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """The MASI distance of rows i and j; two empty sets are the same."""
    a, b = words[i], words[j]
    both, either, left, right = sizes(a & b), sizes(a | b), sizes(a), sizes(b)
    jaccard = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    equal = both == either
    within = (both == left) | (both == right)
    kind = np.select([equal, (both > 0) & within, both > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    return np.asarray(1.0 - jaccard * kind)
