"""Label sets on real crowds: do they hold the truth as often as promised, in all and in the worst class, how large?"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.guarantee.sets import JITTER, limits

SETS = ("cifar10n", "relevance4", "web", "dog", "facteval")
RUNS, ERROR = 150, 0.1


@cache
def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(posterior, truth) of Dawid-Skene on the tasks with a known truth."""
    data = cw.datasets.load(name)
    votes = data.annotations
    truth = dict(zip(data.truth["task"].cast(pl.String), data.truth["label"].cast(pl.String), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = cw.DawidSkene(smoothing=1.0).fit(votes).posterior
    code = {str(c): i for i, c in enumerate(votes.classes.to_list())}
    known = np.array([code.get(truth.get(str(task), ""), -1) for task in votes.tasks.to_list()])
    return posterior[known >= 0], known[known >= 0]


def one(name: str, rng: np.random.Generator) -> np.ndarray:
    """(coverage, worst class, size) of plain sets and of sets per class, and of the posterior's own."""
    posterior, truth = real(name)
    n, k = posterior.shape
    gold = np.zeros(n, dtype=bool)
    gold[rng.permutation(n)[: min(n // 2, 1000)]] = True
    score = 1 - posterior + JITTER * rng.random((n, k))
    mine = score[gold, truth[gold]]
    plain = score <= limits(mine, np.zeros(gold.sum(), dtype=np.int64), 1, ERROR)[0]
    per_class = score <= limits(mine, truth[gold], k, ERROR)[None]
    order = np.argsort(-posterior, axis=1)
    reach = np.cumsum(np.take_along_axis(posterior, order, axis=1), axis=1)
    own = np.zeros((n, k), dtype=bool)
    np.put_along_axis(own, order, reach - np.take_along_axis(posterior, order, axis=1) < 1 - ERROR, axis=1)
    hits = np.stack([inside[np.arange(n), truth][~gold] for inside in (plain, per_class, own)])
    sizes = [inside[~gold].sum(axis=1).mean() for inside in (plain, per_class, own)]
    by_class = np.stack(
        [[h[truth[~gold] == c].mean() if (truth[~gold] == c).any() else 1.0 for c in range(k)] for h in hits]
    )
    return np.column_stack([hits.mean(axis=1), by_class, sizes])


def set_rows(runs: int = RUNS) -> list[list[str]]:
    out = []
    for name in SETS:
        rng = np.random.default_rng([25, SETS.index(name)])
        found = np.mean([one(name, rng) for _ in range(runs)], axis=0)
        cells = [f"{row[0]:.3f} ({row[1:-1].min():.3f}), {row[-1]:.2f}" for row in found]
        out.append([name, *cells])
        print(*out[-1], flush=True)
    return out
