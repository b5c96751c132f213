"""python -m benchmarks.workers.guessers: with how many labels is a worker found who guesses on yes/no questions?

24 workers, ten labels a task, 18 of accuracy .7 to .9 and six who guess evenly; as many tasks as give every worker the
number of labels of the row; 25 crowds a row, `hierarchical`. The last column knows the truth: the share of guessers
with fewer right labels than 499 in 500 workers of accuracy .8 have, the most powerful test of .5 against .8 (Neyman and
Pearson).
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import binom

import crowdwise as cw
from tests.crowds.guessers import HONEST, crowd, flagged

from .. import DOCS
from ..markdown import table, write_section

COMMAND, SECTION = "python -m benchmarks.workers.guessers", "guessers"
LABELS = (10, 20, 40, 60, 80, 125, 250)
PRIORS = {"even": None, "80 : 20": (0.8, 0.2)}
# The constants of the flags were settled on crowds with other seeds.
SEEDS = range(9_000, 9_025)
ALARMS, SKILL = 0.002, 0.8


def by_truth(labels: int) -> float:
    """Share of guessers found by the number of their right labels."""
    below = int(binom.ppf(ALARMS, labels, SKILL))
    return float(binom.cdf(below - 1, labels, 0.5))


def rows() -> list[list[str]]:
    """A row for each number of labels."""
    out = []
    for labels in LABELS:
        cells = [str(labels)]
        for prior in PRIORS.values():
            hits = np.mean([flagged(crowd(labels, prior, seed)) for seed in SEEDS], axis=0)
            accused = round(float(hits[:HONEST].sum()) * len(SEEDS))
            cells += [f"{hits[HONEST:].mean():.2f}", f"{accused} of {HONEST * len(SEEDS)}"]
        out.append([*cells, f"{by_truth(labels):.2f}"])
        print(*out[-1], flush=True)
    return out


def main() -> None:
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    header = ["labels a worker"]
    for name in PRIORS:
        header += [f"found, {name}", f"honest flagged, {name}"]
    words = (__doc__ or "").partition("\n\n")[2].strip()
    text = f"{words}\n\n{table([*header, 'with the truth'], rows())}"
    write_section(DOCS / "workers.md", SECTION, "Guessers on yes/no questions", COMMAND, text)


if __name__ == "__main__":
    main()
