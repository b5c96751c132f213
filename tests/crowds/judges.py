"""Planted judges from first principles; what is free in them is settled in fixed.py by stated marginals alone.

family     each family has one hidden answer a task, its members report it
attractor  on hard tasks one wrong answer attracts every judge; elsewhere they err alone
probit     a verdict is wrong where the sum of a common draw, the family's and the judge's own is too low
opinion    a judge has an opinion of a task, hidden or not, and on every occasion utters it or another class
draws      a judge may say several things of a task: every repeat is drawn from a softmax of normal scores, to which
           the true class adds a lead
confident  a judge knows some tasks better than others, and overstates how well
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.stats import norm

import crowdwise as cw
from crowdwise.kinds.classes.simulate.judges import Panel, draw_verdicts, other

FAMILIES = (5, 2, 2)
FAMILY = np.repeat(np.arange(3), FAMILIES)
K = 3


def family(n, rng, hidden=0.82, report=0.925, spread=0.0):
    drawn = draw_verdicts(Panel(FAMILIES, K, hidden=hidden, report=report, spread=spread), n, rng)
    return drawn.truth, drawn.opinion


def attractor(n, rng, easy=0.89, lured=0.76, spread=0.0, hard=0.25):
    drawn = draw_verdicts(Panel((1,) * 9, K, hidden=1.0, report=easy, hard=hard, lured=lured, spread=spread), n, rng)
    return drawn.truth, drawn.opinion


def probit(n, rng, skill=0.79, shared=0.27, spread=0.0):
    """`shared` is the variance of the common draw, and as much of the family's; `skill` the share of right verdicts."""
    truth, m = rng.integers(K, size=n), len(FAMILY)
    apart = np.clip(skill + spread * rng.permutation(np.linspace(-1, 1, m)), 0.01, 0.99)
    both = rng.standard_normal((n, 1)) + rng.standard_normal((n, len(FAMILIES)))[:, FAMILY]
    draw = np.sqrt(shared) * both + np.sqrt(1 - 2 * shared) * rng.standard_normal((n, m))
    every = np.repeat(truth[:, None], m, axis=1)
    return truth, np.where(draw < norm.ppf(1 - apart), other(every, K, rng), every)


MAKE = {"family": family, "attractor": attractor, "probit": probit}


def opinion(n, rng, hidden=0.745, firm=0.957, judges=3, times=5):
    """(truth, table task, worker, repeat, label)."""
    panel = Panel((1,) * judges, K, hidden=hidden, report=1.0, repeats=times, firm=firm)
    drawn = draw_verdicts(panel, n, rng)
    return drawn.truth, drawn.rows


def draws(n, rng, lead=3.85, spread=2.63, judges=3, times=5):
    """(truth, table task, worker, repeat, label)."""
    truth = rng.integers(K, size=n)
    score = spread * rng.standard_normal((n, judges, K)) + lead * np.eye(K)[truth][:, None]
    share = np.exp(score - score.max(axis=2, keepdims=True))
    share /= share.sum(axis=2, keepdims=True)
    label = (rng.random((n, judges, times, 1)) > np.cumsum(share, axis=2)[:, :, None, :-1]).sum(axis=3)
    task, judge, repeat = (at.ravel() for at in np.indices(label.shape))
    return truth, pl.DataFrame({"task": task, "worker": judge, "repeat": repeat + 1, "label": label.ravel()})


REPEATS = {"opinion": opinion, "draws": draws}


def confident(n, rng, hidden=0.73, vary=1.4, shift=0.03, slope=3.2, judges=4):
    """(truth, label[task, judge], stated confidence[task, judge])."""
    panel = Panel((1,) * judges, K, hidden=hidden, vary=vary, report=1.0, stated=True, shift=shift, slope=slope)
    drawn = draw_verdicts(panel, n, rng)
    return drawn.truth, drawn.opinion, drawn.rows["confidence"].to_numpy().reshape(n, judges)


def as_votes(label, confidence=None):
    """label[task, judge] as votes."""
    n, m = label.shape
    more = {} if confidence is None else {"confidence": confidence.ravel()}
    return cw.Annotations.from_arrays(np.repeat(np.arange(n), m), np.tile(np.arange(m), n), label.ravel(), **more)


def majority(label, truth):
    """Share of tasks that a vote gets right, ties shared."""
    votes = np.eye(K)[label].sum(axis=1)
    top = votes == votes.max(axis=1, keepdims=True)
    return float((top[np.arange(len(truth)), truth] / top.sum(axis=1)).mean())


def scores(posterior, truth, rows=slice(None)):
    """Accuracy and log-loss on some tasks."""
    p, y = posterior[rows], truth[rows]
    return float((p.argmax(axis=1) == y).mean()), float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-12)).mean())


def ece(posterior, truth, bins=10):
    """Expected calibration error in equal-width bins."""
    sure, hit = posterior.max(axis=1), posterior.argmax(axis=1) == truth
    at = np.minimum((sure * bins).astype(int), bins - 1)
    gap = np.bincount(at, weights=sure - hit, minlength=bins)
    return float(np.abs(gap).sum() / len(truth))
