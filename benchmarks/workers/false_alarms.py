"""python -m benchmarks.workers.false_alarms: how many honest workers are flagged? Independent crowds of every sort.

60 workers, 200 to 400 tasks, 2 to 20 classes. Nobody copies. By seed: 3, 5, 10 or all labels a task; classes even, or
nine tasks in ten of one class; wrong answers spread evenly, or most of them on one tempting class a task.

    sd 0, 1, 2   GLAD: P(right) = expit(skill · ease), ease = exp(N(0, sd²)): tasks alike, or some that nobody can do
    guessers     a third of the workers guess, the others are good; only the good are honest

Prints the tables and writes them to docs/benchmarks/workers.md, and what the flags cite to
src/crowdwise/workers/false_alarms.json.
"""

from __future__ import annotations

import argparse
import json
import warnings

import crowdwise as cw
from crowdwise.workers.flags import NAMES, RATES
from tests.crowds.independent import KINDS, SEEDS, Found, measure

from .. import DOCS
from ..markdown import table, write_section

CLASSES = (2, 3, 5, 10, 20)
COMMAND, SECTION = "python -m benchmarks.workers.false_alarms", "false-alarms"
# "unknown" and "coachable" accuse nobody and are not looked for here.
ACCUSING = tuple(name for name in NAMES if name not in ("unknown", "coachable"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="crowds of each sort; fewer write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    found = {(k, kind): _told(k, kind, range(options.seeds)) for k in CLASSES for kind in KINDS}
    total = sum(found.values(), Found())
    tables = page(found, total)
    print(tables)
    if options.seeds >= SEEDS:
        flags = {name: total.by_name[name] for name in ACCUSING}
        made = {"command": COMMAND, "honest": total.honest, "flagged": flags}
        RATES.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
        words = (__doc__ or "").partition("\n\n")[2].partition("\n\nPrints")[0].replace("\n\n", "\n\n```\n") + "\n```"
        write_section(DOCS / "workers.md", SECTION, "False alarms", COMMAND, f"{words}\n\n{tables}")


def _told(k: int, kind: str, seeds: range) -> Found:
    found = measure(k, kind, seeds)
    print(f"K = {k}, {kind}: {found.any_flag} of {found.honest}", dict(found.by_name), flush=True)
    return found


def page(found: dict[tuple[int, str], Found], total: Found) -> str:
    """Two tables: by sort of crowd, and by flag."""
    cells = {at: f"{one.any_flag} of {one.honest:,}" for at, one in found.items()}
    rows = [[f"K = {k}", *(cells[k, kind] for kind in KINDS)] for k in CLASSES]
    flags = [[name, f"{total.by_name[name]} of {total.honest:,}", f"{total.by_name[name] / total.honest:.3%}"]
             for name in ACCUSING]  # fmt: skip
    both = f"{total.any_flag} of {total.honest:,}", f"{total.any_flag / total.honest:.3%}"
    flags.append(["any that `study` raises", *both])
    return f"{table(['honest workers flagged', *KINDS], rows)}\n\n{table(['flag', 'honest workers', 'share'], flags)}"


if __name__ == "__main__":
    main()
