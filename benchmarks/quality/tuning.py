"""What the committee's constants are worth on sets that they were not chosen on: leave one set out.

    python -m benchmarks.quality.tuning [SET ...]

Evidence, doubt and who sits are chosen on all sets but one by the mean log-loss, and scored on the one left out.
Printed beside it: the same chosen on all sets, the committee as it is, and its members' plain average.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product

import numpy as np

import crowdwise as cw
from crowdwise.aggregate.committee import MEMBERS, variant
from crowdwise.engine.selection import held_out
from crowdwise.errors import CrowdwiseWarning

from .score import SCORES, score, truth_of

SEATS = [MEMBERS, *(tuple(m for m in MEMBERS if m != out) for out in MEMBERS)]
GRID = list(product(range(len(SEATS)), (0, 3, 5, 10, 20, 40), (0.01, 0.02, 0.03, 0.05)))
PLAIN, OURS = (0, 0, 0.02), (0, 10, 0.02)


def table(name: str) -> np.ndarray:
    """Scores of every setting of the grid on one set: setting, key."""
    data = cw.datasets.load(name)
    votes = data.annotations
    at, true = truth_of(data)
    posterior = {m: variant(m, 0).fit(votes).posterior[at] for m in MEMBERS}
    foretold = {m: held_out(variant(m, 0).fit, votes, enough=1).score for m in MEMBERS}
    rows = []
    for seats, evidence, doubt in GRID:
        own = np.array([foretold[m] for m in SEATS[seats]])
        weight = np.exp(evidence * (own - own.max()))
        mean = np.average([posterior[m] for m in SEATS[seats]], axis=0, weights=weight)
        found = score((1 - doubt) * mean + doubt / votes.n_classes, true)
        rows.append([found[key] for key in SCORES])
    return np.array(rows)


def main(names: list[str]) -> None:
    """The table."""
    sets = names or list(cw.datasets.FIRST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        scores = np.stack([table(name) for name in sets])  # set, setting, key
    left_out = []
    for i in range(len(sets)):
        others = np.delete(scores, i, axis=0)
        left_out.append(scores[i, others[:, :, 1].mean(axis=0).argmin()])
    best = int(scores[:, :, 1].mean(axis=0).argmin())
    lines = {
        "plain average": scores[:, GRID.index(PLAIN)],
        "committee": scores[:, GRID.index(OURS)],
        f"chosen on all sets {GRID[best]}": scores[:, best],
        "chosen on the others": np.array(left_out),
    }
    print(f"{len(sets)} sets, {len(GRID)} settings (seats, evidence, doubt)")
    for line, found in lines.items():
        print(f"{line:44s}", *(f"{key} {value:.4f}" for key, value in zip(SCORES, found.mean(axis=0), strict=True)))


if __name__ == "__main__":
    main(sys.argv[1:])
