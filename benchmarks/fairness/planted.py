"""Planted groups: coverage of gap intervals, confusions by group, tests of workers."""

from __future__ import annotations

import numpy as np

from crowdwise.evaluation.fairness import maths as gaps
from crowdwise.evaluation.fairness import maths as permutation
from crowdwise.evaluation.fairness import maths as shrink
from crowdwise.stats.discovery import adjusted

RUNS = 400
TASKS = 4000


def coverage_rows(runs: int = RUNS) -> list[list[str]]:
    """A judge who is worse for group b: coverage of the recall gap and the accuracy gap, and of all gaps at once."""
    out = []
    for n in (100, 200, 400, 800):
        rng, hit = np.random.default_rng([51, n]), []
        for _ in range(runs):
            z, truth = rng.integers(0, 2, TASKS), (rng.random(TASKS) < 0.4).astype(int)
            right = np.where(z == 0, 0.9, np.where(truth == 1, 0.75, 0.88))
            said = np.where(rng.random(TASKS) < right, truth, 1 - truth)
            gold = rng.permutation(TASKS)[:n]
            counts, full, tasks = np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2))
            np.add.at(counts, (z[gold], said[gold], truth[gold]), 1)
            np.add.at(full, (z, said, truth), 1)
            np.add.at(tasks, (z, said), 1)
            actual = gaps.rates(full)
            drawn = gaps.draws(tasks, counts, rng, size=1000)
            pick = [(1, 1), (3, 0), (1, 0), (2, 1), (2, 0)]
            true = np.array([actual[m, c, 0] - actual[m, c, 1] for m, c in pick])
            draws = np.stack([drawn[:, m, c, 0] - drawn[:, m, c, 1] for m, c in pick], axis=1)
            low, high = np.quantile(draws, [0.025, 0.975], axis=0)
            every = gaps.simultaneous(draws, 0.95)
            hit.append([*((low <= true) & (true <= high))[:2], bool(((every[0] <= true) & (true <= every[1])).all())])
        out.append([f"{n} gold", *(f"{x:.3f}" for x in np.mean(hit, axis=0))])
        print(*out[-1], flush=True)
    return out


def confusion_rows(runs: int = 40) -> list[list[str]]:
    """Root mean squared error of a worker's rows by group: raw, pooled, and shrunk by the evidence."""
    out = []
    for spread in (0.0, 0.05, 0.15):
        rng, found = np.random.default_rng([53, round(100 * spread)]), []
        for _ in range(runs):
            base = np.clip(rng.normal(0.75, 0.08, (20, 1, 2)), 0.4, 0.97)
            right = np.clip(base + spread * rng.normal(size=(20, 2, 2)), 0.05, 0.98)
            n = rng.multinomial(60, np.full(4, 0.25), 20).reshape(20, 2, 2)
            hits = rng.binomial(n, right)
            counts = np.zeros((20, 2, 2, 2))
            for k in range(2):
                counts[:, :, k, k], counts[:, :, k, 1 - k] = hits[:, :, k], n[:, :, k] - hits[:, :, k]
            rows, _ = shrink.by_group(counts)
            pooled = np.broadcast_to(
                shrink.pooled_rows(counts.sum(axis=1), shrink.crowd_rows(counts))[:, None], rows.shape
            )
            fixed, _ = shrink.by_group(counts, 5.0)
            raw = np.where(n > 0, hits / np.maximum(n, 1), 0.5)
            diagonals = [raw, *(np.diagonal(r, axis1=2, axis2=3) for r in (pooled, fixed, rows))]
            found.append([np.sqrt(np.mean((d - right) ** 2)) for d in diagonals])
        out.append([f"{spread:g}", *(f"{x:.3f}" for x in np.mean(found, axis=0))])
        print(*out[-1], flush=True)
    return out


def worker_rows(runs: int = 100) -> list[list[str]]:
    """20 workers, 150 labels each: who is found when five, none or all have a recall gap of .25 (BH, 10 %)."""
    out = []
    for biased in (0, 5, 20):
        rng, found = np.random.default_rng([57, biased]), []
        for _ in range(runs):
            right = np.full((20, 2, 2), 0.8)
            right[:biased, 1, 1] -= 0.25
            n = rng.multinomial(150, np.full(4, 0.25), 20).reshape(20, 2, 2)
            q = adjusted(permutation.worker_p(rng.binomial(n, right), n, rng, draws=1000))
            found.append([(q[:biased] <= 0.1).sum(), (q[biased:] <= 0.1).sum()])
        mean = np.mean(found, axis=0)
        out.append([f"{biased} of 20", f"{mean[0]:.2f}", f"{mean[1]:.2f}"])
        print(*out[-1], flush=True)
    return out
