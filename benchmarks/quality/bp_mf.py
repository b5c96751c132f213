"""python -m benchmarks.quality.bp_mf: belief propagation and mean field under right and wrong priors, with spammers.

1,000 tasks with 3 labels each by 750 workers with 4 tasks each, two classes, accuracies from a Beta distribution, and
spammers who label every task by a coin. Reference: an independent implementation, 20 seeds; mean field starts from the
vote shares there too (from a uniform start it ends elsewhere).
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.crowds.sparse import ROWS, Row, accuracies

from ..markdown import figures

COLUMNS = ("majority vote", "mean field, two coins", "mean field, one coin", "belief propagation")


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
