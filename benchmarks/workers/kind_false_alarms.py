"""python -m benchmarks.workers.kind_false_alarms [KIND ...]: how many honest workers of a kind of answers are flagged?

Crowds of scenarios in which nobody guesses, copies, idles or is reversed: 60 to 200 tasks (outlines 12 to 24), 15 to 30
workers, 3 to 6 answers a task, drawn by seed, until a kind has at least 1,000 honest workers.

Prints a table a kind, and writes what the flags cite to src/crowdwise/workers/false_alarms_KIND.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.aggregate import registry
from crowdwise.core import kind as kinds
from crowdwise.workers.flags import rates_of

from ..markdown import table

COMMAND = "python -m benchmarks.workers.kind_false_alarms"
HONEST = 1000
SCENARIOS = {
    "probabilities": ("probabilities_plain", "probabilities_leaning", "probabilities_common"),
    "sets": ("sets_plain", "sets_alike", "sets_menus"),
    "similarities": ("similarities_plain",),
    "triplets": ("triplets_plain",),
    "spans": ("spans_plain", "spans_passages"),
    "boxes": ("boxes_plain", "boxes_classes", "boxes_crowded"),
    "texts": ("texts_plain", "texts_translations"),
    "outlines": ("outlines_plain",),
}
# Tasks of a crowd, from and to.
TASKS = {"outlines": (12, 24)}
# The first seed, where flags were settled on the crowds before it.
FIRST = {"sets": 1000, "similarities": 1000}


def independent(kind: str, seed: int) -> Any:
    """Votes of a crowd in which everybody does what they can."""
    rng = np.random.default_rng(seed)
    low, high = TASKS.get(kind, (60, 200))
    names = SCENARIOS[kind]
    tasks, workers, each = (int(rng.integers(a, b + 1)) for a, b in ((low, high), (15, 30), (3, 6)))
    return simulate.scenario(names[seed % len(names)], tasks=tasks, workers=workers, labels=each, seed=seed).annotations


def count(kind: str, least: int) -> tuple[Counter[str], int, list[str]]:
    """(honest workers with each flag, honest workers, the names of the flags)."""
    found: Counter[str] = Counter()
    honest, seed, meanings = 0, FIRST.get(kind, 0), list[str]()
    while honest < least:
        votes = independent(kind, seed)
        look = cw.workers.study(votes, registry.method(kinds.get(kind).default).fit(votes))
        found += Counter(name for name, _ in {(flag.name, flag.worker) for flag in look.flags})
        meanings = [name for name in look.meanings if name != "unknown"]
        honest, seed = honest + votes.n_workers, seed + 1
    return found, honest, meanings


def main() -> None:
    """The kinds that were asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(SCENARIOS))
    parser.add_argument("--honest", type=int, default=HONEST, help="honest workers at least; fewer write nothing")
    options = parser.parse_args()
    strange = [name for name in options.kinds if name not in SCENARIOS]
    if strange:
        parser.error(f"there is no kind {strange[0]!r} here; there are {', '.join(SCENARIOS)}")
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    for kind in options.kinds or SCENARIOS:
        found, honest, names = count(kind, options.honest)
        rows = [[name, f"{found[name]} of {honest:,}", f"{found[name] / honest:.3%}"] for name in names]
        print(table([kind, "honest workers", "share"], rows), flush=True)
        if options.honest >= HONEST:
            made = {
                "command": f"{COMMAND} {kind} --honest {options.honest}",
                "honest": honest,
                "flagged": {name: found[name] for name in names},
            }
            rates_of(kind).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
