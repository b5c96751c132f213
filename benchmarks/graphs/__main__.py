"""python -m benchmarks.graphs: tasks with links. Writes docs/benchmarks/graphs.md."""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from tests.open_sets import graphs as sets

from .. import DOCS
from ..markdown import figures, write_section

PAGE = DOCS / "graphs.md"
HEAD = "# Tasks with links\n\nEvery figure here was printed by the command above its table.\n"
SEEDS = 3


def truth_section() -> str:
    return (
        f"Accuracy / log-loss. Links: each task to the {sets.NEIGHBOURS} whose features are most like its own "
        "(`cw.classes.neighbour_links`), photos by a net's features (labelme), songs by those of a sound library "
        f"(music).\n\n{figures(['', *sets.SETS], sets.rows())}"
    )


def planted_rows() -> list[list[str]]:
    """Accuracy, mean over seeds, by crowd."""
    crowds = {name: [simulate.scenario(name, workers=30, labels=2, seed=seed) for seed in range(SEEDS)]
              for name in simulate.LINKED_SCENARIOS}  # fmt: skip
    out = []
    for method, (known, params) in sets.METHODS.items():
        cells = []
        for drawn in crowds.values():
            found = [cw.evaluate(cw.method(known, **params).fit(c.votes), c.truth_table()).accuracy for c in drawn]
            cells.append(f"{np.mean(found):.3f}")
        out.append([method, *cells])
        print(*out[-1], flush=True)
    return [["accuracy", *(name.removeprefix("linked_") for name in crowds)], *out]


def planted_section() -> str:
    header, *rows = planted_rows()
    return (
        f"Mean over {SEEDS} seeds: 1,000 tasks of four classes, 30 workers who are right between 30 % and 75 % of the "
        "time, two labels and six links a task, of which 60 % (plain), 37 % (loose) or 90 % (clean) join tasks of one "
        f"class; 25 % would be chance.\n\n{figures(header, rows)}"
    )


SECTIONS = {"truth": ("Against the truth", truth_section), "planted": ("Planted crowds", planted_section)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    warnings.simplefilter("ignore")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.graphs {name}", make())


if __name__ == "__main__":
    main()
