"""Long passages in crowds of many shapes: what the default for them may rest on, without looking at an open truth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.spans.simulate import span_crowd

METHODS = {
    "span_majority": ("span_majority", {}),
    "span_vote (the default of passages)": ("span_vote", {}),
    "token_dawid_skene": ("token_dawid_skene", {}),
    "bsc": ("bsc", {}),
    "the average of the last three, decoded": ("span_combined", {"spans": "short"}),
}
TROUBLE: dict[str, dict[str, float]] = {
    "all honest": {},
    "30 % idle": {"idle": 0.3},
    "30 % mark anything": {"random": 0.3},
    "30 % mark the beginning": {"constant": 0.3},
    "half mark the beginning": {"constant": 0.5},
}
# What is taken off a worker's agreement for the place alone was settled with the seeds 1000 to 6031.
SEEDS = (100, 7000, 8000)


def shapes() -> Iterator[tuple[str, simulate.PlantedSpans]]:
    """Every shape with every seed, and its trouble."""
    for first in SEEDS:
        k = first
        for each in (2, 3, 5, 9):
            for trouble, told in TROUBLE.items():
                for miss in ((0.05, 0.4), (0.4, 0.8)):
                    yield trouble, simulate.PlantedSpans(span_crowd(
                        80, 12 if k % 2 else 30, per_task=each, words=(80, 250), length=(5, 25), density=0.015,
                        tags=() if k % 3 else ("A", "B"), miss=miss, spurious=(0.0, 0.8), slip=(0.2, 0.7), seed=k,
                        **told,
                    ))  # fmt: skip
                    k += 1


def rows() -> list[list[str]]:
    """Mean F1 by trouble and over all, the worst beside the majority, and the mean gap to the best."""
    scores: dict[str, list[float]] = {name: [] for name in METHODS}
    of: list[str] = []
    for trouble, crowd in shapes():
        of.append(trouble)
        for name, (method, params) in METHODS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cw.CrowdwiseWarning)
                result = cw.method(method, **params).fit(crowd.votes)
            scores[name].append(float(cw.evaluate(result, crowd.truth_table(), resamples=0).f1))
    every, sorts = np.array(list(scores.values())), np.array(of)
    out = []
    for name, own in zip(METHODS, every, strict=True):
        cells = [f"{own[sorts == trouble].mean():.3f}" for trouble in TROUBLE]
        out.append([name, *cells, f"{own.mean():.3f}", f"{(own - every[0]).min():+.3f}",
                    f"{(every.max(axis=0) - own).mean():.3f}"])  # fmt: skip
    return out
