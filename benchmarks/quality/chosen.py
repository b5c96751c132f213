"""What `auto` takes on every set, and what a temperature is worth.

    python -m benchmarks.quality.chosen [SET ...]

Printed: auto's choice on each set beside the candidate with the best held-out score; mean accuracy, log-loss and ECE of
auto, of always taking the best score, of hierarchical and dawid_skene, and of each after `cw.calibrate` without gold.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import numpy as np

import crowdwise as cw
from crowdwise.core.errors import CrowdwiseWarning
from crowdwise.kinds.classes.methods.ensemble.committee import variant

from .score import SCORES, score, truth_of


def judge(data: cw.datasets.Dataset, result: cw.Result) -> list[float]:
    """The scores of one result."""
    at, true = truth_of(data)
    found = score(result.posterior[at], true)
    return [found[key] for key in SCORES]


def one_set(name: str) -> tuple[str, str, dict[str, list[float]]]:
    """What auto takes, what the best score would take, and the scores by method."""
    data = cw.datasets.load(name)
    votes = data.annotations
    auto = cw.classes.Auto(seed=0).fit(votes)
    best = max(auto.extra["scores"], key=lambda row: row["score"])["method"]
    results = {
        "auto": auto,
        "best score": variant(best, 0).fit(votes),
        "hierarchical": cw.classes.Hierarchical().fit(votes),
        "dawid_skene": cw.DawidSkene().fit(votes),
    }
    scores = {key: judge(data, result) for key, result in results.items()}
    for key in ("auto", "hierarchical", "dawid_skene"):
        scores[f"{key}, calibrated"] = judge(data, cw.calibrate(results[key], votes))
    return auto.extra["chosen"], best, scores


def main(names: list[str]) -> None:
    """The choices, their counts, the means."""
    sets = names or list(cw.datasets.FIRST)
    taken: list[str] = []
    rows: list[dict[str, list[float]]] = []
    for name in sets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CrowdwiseWarning)
            chosen, best, scores = one_set(name)
        taken.append(chosen)
        rows.append(scores)
        print(f"{name:14s} takes {chosen:14s} best score {best}", flush=True)
    print(", ".join(f"{name} on {count}" for name, count in Counter(taken).most_common()), "of", len(sets))
    for key in rows[0]:
        means = np.mean([row[key] for row in rows], axis=0)
        print(f"{key:26s}", *(f"{what} {value:.4f}" for what, value in zip(SCORES, means, strict=True)))


if __name__ == "__main__":
    main(sys.argv[1:])
