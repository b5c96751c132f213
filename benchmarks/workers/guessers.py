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
from crowdwise import simulate
from crowdwise.kinds.classes.workers.quality import spammer_flags

from .. import DOCS
from ..markdown import table, write_section

COMMAND, SECTION = "python -m benchmarks.workers.guessers", "guessers"
HONEST, GUESSERS, PER_TASK = 18, 6, 10
LABELS = (10, 20, 40, 60, 80, 125, 250)
PRIORS = {"even": None, "80 : 20": (0.8, 0.2)}
# The constants of the flags were settled on crowds with other seeds.
SEEDS = range(9_000, 9_025)
ALARMS, SKILL = 0.002, 0.8


def crowd(labels: int, prior: tuple[float, ...] | None, seed: int) -> cw.Annotations:
    """A binary crowd whose last workers guess."""
    groups = [simulate.OneCoin(HONEST, low=0.7, high=0.9), simulate.Guesser(GUESSERS)]
    tasks = round(labels * (HONEST + GUESSERS) / PER_TASK)
    return simulate.crowd(tasks, 2, groups, simulate.PerTask(PER_TASK), class_prior=prior, seed=seed).annotations


def flagged(votes: cw.Annotations) -> np.ndarray:
    """Who is flagged as guessing."""
    flags = spammer_flags(votes, cw.method("hierarchical").fit(votes))
    named = [flag.worker for flag in flags if flag.name in ("constant", "random")]
    return np.isin(votes.workers.to_numpy(), named)


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
