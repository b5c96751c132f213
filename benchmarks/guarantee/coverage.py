"""Do 95 % intervals of a share cover, and how wide are they: double sampling, ppi-python's PPI++, gold alone."""

from __future__ import annotations

import numpy as np

from crowdwise.evaluation.guarantee import estimators as double
from crowdwise.evaluation.guarantee.estimators import half_width, ppi_plus_plus, regression

RUNS, TASKS = 2000, 3000
DRAWS = 1000  # a quarter of what estimate takes: the ends are as good on average
# prevalence, sensitivity, specificity of the judge
JUDGES = ((0.5, 0.9, 0.85), (0.1, 0.9, 0.95), (0.05, 0.8, 0.98))
GOLD = (30, 100, 300)
SCORE = np.array([0.0, 1.0])
Z = 1.959963984540054


def counts(truth: np.ndarray, said: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tasks of each verdict, and gold counts[verdict, true]."""
    cells = np.bincount(2 * said[gold] + truth[gold], minlength=4).reshape(2, 2).astype(float)
    return np.bincount(said, minlength=2).astype(float), cells


def wilson(hits: float, n: int) -> tuple[float, float]:
    middle = (hits + Z**2 / 2) / (n + Z**2)
    half = Z / (n + Z**2) * np.sqrt(hits * (n - hits) / n + Z**2 / 4)
    return middle - half, middle + half


def one(rng: np.random.Generator, prevalence: float, tpr: float, tnr: float, n: int) -> np.ndarray:
    """(covered, width) of four intervals in one run: double for these and new tasks, PPI++, Wilson of the gold."""
    truth = (rng.random(TASKS) < prevalence).astype(np.int64)
    said = np.where(truth == 1, rng.random(TASKS) < tpr, rng.random(TASKS) >= tnr).astype(np.int64)
    gold = rng.permutation(TASKS)[:n]
    tasks, cells = counts(truth, said, gold)
    held = tasks > 0
    tasks, cells = tasks[held], cells[held]
    here = truth.mean()
    ends = []
    for new in (False, True):
        drawn = double.draws(tasks, cells, SCORE, rng, new=new, size=DRAWS)
        ends.append((*double.central(drawn, 0.95), prevalence if new else here))
    other = np.ones(TASKS, dtype=bool)
    other[gold] = False
    value, error, _ = ppi_plus_plus(truth[gold].astype(float), said[gold].astype(float), said[other].astype(float))
    ends.append((value - Z * error, value + Z * error, prevalence))
    ends.append((*wilson(float(truth[gold].sum()), n), prevalence))
    return np.array([[low <= true <= high, high - low] for low, high, true in ends])


def coverage_rows(runs: int = RUNS) -> list[list[str]]:
    out = []
    for judge in JUDGES:
        for n in GOLD:
            rng = np.random.default_rng([7, n, round(1000 * judge[0])])
            found = np.mean([one(rng, *judge, n) for _ in range(runs)], axis=0)
            name = f"{judge[0]:g}, {judge[1]:g}, {judge[2]:g}; {n} gold"
            ratio = found[1, 1] / found[2, 1]
            out.append([name, *(f"{c:.3f} / {w:.3f}" for c, w in found), f"{ratio:.2f}"])
            print(*out[-1], flush=True)
    return out


def many_classes_row(runs: int = RUNS // 2) -> list[list[str]]:
    """Four classes, 100 gold labels: the smallest and largest coverage over classes, width against gold alone."""
    rng = np.random.default_rng(11)
    prior, k, n = np.array([0.4, 0.3, 0.2, 0.1]), 4, 100
    confusion = np.full((k, k), 0.05) + 0.8 * np.eye(k)
    hit, wide, alone = (np.zeros((runs, k)) for _ in range(3))
    for run in range(runs):
        truth = rng.choice(k, TASKS, p=prior)
        said = (rng.random(TASKS)[:, None] > np.cumsum(confusion[truth], axis=1)).sum(axis=1)
        gold = rng.permutation(TASKS)[:n]
        cells = np.bincount(k * said[gold] + truth[gold], minlength=k * k).reshape(k, k).astype(float)
        tasks = np.bincount(said, minlength=k).astype(float)
        for c in range(k):
            score = np.eye(k)[c]
            low, high = double.central(double.draws(tasks, cells, score, rng, size=DRAWS), 0.95)
            hit[run, c], wide[run, c] = low <= (truth == c).mean() <= high, high - low
            ends = double.central(
                double.draws(tasks.sum()[None], cells.sum(axis=0)[None], score, rng, size=DRAWS), 0.95
            )
            alone[run, c] = ends[1] - ends[0]
    cover, ratio = hit.mean(axis=0), wide.mean(axis=0) / alone.mean(axis=0)
    return [
        ["four classes, 100 gold", f"{cover.min():.3f} to {cover.max():.3f}", f"{ratio.min():.2f} to {ratio.max():.2f}"]
    ]


def rating_rows(runs: int = RUNS) -> list[list[str]]:
    """Ratings 1 to 5 with a judge's rating: the regression estimator and PPI++."""
    out = []
    for n in (15, 30, 100):
        rng = np.random.default_rng([13, n])
        found = np.zeros((runs, 2, 2))
        for run in range(runs):
            quality = rng.normal(size=TASKS)
            y, f = (np.clip(np.rint(3.3 + 1.1 * quality + 0.6 * rng.normal(size=TASKS)), 1, 5) for _ in range(2))
            gold = rng.permutation(TASKS)[:n]
            made = regression(y[gold], f[gold], f)
            half = half_width(made.error, made.freedom, 0.95)
            found[run, 0] = abs(made.value - y.mean()) <= half, 2 * half
            other = np.ones(TASKS, dtype=bool)
            other[gold] = False
            value, error, _ = ppi_plus_plus(y[gold], f[gold], f[other])
            found[run, 1] = abs(value - y.mean()) <= Z * error, 2 * Z * error
        out.append([f"ratings, {n} gold", *(f"{c:.3f} / {w:.3f}" for c, w in found.mean(axis=0))])
        print(*out[-1], flush=True)
    return out
