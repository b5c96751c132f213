"""python -m benchmarks.quality.bp_mf: belief propagation and mean field under right and wrong priors, with spammers.

1,000 tasks with 3 labels each by 750 workers with 4 tasks each, two classes, accuracies from a Beta distribution, and
spammers who label every task by a coin. Reference: an independent implementation, 20 seeds; mean field starts from the
vote shares there too (from a uniform start it ends elsewhere).
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass

import numpy as np

import crowdwise as cw
from crowdwise import simulate

from ..markdown import figures

COLUMNS = ("majority vote", "mean field, two coins", "mean field, one coin", "belief propagation")


@dataclass(frozen=True)
class Row:
    """Truth Beta(a, b), model Beta(a, b), spammers, and the reference: means and spreads (None: not given)."""

    truth: tuple[float, float]
    model: tuple[float, float]
    spammers: int
    mean: tuple[float, ...]
    spread: tuple[float | None, ...]

    def __str__(self) -> str:
        spam = f" + {self.spammers} spammer{'s' * (self.spammers > 1)}" if self.spammers else ""
        return f"Beta({self.truth[0]:g}, {self.truth[1]:g}){spam}, model ({self.model[0]:g}, {self.model[1]:g})"


_NONE = (None, None, None, None)
ROWS = (
    Row((0.2, 0.1), (0.2, 0.1), 0, (0.742, 0.876, 0.940, 0.983), (0.020, 0.029, 0.018, 0.003)),
    Row((0.5, 0.25), (0.5, 0.25), 0, (0.741, 0.853, 0.895, 0.925), (0.012, 0.021, 0.016, 0.013)),
    Row((1, 0.5), (1, 0.5), 0, (0.746, 0.799, 0.817, 0.827), (0.014, 0.015, 0.023, 0.017)),
    Row((2, 1), (2, 1), 0, (0.744, 0.758, 0.755, 0.765), (0.017, 0.017, 0.019, 0.018)),
    Row((2, 1), (2, 0.8), 1, (0.686, 0.758, 0.754, 0.766), _NONE),
    Row((2, 1), (2, 1), 1, (0.686, 0.759, 0.752, 0.766), _NONE),
    Row((2, 1), (2, 1.2), 1, (0.686, 0.650, 0.746, 0.768), (None, 0.119, None, None)),
    Row((2, 1), (2, 1.4), 1, (0.686, 0.499, 0.634, 0.763), (None, None, 0.108, None)),
    Row((2, 1), (2, 1.6), 1, (0.686, 0.499, 0.523, 0.746), _NONE),
    Row((2, 1), (2, 1.4), 0, (0.744, 0.760, 0.745, 0.765), _NONE),
    Row((2, 1), (2, 1.4), 2, (0.684, 0.510, 0.623, 0.755), (None, None, 0.095, None)),
)


def crowd(row: Row, seed: int) -> tuple[cw.Annotations, np.ndarray]:
    """The crowd of a row and the truth."""
    drawn = simulate.crowd(
        1000, 2, [simulate.OneCoin(750, low=0, high=1, beta=row.truth)], simulate.Regular(3, 4), seed=seed
    )
    votes, rng = drawn.annotations, np.random.default_rng(seed)
    task = np.concatenate([votes.task, np.tile(np.arange(1000), row.spammers)])
    worker = np.concatenate([votes.worker, 750 + np.repeat(np.arange(row.spammers), 1000)])
    label = np.concatenate([votes.label, rng.integers(2, size=1000 * row.spammers)])
    return cw.Annotations.from_arrays(task, worker, label), drawn.truth


def accuracies(row: Row, seeds: int) -> np.ndarray:
    """accuracy[seed, column], ties shared."""
    right, wrong = row.model
    methods = (
        cw.MajorityVote(),
        cw.classes.MeanField(coin="two", prior_diagonal=right, prior_off=wrong),
        cw.classes.MeanField(coin="one", prior_diagonal=right, prior_off=wrong),
        cw.classes.BeliefPropagation(prior_right=right, prior_wrong=wrong, max_iter=200, damping=0.1),
    )
    found = np.empty((seeds, len(methods)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
        for seed in range(seeds):
            votes, truth = crowd(row, seed)
            answers = dict(enumerate(truth.tolist()))
            found[seed] = [cw.evaluate(method.fit(votes), answers).expected_accuracy for method in methods]
    return found


def distance(row: Row, found: np.ndarray) -> np.ndarray:
    """|our mean - theirs| in standard errors of the difference; a spread that is not given is taken to be ours."""
    ours = found.std(axis=0, ddof=1)
    theirs = np.array([own if given is None else given for given, own in zip(row.spread, ours, strict=True)])
    error = np.sqrt(ours**2 / len(found) + theirs**2 / 20)
    return np.abs(found.mean(axis=0) - row.mean) / error


def markdown(seeds: int) -> str:
    """The section of the page."""
    rows, worst, behind = [], 0.0, []
    for row in ROWS:
        found = accuracies(row, seeds)
        apart = distance(row, found)
        worst = max(worst, float(apart.max()))
        lead = (found[:, 3:] - found[:, 1:3]).mean(axis=0).min()
        behind += [str(row)] if lead <= 0 else []
        cells = [f"{m:.3f} ({r:.3f}, {a:.1f})" for m, r, a in zip(found.mean(axis=0), row.mean, apart, strict=True)]
        rows.append([str(row), *cells, f"{lead:+.3f}"])
        print(*rows[-1], sep=" | ", flush=True)
    verdict = "ahead of both mean fields in every row" if not behind else f"not ahead in {'; '.join(behind)}"
    return f"""## Belief propagation and mean field under wrong priors
`python -m benchmarks.quality.bp_mf`: 1,000 tasks × 3 labels, 750 workers × 4 tasks, two classes, accuracies from a Beta
distribution; a spammer labels every task by a coin. Mean accuracy over {seeds} seeds (in brackets: an independent
implementation's mean over 20 seeds, and the distance in standard errors of the difference). Lead: belief propagation
minus the better mean field, paired.

{figures(["truth, model", *COLUMNS, "lead"], rows)}

Largest distance {worst:.1f} standard errors (bar: 3.5); belief propagation is {verdict}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    print(markdown(parser.parse_args().seeds))


if __name__ == "__main__":
    main()
