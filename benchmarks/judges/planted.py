"""Planted judges: errors made together for three reasons, repeats of one judge, stated confidences."""

from __future__ import annotations

import numpy as np

FAMILY = np.array([0] * 5 + [1] * 2 + [2] * 2)


def wrong_label(truth, k, rng):
    """Another class than the true one, each as likely."""
    return (truth + rng.integers(1, k, size=np.shape(truth))) % k


def family_judges(n, rng, k=3, members=(0.85, 0.85, 0.85), family=(0.74, 0.80, 0.80)):
    """Each family has one hidden answer per task; its members report it, or something else."""
    truth = rng.integers(k, size=n)
    label = np.empty((n, len(FAMILY)), dtype=int)
    for f in range(3):
        hidden = np.where(rng.random(n) < family[f], truth, wrong_label(truth, k, rng))
        for j in np.flatnonzero(f == FAMILY):
            label[:, j] = np.where(rng.random(n) < members[f], hidden, wrong_label(hidden, k, rng))
    return truth, label


def attractor_judges(n, rng, k=3, hard=0.3, easy=0.88, fooled=0.6):
    """On hard tasks one wrong answer attracts every judge; elsewhere they err alone."""
    truth = rng.integers(k, size=n)
    bait, is_hard = wrong_label(truth, k, rng), rng.random(n) < hard
    label = np.empty((n, len(FAMILY)), dtype=int)
    for j in range(len(FAMILY)):
        skill = easy + 0.06 * np.cos(2.4 * j)
        own = np.where(rng.random(n) < skill, truth, wrong_label(truth, k, rng))
        pull = np.clip(fooled + 0.2 * np.sin(1.7 * j), 0, 1)
        lured = np.where(rng.random(n) < pull, bait, own)
        label[:, j] = np.where(is_hard, lured, own)
    return truth, label


def probit_judges(n, rng, k=3, common=0.3, own_family=0.25, skill=0.78):
    """A verdict is wrong where a common, a family's and an own draw together fall below a threshold."""
    from scipy.stats import norm

    truth, wrong = rng.integers(k, size=n), None
    shared, by_family = rng.standard_normal(n), rng.standard_normal((n, 3))
    bait = wrong_label(truth, k, rng)
    label = np.empty((n, len(FAMILY)), dtype=int)
    for j in range(len(FAMILY)):
        u = np.sqrt(common) * shared + np.sqrt(own_family) * by_family[:, FAMILY[j]]
        u = u + np.sqrt(1 - common - own_family) * rng.standard_normal(n)
        wrong = u < norm.ppf(1 - (skill + 0.06 * np.cos(2.4 * j)))
        other = np.where(rng.random(n) < 0.5, bait, wrong_label(truth, k, rng))
        label[:, j] = np.where(wrong, other, truth)
    return truth, label
