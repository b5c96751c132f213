"""python -m benchmarks.flags.answers [KIND ...]: with how many answers is a random worker found?

Crowds of 40 workers, four answers a task, 10 to 100 answers a worker; 15 % answer at random, 10 % are of each other
sort of trouble; all else is drawn by seed as on the rest of the page, seeds from 5,000 on. Writes a section of
docs/benchmarks/flags.md; the rows of kinds that are not asked for are kept.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import crowdwise as cw
from crowdwise.core import kind as kinds
from crowdwise.core import method_registry as registry
from tests.crowds.kinds import CROWDS, OTHER, RANDOM, Shape

from ..markdown import section, table, write_section
from .__main__ import COMMAND, PAGE

FIRST, WORKERS, EACH, SIZES = 5000, 40, 4, (10, 25, 50, 100)
# Crowds of each size; pictures take long.
EVERY, FEWER = 12, {"outlines": 4}
SECTION, TITLE = "answers", "With how many answers a random worker is found"
ABOUT = f"""{WORKERS} workers, {EACH} answers a task, {RANDOM:.0%} of the workers at random: the share of these that is
flagged, by how many answers a worker has (rankings: lists), and the honest workers of the same crowds who are. Seeds
from {FIRST:,} on; {EVERY} crowds of each size, {FEWER["outlines"]} of outlines. Similarities have an eighth as
many items as pairs at every size, so that their clusters do not become surer with more answers.

"""


def cell(kind: str, answers: int) -> tuple[int, int, int, int]:
    """(random found, random, honest accused, honest) in crowds with so many answers a worker."""
    seen = [0, 0, 0, 0]
    for seed in range(FEWER.get(kind, EVERY)):
        rng = np.random.default_rng([list(CROWDS).index(kind), FIRST + seed, answers])
        planted, _ = CROWDS[kind](Shape(answers * WORKERS // EACH, WORKERS, EACH, RANDOM, OTHER), rng)
        votes = planted.annotations
        look = cw.workers.study(votes, registry.method(kinds.get(kind).default).fit(votes))
        told = {flag.worker for flag in look.flags if flag.name != "unknown"}
        for name, sort in zip(votes.workers.to_list(), planted.kind, strict=True):
            for at, one in ((0, "random"), (2, "honest")):
                seen[at] += sort == one and name in told
                seen[at + 1] += sort == one
    return seen[0], seen[1], seen[2], seen[3]


def row(kind: str) -> list[str]:
    """The line of a kind."""
    found = [cell(kind, answers) for answers in SIZES]
    accused, honest = (sum(each[i] for each in found) for i in (2, 3))
    return [kind, *(f"{a / n:.2f} ({a} of {n})" for a, n, _, _ in found), f"{accused} of {honest:,}"]


def kept() -> dict[str, list[str]]:
    """The rows that are on the page, by kind."""
    lines = [line for line in section(PAGE, SECTION).splitlines() if line.startswith("|")]
    rows = ([part.strip() for part in line.strip("|").split("|")] for line in lines)
    return {row[0]: row for row in rows if row[0] in CROWDS}


def main() -> None:
    """The kinds that were asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(CROWDS))
    chosen = parser.parse_args().kinds
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    header = ["kind", *(f"{n} answers" for n in SIZES), "honest accused"]
    for kind in chosen or CROWDS:
        made = row(kind)
        print(*made, sep=" | ", flush=True)
        rows = kept() | {kind: made}
        body = table(header, [rows[each] for each in CROWDS if each in rows])
        write_section(PAGE, SECTION, TITLE, f"{COMMAND}.answers", ABOUT + body)


if __name__ == "__main__":
    main()
