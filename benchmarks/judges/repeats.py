"""Repeats of one judge as one voice, and stated confidences."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.maths.judges.platt import fit_platt, logit
from crowdwise.maths.temperature import best_temperature, soften

from . import llmbar, planted

RUNS = 10


@cache
def repeat_scores(runs=RUNS):
    """name -> (log-loss, ECE) of 3 judges × 5 repeats."""
    found: dict[str, list] = {}
    for seed in range(runs):
        truth, table = planted.repeats(1_500, np.random.default_rng(seed))
        alone = table.with_columns(worker=pl.col("worker") * 5 + pl.col("repeat")).drop("repeat")
        first = table.filter(pl.col("repeat") == 0).drop("repeat")
        voices = cw.Annotations.from_frame(table)
        fits = {
            "15 workers": cw.DawidSkene(smoothing=0.1).fit(alone),
            "one repeat": cw.DawidSkene(smoothing=0.1).fit(first),
            "weight 1/R": cw.DawidSkene(smoothing=0.1).fit(voices),
            "judge_symbols": cw.JudgeSymbols().fit(voices),
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
        truth, label, stated = planted.confident(2_000, rng)
        votes = planted.as_votes(label, stated)
        order = rng.permutation(len(truth))
        gold = {int(t): int(truth[t]) for t in order[:200]}
        odds = logit(stated) + np.log(2)
        product = np.exp(np.einsum("nm,nmk->nk", odds, np.eye(3)[label]))
        fits = {
            "dawid_skene": (cw.DawidSkene(smoothing=0.1).fit(votes).posterior, order),
            "judge_symbols": (cw.JudgeSymbols().fit(votes).posterior, order),
            "product of stated confidences": (product / product.sum(axis=1, keepdims=True), order),
            "judge_stack, 200 gold": (cw.JudgeStack(seed=seed).fit(votes, gold=gold).posterior, order[200:]),
        }
        for name, (posterior, rows) in fits.items():
            found.setdefault(name, []).append(planted.scores(posterior, truth, rows))
    return {name: tuple(np.mean(values, axis=0)) for name, values in found.items()}


SIZES = (20, 50, 100, 200, 500)
VALUES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])


@cache
def platt_scores(runs=300):
    """name -> excess log-loss over the best map at each number of gold tasks; an overconfident judge, 8 values."""
    share = np.array([0.04, 0.06, 0.12, 0.18, 0.25, 0.18, 0.1, 0.07])
    right = 1 / (1 + np.exp(-(-0.78 + 0.69 * logit(VALUES))))

    def excess(p):
        p = np.clip(p, 1e-6, 1 - 1e-6)
        loss = -(right * np.log(p) + (1 - right) * np.log(1 - p))
        best = -(right * np.log(right) + (1 - right) * np.log(1 - right))
        return float((share * (loss - best)).sum() / share.sum())

    out = {"raw": [excess(VALUES)] * len(SIZES), "temperature": [], "Platt": []}
    for n in SIZES:
        found = []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            at = rng.choice(len(VALUES), size=n, p=share / share.sum())
            hit = (rng.random(n) < right[at]).astype(float)
            two = np.column_stack([1 - VALUES, VALUES])
            heat = best_temperature(two[at], np.eye(2)[hit.astype(int)], np.ones(n), lowest=0.05)
            found.append((excess(soften(two, heat)[:, 1]), excess(fit_platt(VALUES[at], hit)(VALUES))))
        out["temperature"].append(float(np.mean([a for a, _ in found])))
        out["Platt"].append(float(np.mean([b for _, b in found])))
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
                "one voice a judge, judge_stack": cw.JudgeStack(seed=seed).fit(pooled, gold=gold),
            }
            for name, result in fits.items():
                p = result.posterior[rest]
                found.setdefault(name, []).append((*planted.scores(p, y[rest]), planted.ece(p, y[rest])))
    return {name: tuple(np.mean(values, axis=0)) for name, values in found.items()}
