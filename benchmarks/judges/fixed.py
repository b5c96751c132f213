"""What the planted judges are told, solved from marginals that the expected table states, and from nothing else.

Errors made together: the effective number of judges and the accuracy of their majority fix two numbers; judges are
alike, or their own skills lie `SPREAD` on either side (a choice made beforehand). Repeats: the log-losses of one
repeat and of the modes. Confidences: the accuracy of labels alone, that of calibrated confidences, and the excess
log-loss of raw and of tempered confidences. All other figures are what comes out.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import brentq, least_squares, minimize_scalar

from crowdwise.judges.maths import effective_number, error_correlation
from crowdwise.kinds.classes.simulate.judges import ROUND
from crowdwise.stats.platt import logit
from tests.crowds import judges as planted

MANY, SEED, SPREAD = 100_000, 12, 0.1
# n_eff, accuracy of the majority.
MARGINALS = {"family": (3.3, 0.842), "attractor": (2.0, 0.756), "probit": (3.4, 0.926)}
START = {"family": (0.85, 0.92), "attractor": (0.85, 0.7), "probit": (0.85, 0.3)}
BOUNDS = {"family": ((0.4, 0.5), (1, 1)), "attractor": ((0.4, 0.1), (1, 1)), "probit": ((0.5, 0), (0.99, 0.5))}


@cache
def together(name, spread):
    """Two numbers of a generator that give the stated effective number and majority."""
    wanted = MARGINALS[name]

    def miss(told):
        truth, label = planted.MAKE[name](MANY, np.random.default_rng(SEED), *told, spread=spread)
        n_eff = effective_number(error_correlation((label != truth[:, None]).astype(float)).r)
        return [np.log(n_eff / wanted[0]), 4 * (planted.majority(label, truth) - wanted[1])]

    found = least_squares(miss, START[name], bounds=BOUNDS[name], diff_step=0.01, xtol=1e-4)
    return tuple(found.x.tolist()), float(np.abs(found.fun).max())


@cache
def repeated(way, one=0.434, mode=0.373):
    """Two numbers of `planted.REPEATS[way]`: best log-losses from one repeat a judge, and from each judge's mode, are
    the stated ones. By them it is known how often a judge's single verdict and mode are right."""
    p_one, p_mode = (brentq(lambda p, w=w: _votes_loss(p) - w, 0.5, 0.99) for w in (one, mode))
    ends, inner = {"opinion": ((0.5, 1), (0.8, 1)), "draws": ((0, 20), (0.3, 6))}[way]

    def right(told, firm):
        truth, rows = planted.REPEATS[way](MANY, np.random.default_rng(SEED), told, firm, judges=1)
        label = rows["label"].to_numpy().reshape(MANY, -1)
        votes = np.eye(planted.K)[label].sum(axis=1)
        top = votes == votes.max(axis=1, keepdims=True)
        return (label == truth[:, None]).mean(), (top[np.arange(MANY), truth] / top.sum(axis=1)).mean()

    def first(firm):
        return brentq(lambda x: right(x, firm)[0] - p_one, *ends, xtol=1e-3)

    firm = brentq(lambda x: right(first(x), x)[1] - p_mode, *inner, xtol=2e-3)
    return first(firm), firm


def _votes_loss(p, judges=3):
    """Expected log-loss of the true class given the verdicts of judges who are right with probability p."""
    k = planted.K
    odds = np.log(p) - np.log((1 - p) / (k - 1))
    every = np.indices((k,) * judges).reshape(judges, -1)
    hits = (every == 0).sum(axis=0)
    chance = p**hits * ((1 - p) / (k - 1)) ** (judges - hits)
    votes = np.stack([(every == c).sum(axis=0) for c in range(k)], axis=1) * odds
    return float(-(chance * (votes[:, 0] - np.logaddexp.reduce(votes, axis=1))).sum())


@cache
def overstated(labels=0.823, calibrated=0.906, raw=0.157, tempered=0.0145, judges=4):
    """(hidden, vary, shift, slope) of `planted.confident`."""
    rng = np.random.default_rng(SEED)
    normal, luck = rng.standard_normal((MANY, judges)), rng.random((MANY, judges))
    truth = rng.integers(planted.K, size=MANY)
    wrong = planted.other(np.repeat(truth[:, None], judges, axis=1), planted.K, rng)

    def crowd(centre, vary):
        z = centre + vary * normal
        return z, np.where(luck < 1 / (1 + np.exp(-z)), truth[:, None], wrong)

    def centre(vary):
        return brentq(lambda c: planted.majority(crowd(c, vary)[1], truth) - labels, 0, 3, xtol=1e-4)

    def told(vary):
        mean = centre(vary)

        def miss(told):
            of = Stated(mean, vary, *told)
            return [np.log(of.excess(ROUND) / raw), 0.3 * np.log(of.excess(of.tempered()) / tempered)]

        found = least_squares(miss, (0.5, 1.5), bounds=((-2, 0.1), (4, 6)), diff_step=0.02, xtol=1e-4)
        return mean, *found.x

    def by_odds(vary):
        mean, shift, slope = told(vary)
        z, label = crowd(mean, vary)
        of = Stated(mean, vary, shift, slope)
        odds = logit(of.right[of.said(z)]) + np.log(planted.K - 1)
        score = np.einsum("nm,nmk->nk", odds, np.eye(planted.K)[label])
        return (score.argmax(axis=1) == truth).mean() - calibrated

    vary = brentq(by_odds, 0.8, 4, xtol=1e-2)
    mean, shift, slope = told(vary)
    return float(1 / (1 + np.exp(-mean))), vary, float(shift), float(slope)


class Stated:
    """One judge's round confidences: how often each is said, and how often it is right then (exact, on a grid)."""

    def __init__(self, mean, vary, shift, slope):
        self.shift, self.slope = shift, slope
        z = mean + vary * np.linspace(-6, 6, 4001)
        weight = np.exp(-(((z - mean) / vary) ** 2) / 2)
        at = self.said(z)
        mass = np.bincount(at, weights=weight, minlength=len(ROUND))
        hits = np.bincount(at, weights=weight / (1 + np.exp(-z)), minlength=len(ROUND))
        self.share, self.right = mass / mass.sum(), hits / np.maximum(mass, 1e-300)

    def said(self, z):
        """Which round value is said at these log odds."""
        return np.searchsorted((ROUND[1:] + ROUND[:-1]) / 2, 1 / (1 + np.exp(-(self.shift + self.slope * z))))

    def excess(self, p):
        """Log-loss over that of the best map."""
        p, q = np.clip(p, 1e-6, 1 - 1e-6), np.clip(self.right, 1e-9, 1 - 1e-9)
        loss = q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
        return float((self.share * loss).sum())

    def tempered(self):
        """The best temperature of all."""
        heat = minimize_scalar(lambda t: self.excess(1 / (1 + np.exp(-logit(ROUND) / np.exp(t)))), bounds=(-3, 3))
        return 1 / (1 + np.exp(-logit(ROUND) / np.exp(heat.x)))

    def platt(self):
        """Excess log-loss of the best map of Platt's form: what no amount of gold takes away."""
        x = logit(ROUND)
        best = least_squares(lambda ab: np.sqrt(self.share) * _deviance(self.right, ab[0] + ab[1] * x), (0.0, 0.7))
        return self.excess(1 / (1 + np.exp(-(best.x[0] + best.x[1] * x))))


def _deviance(q, z):
    p, q = np.clip(1 / (1 + np.exp(-z)), 1e-9, 1 - 1e-9), np.clip(q, 1e-9, 1 - 1e-9)
    return np.sqrt(np.maximum(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)), 0))
