"""python -m benchmarks.numbers: numeric answers. Writes docs/benchmarks/numbers.md."""

from __future__ import annotations

import argparse
import warnings

from tests.open_sets.numbers import CONSTANT, SETS

from .. import DOCS
from ..markdown import figures, write_section
from . import accuracy, coverage, flags, speed

PAGE = DOCS / "numbers.md"
SHORT = [name.removeprefix("affect_").removeprefix("num_") for name in SETS]
HEAD = (
    "# Numbers: ratings, scores, measurements\n\nEvery figure here was printed by the command above its table. "
    "Who is flagged: [flags, kind by kind](flags.md).\n"
)


def accuracy_section() -> str:
    table = figures(["RMSE / r", *SHORT, "mean of eight", CONSTANT], accuracy.score_rows())
    gaps = figures(["r minus the mean's", *SHORT, CONSTANT], accuracy.difference_rows())
    return (
        "Root mean squared error in units of the truth's standard deviation / Pearson's r. Truth is experts' (affect), "
        "the rating that came with the review (moviereviews), the number itself (calories, dots). relevance4 are "
        "classes 0 to 3 "
        f"read as numbers, where three busy workers say nearly always the same.\n\n{table}\n\n"
        "Difference in r from the plain mean, with its standard error by resampling tasks "
        f"({accuracy.DRAWS} draws).\n\n{gaps}"
    )


def interval_section() -> str:
    return (
        f"90 % intervals of `gaussian`. Raw: from the fit's variance. With {coverage.GOLD} gold tasks: conformal, from "
        "the errors of a fit without gold (blind) or of fits that leave out a fold of it, around estimates that know "
        f"all of it, scored on the other tasks; mean ± standard deviation over {coverage.DRAWS} draws of the gold.\n\n"
        + figures(["share of truth covered", *SHORT, "mean"], coverage.expert_rows("gaussian", True))
    )


def default_section() -> str:
    rows = coverage.expert_rows("combined (default)", False)
    return "The same for the default.\n\n" + figures(["share of truth covered", *SHORT, "mean"], rows)


def planted_section() -> str:
    header = ["crowd", "90 % intervals cover", "RMSE / mean's", "worker variance / true", "median error of it"]
    return (
        "The default. 1,600 tasks, 40 workers, five answers a task, 200 answers a worker; the common offset of the "
        f"crowd is left in. Worker variances of honest workers.\n\n{figures(header, coverage.planted_rows())}"
    )


def flag_section() -> str:
    header = ["crowd", *(f"{name}{what}" for name in flags.FLAGS for what in ("", ": honest accused"))]
    return (
        "Thirty workers, 300 tasks on a scale from 0 to 100, eight answers a task; flagged / who should be, and honest "
        f"workers accused (for copying: anybody in a pair that does not copy).\n\n{figures(header, flags.flag_rows())}"
    )


def speed_section() -> str:
    return (
        f"{speed.ANSWERS:,} answers of {speed.WORKERS:,} workers about {speed.TASKS:,} tasks; CPU time as a multiple "
        f"of four weighted numpy bincounts (two by task, two by worker).\n\n"
        f"{figures(['what', '× four bincounts'], speed.speed_rows())}"
    )


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "intervals": ("Intervals", interval_section),
    "default": ("Intervals of the default", default_section),
    "planted": ("Planted crowds", planted_section),
    "flags": ("Flags", flag_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    warnings.simplefilter("error", RuntimeWarning)
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.numbers {name}", make())


if __name__ == "__main__":
    main()
