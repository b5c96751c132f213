"""python -m benchmarks.rankings: orders of items. Writes docs/benchmarks/rankings.md."""

from __future__ import annotations

import argparse

import numpy as np

import crowdwise as cw
from crowdwise.kinds.rankings.simulate import RANKING_SCENARIOS
from tests.open_sets.rankings import few_voters, load, truth

from .. import DOCS
from ..markdown import figures, write_section
from . import sushi

PAGE = DOCS / "rankings.md"
HEAD = (
    "# Rankings\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)
METHODS = cw.methods("rankings")


def accuracy_section(draws: int = 100) -> str:
    """All methods on the open sets."""
    rows = []
    for method in METHODS:
        facts = cw.evaluate(cw.method(method).fit(load("rank_facts")), truth("rank_facts"), resamples=1000)
        value, (low, high) = facts.kendall, facts.intervals["kendall"]
        cells = [f"{value:.3f} ({low:.2f} to {high:.2f})"]
        for name in ("rank_dots", "rank_puzzle"):
            for k in (5, 10, 50):
                found = [few_voters(name, k, method, seed) for seed in range(draws)]
                cells.append(f"{np.mean(found):.3f} ± {np.std(found) / np.sqrt(draws):.3f}")
            cells.append(f"{cw.evaluate(cw.method(method).fit(load(name)), truth(name)).kendall:.3f}")
        rows.append([method, *cells])
        print(*rows[-1], flush=True)
    header = ["", "rank_facts, 12 lists (95 % over lists)", "dots, 5 voters", "dots, 10", "dots, 50", "dots, all",
              "puzzle, 5", "puzzle, 10", "puzzle, 50", "puzzle, all"]  # fmt: skip
    return (
        f"Mean Kendall's tau-b with the true order; few voters: mean of {draws} draws of so many rankings of each "
        "list, with its standard error. A tied order counts as tied, so that the names of the items cannot help.\n\n"
        f"{figures(header, rows)}"
    )


def sushi_section() -> str:
    """Preferences without a truth."""
    likely, costs = sushi.section()
    return (
        "5,000 people's orders of ten sorts; there is no truth. How likely a ranking is that was held out (a fifth, "
        "mean of five draws), and in how many of 45 pairs an order differs from a ranking, on average.\n\n"
        + figures(["held-out ranking", "log-likelihood"], likely)
        + "\n\n"
        + figures(["order", "pairs that differ"], costs)
    )


def planted_section(seeds: int = 10) -> str:
    """Kendall's tau by scenario and method."""
    rows = []
    for name in RANKING_SCENARIOS:
        crowds = [cw.simulate.scenario(name, tasks=40, workers=20, labels=6, seed=seed) for seed in range(seeds)]
        cells = [
            f"{np.mean([cw.evaluate(cw.method(m).fit(c.votes), c.truth_table()).kendall for c in crowds]):.3f}"
            for m in METHODS
        ]
        rows.append([name, *cells])
        print(*rows[-1], flush=True)
    about = f"40 lists of eight items, six rankings a list by 20 workers; mean Kendall's tau of {seeds} draws."
    return f"{about}\n\n{figures(['scenario', *METHODS], rows)}"


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "planted": ("Planted crowds", planted_section),
    "sushi": ("Preferences", sushi_section),
}


def main() -> None:
    """The sections that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"among {', '.join(SECTIONS)}; all unless said")
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.rankings {name}", make())


if __name__ == "__main__":
    main()
