"""python -m benchmarks.workers.number_false_alarms: how many honest workers who gave numbers are flagged?

40 workers, 200 to 400 tasks, 4 or 8 answers a task. Nobody copies, guesses or says one number. By seed: answers as they
are, rounded to ones, or to fives and tens; noise with usual or with heavy tails; workers alike in their scales or not;
seconds an answer with a spread of a half or of one in their logarithm.

Prints a table, writes it to docs/benchmarks/workers.md, and what the flags cite to
src/crowdwise/workers/false_alarms_numbers.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

import numpy as np

import crowdwise as cw
from crowdwise.kinds.numbers.simulate import number_crowd
from crowdwise.kinds.numbers.workers import NUMBER_FLAGS
from crowdwise.workers.flags import rates_of

from .. import DOCS
from ..markdown import table, write_section

WORKERS, SEEDS = 40, 100
COMMAND, SECTION = "python -m benchmarks.workers.number_false_alarms", "number-false-alarms"


def independent(seed: int) -> cw.Votes:
    """A crowd in which everybody does what they can."""
    rng = np.random.default_rng(seed)
    crowd = number_crowd(
        int(rng.integers(200, 401)), WORKERS, per_task=(4, 8)[seed % 2], centre=50, scale=15, limits=(0, 100),
        steps=((), (1,), (5, 10))[seed % 3], heavy=(None, 4.0)[seed // 2 % 2], slope=(0.0, 0.25)[seed // 4 % 2],
        seed=rng,
    )  # fmt: skip
    own = rng.lognormal(np.log(10), (0.5, 1.0)[seed // 8 % 2], WORKERS)
    seconds = own[crowd.worker] * rng.lognormal(0, 0.5, len(crowd.task))
    return cw.numbers.number_votes(crowd.task, crowd.worker, crowd.value, duration=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="crowds; fewer write nothing")
    options = parser.parse_args()
    found: Counter[str] = Counter()
    for seed in range(options.seeds):
        votes = independent(seed)
        flags = cw.workers.study(votes, cw.numbers.Combined().fit(votes)).flags
        found += Counter(name for name, _ in {(flag.name, flag.worker) for flag in flags})
    honest = options.seeds * WORKERS
    names = [name for name in NUMBER_FLAGS if name != "unknown"]
    rows = [[name, f"{found[name]} of {honest:,}", f"{found[name] / honest:.3%}"] for name in names]
    shown = table(["flag", "honest workers", "share"], rows)
    print(shown)
    if options.seeds >= SEEDS:
        made = {"command": COMMAND, "honest": honest, "flagged": {name: found[name] for name in names}}
        rates_of("numbers").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
        words = (__doc__ or "").partition("\n\n")[2].partition("\n\nPrints")[0]
        write_section(DOCS / "workers.md", SECTION, "False alarms among numbers", COMMAND, f"{words}\n\n{shown}")


if __name__ == "__main__":
    main()
