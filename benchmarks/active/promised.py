"""python -m benchmarks.active promised: what further votes are said to bring, and what they bring.

About two labels a task are kept by chance, the default method is fitted, and every task gets one, two or three of the
labels that were held back. Promised is the rise of the probability that a label is right (`forecast_gains`), came
is the rise of the share of right labels after the default method is fitted again. Each set counts the same.
"""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from crowdwise.active.trials import known_codes
from crowdwise.kinds.classes.scoring.recommendations import (
    MAX_VOTES,
    confusions,
    forecast_gain,
    forecast_gains,
    label_information,
    labels_per_worker,
    recommend,
)

from .advice import SETS, drawn, hits

# The sets of the advice were left out when DEPENDENCE was settled.
APART = SETS
LABELS, SPLITS, LEAST, MORE = 2.0, 2, 4.0, 3
# Tasks of a set that have had so many labels: fewer say nothing. The last row holds those with more, too.
ENOUGH, LAST = 20, 6
HEADER = [
    "labels before",
    "sets",
    *(f"{what}, {m}" for what in ("promised", "came", "if independent") for m in (1, 2, 3)),
]


def one(name: str, seed: int) -> np.ndarray:
    """A row a task with a truth and three held-back labels or more: labels before, promised, came, if independent."""
    data = cw.datasets.load(name)
    votes, truth = data.annotations, known_codes(data.truth, data.annotations)
    rng = np.random.default_rng([seed, 6])
    mask = rng.random(len(votes)) < LABELS * votes.n_tasks / len(votes)
    kept, held = votes.take(np.flatnonzero(mask)), rng.permutation(np.flatnonzero(~mask))
    left = np.bincount(votes.task[held], minlength=votes.n_tasks)
    known = np.flatnonzero((truth >= 0) & (left >= MORE))
    fit = cw.Adaptive().fit(kept)
    before, had = hits(fit, truth)[known], kept.labels_per_task.astype(float)
    promised = forecast_gains(kept, fit, recommend(kept, fit))
    theta, top = confusions(kept, fit), np.argsort(-fit.posterior, axis=1, kind="stable")[:, :2]
    told = label_information(kept, theta, np.arange(votes.n_tasks), top)
    alone = forecast_gain(fit.posterior, had, told, theta, labels_per_worker(kept), MAX_VOTES, dependence=0.0)
    came = []
    for m in range(1, MORE + 1):
        rows = np.concatenate([np.flatnonzero(mask), drawn(np.full(votes.n_tasks, m), votes, held)])
        came.append(hits(cw.Adaptive().fit(votes.take(np.sort(rows))), truth)[known] - before)
    return np.column_stack([had[known], promised[known, :MORE], np.array(came).T, alone[known, :MORE]])


def rows(apart: bool) -> list[list[str]]:
    """A row for each number of labels before, means over the sets, and one over all tasks."""
    found = {}
    for name in cw.datasets.INDEPENDENT:
        votes = cw.datasets.load(name).annotations
        if (name in APART) == apart and len(votes) >= LEAST * votes.n_tasks:
            found[name] = np.concatenate([one(name, seed) for seed in range(SPLITS)])
            print(name, flush=True)
    out = []
    for had in [*range(LAST + 1), None]:
        each = [part[:, 1:].mean(axis=0) for part in (_of(all_, had) for all_ in found.values()) if len(part) >= ENOUGH]
        what = "any" if had is None else f"{had} or more" if had == LAST else str(had)
        if each:
            out.append([what, str(len(each)), *(f"{x:+.3f}" for x in np.mean(each, axis=0))])
    return out


def _of(part: np.ndarray, had: int | None) -> np.ndarray:
    return part if had is None else part[np.minimum(part[:, 0], LAST) == had]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for apart in (False, True):
        print("\n".join(" ".join(line) for line in rows(apart)))
