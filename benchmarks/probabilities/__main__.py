"""python -m benchmarks.probabilities: pools of probabilities. Writes docs/benchmarks/probabilities.md."""

from __future__ import annotations

import numpy as np

from crowdwise.core import method_registry as registry
from tests.open_sets.probabilities import SET, load, scored

from .. import DOCS
from ..markdown import figures, write_section

PAGE = DOCS / "probabilities.md"
DRAWS = 5
HEAD = (
    "# Probabilities\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)


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
