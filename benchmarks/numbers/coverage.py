"""Do 90 % intervals cover: experts' truth with and without gold, and planted truth."""

from __future__ import annotations

import numpy as np

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.intervals import gaussian_interval, gold_margin, interval
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.simulate import number_crowd
from tests.open_sets.numbers import SETS, load

from .accuracy import METHODS, fit

GOLD, DRAWS = 20, 20
FOLDS = 5


def expert_rows(method: str, folds: bool) -> list[list[str]]:
    """Raw coverage, then with twenty gold tasks: mean and standard deviation over draws of them."""
    raw, blind, crossed = [], [], []
    for name in SETS:
        rows, truth = load(name)
        known = np.flatnonzero(~np.isnan(truth))
        plain = fit(method, name)
        raw.append(_inside(gaussian_interval(plain.mean, plain.variance), truth, known))
        found = np.array([_with_gold(method, name, rows, truth, known, seed, folds) for seed in range(DRAWS)])
        blind.append(found[:, 0])
        crossed.append(found[:, 1])
    out = [[f"{method}, raw", *(f"{r:.3f}" for r in raw), f"{np.mean(raw):.3f}"]]
    out.append([f"{GOLD} gold tasks, blind", *_summary(blind)])
    if folds:
        out.append([f"{GOLD} gold tasks, {FOLDS} folds", *_summary(crossed)])
    for line in out:
        print(*line, flush=True)
    return out


def _summary(found: list[np.ndarray]) -> list[str]:
    return [*(f"{np.mean(x):.3f} ± {np.std(x):.3f}" for x in found), f"{np.mean(found):.3f}"]


def _with_gold(
    method: str, name: str, rows: NumberRows, truth: np.ndarray, known: np.ndarray, seed: int, folds: bool
) -> tuple[float, float]:
    picked = np.random.default_rng(seed).permutation(known)
    gold = np.full(len(truth), np.nan)
    gold[picked[:GOLD]] = truth[picked[:GOLD]]
    blind = gold_margin(lambda *_: fit(method, name), rows, gold, folds=0)
    told = METHODS[method](rows, gold)
    crossed = gold_margin(METHODS[method], rows, gold, folds=FOLDS) if folds else None
    one, other = (_inside(interval(told, gold, margin), truth, picked[GOLD:]) for margin in (blind, crossed))
    return one, other


def _inside(ends: tuple[np.ndarray, np.ndarray], truth: np.ndarray, where: np.ndarray) -> float:
    return float(np.mean(((ends[0] <= truth) & (truth <= ends[1]))[where]))


PLANTED = {
    "biases, noise": {},
    "biases, slopes, noise": {"slope": 0.2},
    "20 % constant": {"constant": 0.2},
    "20 % constant, slopes": {"constant": 0.2, "slope": 0.2},
    "heavy tails (3 df)": {"heavy": 3.0},
}


def planted_rows(seeds: int = 5) -> list[list[str]]:
    """Coverage of the default, error against the mean's, and worker variances at 200 answers each."""
    out = []
    for name, options in PLANTED.items():
        found = []
        for seed in range(seeds):
            crowd = number_crowd(1600, 40, per_task=5, seed=seed, **options)
            rows = NumberRows(crowd.task, crowd.worker, crowd.value, None, 1600, 40)
            ours, mean = numbers.combined(rows), numbers.mean(rows)
            inside = _inside(gaussian_interval(ours.mean, ours.variance), crowd.truth, np.arange(1600))
            error = [np.sqrt(np.mean((f.mean - crowd.truth) ** 2)) for f in (ours, mean)]
            honest = np.array(crowd.kind) == "honest"
            tails = options["heavy"] / (options["heavy"] - 2) if "heavy" in options else 1.0
            ratio = ours.spread[honest] ** 2 / (tails * crowd.spread[honest] ** 2)
            found.append([inside, error[0] / error[1], ratio.mean(), np.median(np.abs(ratio - 1))])
        figures = np.mean(found, axis=0)
        out.append([name, *(f"{x:.3f}" for x in figures)])
        print(*out[-1], flush=True)
    return out
