"""Bias checks: false alarms and power on planted judges, judges_llmbar."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.judges.maths import position_both, regression
from crowdwise.kinds.classes.maths.judges import RaterRows, group_difference

from .. import data_folder
from . import llmbar


@cache
def position(beta, n=200, runs=2_000):
    """(share rejected at .05, coverage of the interval) of judges with this pull to the first option."""
    rng = np.random.default_rng(7)
    gap = rng.standard_normal((runs, n))
    first = [rng.random((runs, n)) < 1 / (1 + np.exp(-(sign * gap + beta))) for sign in (1, -1)]
    ff, ss = (first[0] & first[1]).sum(axis=1), (~first[0] & ~first[1]).sum(axis=1)
    found = [position_both(int(a), int(b)) for a, b in zip(ff, ss, strict=True)]
    rejected = np.mean([each.p <= 0.05 for each in found])
    return float(rejected), float(np.mean([each.low <= beta <= each.high for each in found]))


@cache
def rectifier(slope, n=200, runs=1_000, people=True):
    """Share of runs in which length (slope on the judge's logit per sd; quality depends on it too) is found."""
    rng, hits = np.random.default_rng(8), 0
    for _ in range(runs):
        length = rng.standard_normal(n)
        quality = 0.8 * length + rng.standard_normal(n)
        truth = rng.random(n) < 1 / (1 + np.exp(-quality))
        judge = rng.random(n) < 1 / (1 + np.exp(-(quality + slope * length)))
        y = judge.astype(float) - truth if people else judge.astype(float)
        hits += regression(y, length[:, None])[0].p <= 0.05
    return hits / runs


@cache
def raters(runs=400, draws=39, rows_too=60):
    """Share of fake groups of raters (popquorn) that are called different at .05, raters permuted; the same by rows."""
    votes = cw.read(data_folder() / "popquorn_offensive" / "labels.csv", kind="classes")
    counts = votes.votes
    task, rater, label = (x.astype(np.int64) for x in (votes.task, votes.worker, votes.label))
    rows = RaterRows(task, rater, label, np.ones(len(votes)), counts)
    scores = votes.classes.cast(pl.String).cast(pl.Float64).to_numpy()[:, None]
    by_rater = by_row = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        group = (rng.permutation(votes.n_workers) < votes.n_workers // 3).astype(np.int64)
        found = group_difference(rows, group, scores, rng, draws)
        by_rater += found[1][0] <= 0.05
        if seed < rows_too:
            single = RaterRows(task, np.arange(len(votes)), label, rows.weight, counts)
            by_row += group_difference(single, group[rater], scores, rng, draws)[1][0] <= 0.05
    return by_rater / runs, by_row / min(runs, rows_too)


@cache
def found_on_llmbar():
    """check -> (biased judges, judges, smallest and largest effect)."""
    found = cw.judges(llmbar.base(), gold=llmbar.truth(), covariates=llmbar.lengths())
    out = {}
    for (check,), part in found.bias.group_by("check", maintain_order=True):
        out[check] = int(part["biased"].sum()), len(part), float(part["effect"].min()), float(part["effect"].mean())
    return out, found.n_eff
