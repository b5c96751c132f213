"""`python -m benchmarks.speed [--quick] [--only em,threads,...] [-o PAGE.md]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from .. import DOCS
from . import machine
from .cli import cli
from .crowdlab import crowdlab
from .default import default
from .em import em, squarem
from .memory import memory
from .methods import methods
from .million import million
from .page import page
from .plan import Plan
from .reading import read
from .section import Section
from .threads import scaling, threads

SECTIONS = {
    "em": em,
    "threads": threads,
    "scaling": scaling,
    "memory": memory,
    "read": read,
    "cli": cli,
    "squarem": squarem,
    "crowdlab": crowdlab,
    "methods": methods,
    "million": million,
    "default": default,
}
PAGE = DOCS / "speed.md"


def main() -> None:
    options = _parse()
    names = options.only.split(",") if options.only else list(SECTIONS)
    facts = machine.facts()
    print("\n".join(f"{name}: {value}" for name, value in facts))
    sections: list[Section] = []
    with tempfile.TemporaryDirectory(prefix="crowdwise-speed-") as folder:
        plan = Plan(Path(folder), options.quick)
        for name in names:
            start = time.perf_counter()
            sections.append(SECTIONS[name](plan))
            print(sections[-1].text(), flush=True)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    bars = [bar for section in sections for bar in section.bars if bar.met is not None]
    print(f"\n{sum(bool(bar.met) for bar in bars)} of {len(bars)} judged bars are met")
    # A part of the benchmark, or a quick one, must not overwrite the page of a full run unasked.
    out = options.output or (PAGE if len(names) == len(SECTIONS) and not options.quick else None)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        command = "python -m benchmarks.speed" + (f" --only {options.only}" if options.only else "")
        out.write_text(page(facts, sections, command, options.quick))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and one round: a smoke test")
    parser.add_argument("--only", metavar="NAMES", help=f"sections, separated by commas, of {', '.join(SECTIONS)}")
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="PAGE", help="the Markdown page (full run: docs/benchmarks/speed.md)"
    )
    options = parser.parse_args()
    unknown = set((options.only or "").split(",")) - {"", *SECTIONS}
    if unknown:
        parser.error(f"--only knows {', '.join(SECTIONS)}, not {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    main()
