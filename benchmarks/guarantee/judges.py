"""judges_llmbar: 25 models judge 419 pairs, four prompts and both orders, one voice each. A stack fitted on 80 gold
labels, certified on 120 others, many times."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl

import crowdwise as cw

from ..judges import llmbar
from .promise import one

RUNS, FIT, CERTIFY = 150, 80, 120


def judge_rows(runs: int = RUNS) -> list[list[str]]:
    """Share of broken promises and of accepted tasks among those that did not fit the result."""
    votes, truth = llmbar.pooled(), llmbar.truth()
    known = dict(zip(truth["task"].to_list(), truth["label"].cast(pl.String).to_list(), strict=True))
    true = np.array([known[task] for task in votes.tasks.to_list()])
    name, found = "judge_stack", {0.15: [], 0.1: []}
    right = []
    for run in range(runs):
        rng = np.random.default_rng([81, run])
        order = rng.permutation(len(true))
        gold = {votes.tasks[int(t)]: true[t] for t in order[:FIT]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = cw.method(name, seed=run).fit(votes, gold=gold)
        rest = order[FIT:]
        wrong = result.classes.cast(pl.String).to_numpy()[result.labels] != true
        right.append(1 - wrong[rest].mean())
        for alpha, rows in found.items():
            rows.append(one(result.confidence[rest], wrong[rest], CERTIFY, alpha, rng))
    out = []
    for alpha, rows in found.items():
        mean = np.mean(rows, axis=0).ravel()
        text = f"{name} on {FIT} gold, certified on {CERTIFY} of {len(rest)}, {100 * alpha:g} %"
        out.append([text, f"{1 - np.mean(right):.3f}", *(f"{x:.3f}" for x in mean)])
        print(*out[-1], flush=True)
    return out
