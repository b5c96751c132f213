"""Repeats of one judge as one voice, and stated confidences."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.kinds.classes.simulate.judges import ROUND
from crowdwise.stats.platt import fit_platt, logit
from crowdwise.stats.temperature import best_temperature, soften
from tests.crowds import judges as planted

from . import fixed, llmbar

RUNS = 10


votes = cw.Annotations.from_frame


@cache
def repeat_scores(way, runs=RUNS):
    """name -> (log-loss, ECE) of 3 judges × 5 repeats."""
    found: dict[str, list] = {}
    groups = tuple(tuple(range(5 * j, 5 * j + 5)) for j in range(3))
    for seed in range(runs):
        truth, table = planted.REPEATS[way](1_500, np.random.default_rng(seed), *fixed.repeated(way))
        alone = table.with_columns(worker=pl.col("worker") * 5 + pl.col("repeat") - 1).drop("repeat")
        first = table.filter(pl.col("repeat") == 1).drop("repeat")
        modes = table.group_by("task", "worker").agg(pl.col("label").mode().sort().first()).sort("task", "worker")
        matrices = cw.DawidSkene(smoothing=0.1)
        fits = {
            "15 workers": matrices.fit(votes(alone)),
            "one repeat": matrices.fit(votes(first)),
            "mode": matrices.fit(votes(modes)),
            "weight 1/R": matrices.fit(votes(table)),
            "group_aware": cw.classes.GroupAware(groups=groups).fit(votes(alone)),
            "judge_symbols": cw.classes.JudgeSymbols().fit(votes(table)),
        }
        for name, result in fits.items():
            score = planted.scores(result.posterior, truth)[1], planted.ece(result.posterior, truth)
            found.setdefault(name, []).append(score)
    return {name: tuple(np.mean(values, axis=0)) for name, values in found.items()}


@cache
def confidence_scores(runs=RUNS):
    """name -> (accuracy, log-loss) of 4 judges who state confidences."""
    found: dict[str, list] = {}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        truth, label, stated = planted.confident(2_000, rng, *fixed.overstated())
        votes = planted.as_votes(label, stated)
        order = rng.permutation(len(truth))
        gold = {int(t): int(truth[t]) for t in order[:200]}
        odds = logit(stated) + np.log(2)
        product = np.exp(np.einsum("nm,nmk->nk", odds, np.eye(3)[label]))
        fits = {
            "dawid_skene": (cw.DawidSkene(smoothing=0.1).fit(votes).posterior, order),
            "judge_symbols": (cw.classes.JudgeSymbols().fit(votes).posterior, order),
            "product of stated confidences": (product / product.sum(axis=1, keepdims=True), order),
            "judge_stack, 200 gold": (cw.classes.JudgeStack(seed=seed).fit(votes, gold=gold).posterior, order[200:]),
        }
        for name, (posterior, rows) in fits.items():
            found.setdefault(name, []).append(planted.scores(posterior, truth, rows))
    return {name: tuple(np.mean(values, axis=0)) for name, values in found.items()}


SIZES = (20, 50, 100, 200, 500)
# Expected: log-loss of repeats, (accuracy, log-loss) of confidences, excess log-loss by gold.
REPEATS = {"15 workers": 0.856, "one repeat": 0.434, "mode": 0.373, "weight 1/R": 0.364, "group_aware": 0.358,
           "judge_symbols": 0.356}  # fmt: skip
CONFIDENT = {
    "dawid_skene": (0.823, 0.460), "judge_symbols": (0.897, 0.281), "product of stated confidences": (0.900, 0.337),
    "judge_stack, 200 gold": (0.906, 0.258),
}  # fmt: skip
PLATT = {
    "raw": (0.157,) * 5, "temperature": (0.050, 0.025, 0.020, 0.016, 0.015),
    "Platt": (0.037, 0.015, 0.010, 0.006, 0.003),
}  # fmt: skip


@cache
def one_judge():
    """The round confidences of one of the planted judges, exactly."""
    hidden, vary, shift, slope = fixed.overstated()
    return fixed.Stated(float(np.log(hidden / (1 - hidden))), vary, shift, slope)


@cache
def platt_scores(runs=400):
    """name -> excess log-loss over the best map at each number of gold tasks; an overconfident judge, 8 values.

    A map of the right form with two free numbers loses 1/n; what the best such map loses (its form is not quite the
    judge's) is there at any n.
    """
    of = one_judge()
    out = {"raw": [of.excess(ROUND)] * len(SIZES), "temperature": [], "Platt": []}
    two = np.column_stack([1 - ROUND, ROUND])
    for n in SIZES:
        found = []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            at = rng.choice(len(ROUND), size=n, p=of.share)
            hit = (rng.random(n) < of.right[at]).astype(float)
            heat = best_temperature(two[at], np.eye(2)[hit.astype(int)], np.ones(n), lowest=0.05)
            found.append((of.excess(soften(two, heat)[:, 1]), of.excess(fit_platt(ROUND[at], hit)(ROUND))))
        out["temperature"].append(float(np.mean([a for a, _ in found])))
        out["Platt"].append(float(np.mean([b for _, b in found])))
    out["best Platt map + 1/n"] = [of.platt() + 1 / n for n in SIZES]
    return out


@cache
def llmbar_voices(n_gold=60, runs=20):
    """184 repeats as workers against one voice a judge, with 60 gold: (accuracy, log-loss, ECE) on the other tasks."""
    pooled, truth = llmbar.pooled(), llmbar.truth()
    rows = llmbar.rows().filter(pl.col("worker").is_in(llmbar.judges()))
    apart = cw.Annotations.from_frame(
        rows.select("task", pl.concat_str("worker", "prompt", "order", separator="/").alias("worker"), "label")
    )
    y = llmbar.codes(pooled, truth)
    found: dict[str, list] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(runs):
            order = np.random.default_rng(seed).permutation(len(y))
            gold = {pooled.tasks[int(t)]: pooled.classes[int(y[t])] for t in order[:n_gold]}
            rest = order[n_gold:]
            fits = {
                f"{apart.n_workers} workers, dawid_skene": cw.DawidSkene().fit(apart, gold=gold),
                "one voice a judge, judge_stack": cw.classes.JudgeStack(seed=seed).fit(pooled, gold=gold),
            }
            for name, result in fits.items():
                p = result.posterior[rest]
                found.setdefault(name, []).append((*planted.scores(p, y[rest]), planted.ece(p, y[rest])))
    return {name: tuple(np.mean(values, axis=0)) for name, values in found.items()}
