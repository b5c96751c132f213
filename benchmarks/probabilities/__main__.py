"""python -m benchmarks.probabilities: pools of probabilities. Writes docs/benchmarks/probabilities.md."""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from crowdwise.core import method_registry as registry

from .. import DOCS, data_folder
from ..markdown import figures, write_section

SET = "prob_knowledge"
PAGE = DOCS / "probabilities.md"
DRAWS = 5
HEAD = (
    "# Probabilities\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)


def load(k: int | None = None, seed: int = 0) -> tuple[cw.Votes, object]:
    """The votes, or at most k of each task drawn by seed, and the outcomes."""
    folder = data_folder() / SET
    votes = cw.read(folder / "labels.csv", kind="probabilities")
    if k is not None:
        order = np.lexsort((np.random.default_rng(seed).random(len(votes)), votes.task))
        begin = np.searchsorted(votes.task, np.arange(votes.n_tasks))
        place = np.arange(len(votes)) - begin[votes.task]
        votes = votes.take(np.sort(order[place < k]))
    return votes, cw.read_truth(folder / "truth.csv")


def scored(name: str, votes: cw.Votes, truth: object) -> tuple[float, float, float]:
    """Brier score, accuracy and log-loss."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cw.evaluate(cw.method(name).fit(votes), truth)
    return found.brier, found.accuracy, found.log_loss


def main() -> None:
    rows = []
    for name in registry.names("probabilities"):
        row = [f"`{name}`", " / ".join(f"{x:.3f}" for x in scored(name, *load()))]
        for k in (20, 10, 5, 3):
            got = np.array([scored(name, *load(k, seed)) for seed in range(DRAWS)])
            row.append(" / ".join(f"{x:.3f}" for x in got.mean(axis=0)) + f" (± {got[:, 0].std():.3f})")
        rows.append(row)
        print(*row, flush=True)
    header = ["Brier / accuracy / log-loss", "all (92 a task)", "20 a task", "10", "5", "3"]
    text = (
        f"{SET}: 500 statements, 459 workers; outcome: whether the statement is true. Thinned sets: the mean over "
        f"{DRAWS} draws (± the standard deviation of the Brier score). The published figure of the mean is .171 "
        "/ .747. Strengths of the priors were chosen on thinned draws of this very set, so take the lead of `signals` "
        f"and of the default with care.\n\n{figures(header, rows)}"
    )
    if not PAGE.exists():
        PAGE.write_text(HEAD, encoding="utf-8")
    write_section(PAGE, "pools", "School science", "python -m benchmarks.probabilities", text)


if __name__ == "__main__":
    main()
