"""python -m benchmarks.ordered: classes with an order. Writes docs/benchmarks/ordered.md."""

from __future__ import annotations

import argparse
import warnings

from tests.open_sets import ordered as sets

from .. import DOCS
from ..markdown import figures, write_section
from . import planted

PAGE = DOCS / "ordered.md"
HEAD = "# Classes with an order\n\nEvery figure here was printed by the command above its table.\n"


def truth_section() -> str:
    table = figures(["accuracy / MAE / kappa / log-loss", *sets.SETS], sets.rows())
    return (
        "Accuracy of the most probable class; mean absolute error in steps and quadratic kappa of the median class; "
        "log-loss in nats. web: relevance of pages, five steps; relevance4: four steps, of which the highest is "
        "confused with all others alike; moviereviews: numbers put into five bins with equally many true ratings "
        f"each.\n\n{table}"
    )


def planted_section() -> str:
    header, *rows = planted.score_rows()
    return (
        f"Mean over {planted.SEEDS} seeds: 600 tasks, 40 workers, five answers a task, five classes; the crowds of "
        f"`crowdwise simulate ordered_...`.\n\n{figures(header, rows)}"
    )


def recovery_section() -> str:
    header = ["answers of a worker", "error of the bias (steps)", "error of log scale"]
    return (
        f"`ordinal_types` on 20 planted workers, five answers a task, mean over {planted.SEEDS} seeds; biases have a "
        f"standard deviation of half a step.\n\n{figures(header, planted.recovery_rows())}"
    )


SECTIONS = {
    "truth": ("Against the truth", truth_section),
    "planted": ("Planted crowds", planted_section),
    "recovery": ("Biases and scales", recovery_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    warnings.simplefilter("ignore")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.ordered {name}", make())


if __name__ == "__main__":
    main()
