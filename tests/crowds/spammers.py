"""Planted spammers, colluders and copiers."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

import crowdwise as cw
from crowdwise import simulate


def auc(score: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve, by ranks."""
    n = positive.sum()
    return float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def spammer_crowd(k: int, prior: tuple[float, ...] | None, seed: int) -> tuple[simulate.Crowd, cw.Annotations]:
    """50 workers with 30 to 200 labels each on 600 tasks: 33 honest, two experts on the rarest class, 15 spammers."""
    rng = np.random.default_rng(1000 + seed)
    expert = np.full((2, k, k), 0.0)
    # One sees the rare class and mixes up the others, one sees it and says the commonest class otherwise.
    expert[0, :-1, :-1] = 1 / (k - 1)
    expert[1, :-1, 0] = 1.0
    expert[:, -1] = 0.05 / (k - 1)
    expert[:, -1, -1] = 0.95
    expert = 0.97 * expert + 0.03 / k
    groups = [
        simulate.OneCoin(33, low=0.65, high=0.95),
        simulate.Given(2, expert),
        simulate.Guesser(5),
        simulate.Guesser(5, by="prior"),
        simulate.Constant(5),
    ]
    crowd = simulate.crowd(600, k, groups, simulate.Dense(), class_prior=prior, seed=seed)
    votes = crowd.annotations
    keep = np.zeros(len(votes), dtype=bool)
    for w in range(votes.n_workers):
        rows = np.flatnonzero(votes.worker == w)
        keep[rng.choice(rows, int(rng.integers(30, 201)), replace=False)] = True
    return crowd, votes.take(keep)


def ring(kind: str, share: float, labels: int | None, seed: int) -> tuple[simulate.Crowd, np.ndarray]:
    """5,000 tasks, 60 workers, three classes: a ring of colluders, or five copiers of one; who is meant by a flag."""
    n = round(60 * share)
    honest = simulate.OneCoin(60 - n, low=0.6, high=0.9)
    others: list[simulate.Group] = []
    if kind != "none":
        others = [simulate.Colluder(n, p_corr=0.9) if kind == "colluders" else simulate.Copier(n, of=0, member=7)]
    assignment = simulate.Dense() if labels is None else simulate.PerTask(labels)
    crowd = simulate.crowd(5000, 3, [honest, *others], assignment, seed=seed)
    bad = np.array([k != "one_coin" for k in crowd.kind])
    if kind == "copiers":
        bad[7] = True  # who copies whom, the labels alone cannot say
    return crowd, bad
