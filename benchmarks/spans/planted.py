"""Planted crowds that mark spans: which method finds them, and whether errors fall with answers."""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from crowdwise import simulate

SEEDS = (1, 2, 3)
SIZE = {"tasks": 200, "workers": 30}


def rows(labels: int = 5) -> list[list[str]]:
    """A row a method: F1 of the text / of whole spans in each scenario, mean over the seeds."""
    crowds = {name: [simulate.scenario(name, **SIZE, labels=labels, seed=s) for s in SEEDS]
              for name in simulate.SPAN_SCENARIOS}  # fmt: skip
    out = []
    for method in cw.methods("spans"):
        cells = []
        for some in crowds.values():
            found = [_scores(method, crowd) for crowd in some]
            cells.append("/".join(f"{np.mean(each):.3f}" for each in zip(*found, strict=True)))
        out.append([f"`{method}`", *cells])
    return out


def falling() -> list[list[str]]:
    """Error (1 - F1 of the text) of the default with more answers a task."""
    out = []
    for labels in (3, 5, 9, 15):
        errors = [1 - _scores("span_combined", simulate.scenario("spans_plain", **SIZE, labels=labels, seed=s))[0]
                  for s in SEEDS]  # fmt: skip
        out.append([str(labels), f"{np.mean(errors):.3f}"])
    return out


def _scores(method: str, crowd: simulate.PlantedSpans) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cw.evaluate(cw.method(method).fit(crowd.votes), crowd.truth_table())
    return found.f1, found.exact_f1
