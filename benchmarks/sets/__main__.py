"""python -m benchmarks.sets: label sets. Writes docs/benchmarks/sets.md."""

from __future__ import annotations

import argparse
import warnings

from tests.open_sets import sets as medrel

from .. import DOCS
from ..markdown import figures, write_section
from . import peer, planted, speed

PAGE = DOCS / "sets.md"
HEAD = (
    "# Label sets: several classes in one answer\n\nEvery figure here was printed by the command above its table. "
    "Who is flagged: [flags, kind by kind](flags.md).\n"
)


def medrel_section() -> str:
    table = figures(["F1", "CAUSES", "minus the default", "TREATS", "minus the default"], medrel.rows())
    return (
        "ml_medrel: 50,226 answers of 468 workers about 3,231 sentences, 14 relations, about 15 answers a sentence. "
        "Experts judged CAUSES in 929 sentences (239 times yes) and TREATS in 606 (291). Differences with their "
        f"standard errors by resampling sentences ({medrel.DRAWS} draws).\n\n{table}"
    )


def planted_section() -> str:
    header, *rows = planted.rows()
    return (
        f"Micro F1 / share of exact sets, mean over {planted.SEEDS} seeds: 500 tasks, 60 workers, three answers a "
        "task; 30 classes unless said, about 1.5 of them true of a task. The crowds are those of `crowdwise simulate "
        f"sets_...`; the last row is what one would find who knew every worker's hits and false alarms.\n\n"
        f"{figures(header, rows)}"
    )


def speed_section() -> str:
    return (
        f"{speed.TASKS * speed.EACH:,} answers of {speed.WORKERS:,} workers about {speed.TASKS:,} tasks, "
        f"{speed.CLASSES} classes; CPU seconds on one core.\n\n{figures(['what', 'CPU s', 'passes'], speed.rows())}"
    )


def peer_section() -> str:
    header = ["ml_medrel", "F1 of CAUSES", "F1 of TREATS", "CPU s"]
    return f"The same answers in crowd-kit's own environment; one core.\n\n{figures(header, peer.rows())}"


SECTIONS = {
    "medrel": ("Against experts", medrel_section),
    "planted": ("Planted crowds", planted_section),
    "peer": ("Beside crowd-kit", peer_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    warnings.simplefilter("ignore")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.sets {name}", make())


if __name__ == "__main__":
    main()
