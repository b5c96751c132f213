"""Planted judges: errors made together for three reasons, repeats of one judge, stated confidences."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.stats import norm

import crowdwise as cw

FAMILY = np.array([0] * 5 + [1] * 2 + [2] * 2)
K = 3


def wrong(truth, rng):
    """Another class than the true one, each as likely."""
    return (truth + rng.integers(1, K, size=np.shape(truth))) % K


def spread(base, width, j):
    """Judges that are not all alike."""
    return np.clip(base + width * np.cos(2.4 * j), 0, 1)


def family(n, rng, hidden=(0.819, 0.822, 0.751), member=0.917):
    """Each family has one hidden answer a task, which may be wrong; its members report it with noise."""
    truth, label = rng.integers(K, size=n), np.empty((n, len(FAMILY)), dtype=int)
    for f in range(3):
        answer = np.where(rng.random(n) < hidden[f], truth, wrong(truth, rng))
        for j in np.flatnonzero(f == FAMILY):
            label[:, j] = np.where(rng.random(n) < spread(member, 0.053, j), answer, wrong(answer, rng))
    return truth, label


def attractor(n, rng, hard=0.253, easy=0.889, fooled=0.686):
    """On hard tasks one wrong answer attracts every judge; elsewhere they err alone."""
    truth = rng.integers(K, size=n)
    bait, is_hard = wrong(truth, rng), rng.random(n) < hard
    label = np.empty((n, len(FAMILY)), dtype=int)
    for j in range(len(FAMILY)):
        own = np.where(rng.random(n) < spread(easy, 0.093, j), truth, wrong(truth, rng))
        lured = rng.random(n) < np.clip(fooled + 0.072 * np.sin(1.7 * j), 0, 1)
        label[:, j] = np.where(is_hard & lured, bait, own)
    return truth, label


def probit(n, rng, common=0.268, own_family=0.465, skill=0.842, bait_share=0.6):
    """A verdict is wrong where a common draw, its family's and its own together fall below a threshold."""
    truth = rng.integers(K, size=n)
    shared, by_family, bait = rng.standard_normal(n), rng.standard_normal((n, 3)), wrong(truth, rng)
    label = np.empty((n, len(FAMILY)), dtype=int)
    for j in range(len(FAMILY)):
        draw = np.sqrt(common) * shared + np.sqrt(own_family) * by_family[:, FAMILY[j]]
        draw = draw + np.sqrt(1 - common - own_family) * rng.standard_normal(n)
        misses = draw < norm.ppf(1 - spread(skill, 0.027, j))
        other = np.where(rng.random(n) < bait_share, bait, wrong(truth, rng))
        label[:, j] = np.where(misses, other, truth)
    return truth, label


def repeats(n, rng, judges=3, times=5):
    """(truth, table task, worker, repeat, label): a judge has an opinion of a task and repeats it, or wavers."""
    truth, columns = rng.integers(K, size=n), []
    for j in range(judges):
        opinion = np.where(rng.random(n) < spread(0.774, 0.054, j), truth, wrong(truth, rng))
        firm = np.where(rng.random(n) < 0.154, 0.516, 0.972)
        columns.append([np.where(rng.random(n) < firm, opinion, wrong(opinion, rng)) for _ in range(times)])
    label = np.array(columns)  # judge, repeat, task
    judge, repeat, task = np.indices(label.shape).reshape(3, -1)
    return truth, pl.DataFrame({"task": task, "worker": judge, "repeat": repeat, "label": label.ravel()})


def confident(n, rng, judges=4):
    """(truth, label, confidence): judges who know more on some tasks, and overstate it in round values."""
    truth, label, stated = rng.integers(K, size=n), [], []
    for j in range(judges):
        skill = spread(0.718, 0.027, j)
        logit = np.log(skill / (1 - skill)) + 1.474 * rng.standard_normal(n)
        right = rng.random(n) < 1 / (1 + np.exp(-logit))
        label.append(np.where(right, truth, wrong(truth, rng)))
        said = 1 / (1 + np.exp(-(1.47 + 0.646 * logit + 0.1 * rng.standard_normal(n))))
        stated.append(np.round(np.clip(said, 0.5, 0.99) * 20) / 20)
    return truth, np.array(label).T, np.array(stated).T


def as_votes(label, confidence=None):
    """label[task, judge] as votes."""
    n, m = label.shape
    more = {} if confidence is None else {"confidence": confidence.ravel()}
    return cw.Annotations.from_arrays(np.repeat(np.arange(n), m), np.tile(np.arange(m), n), label.ravel(), **more)


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
