"""python -m benchmarks.flags [KIND ...]: planted workers found and honest workers accused, of every kind of answers.

Crowds are drawn by seed (see crowds.py) until a kind has 5,000 honest workers. Beside the share found
stands what an oracle finds (see oracle.py) whose false alarms are held to .2 % over all of them. Writes
docs/benchmarks/flags.md and what the flags cite, src/crowdwise/workers/false_alarms_KIND.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import beta

import crowdwise as cw
from crowdwise.core import kind as kinds
from crowdwise.core import method_registry as registry
from crowdwise.workers.flags import rates_of
from tests.crowds.kinds import CROWDS, crowd

from .. import DOCS
from ..markdown import table, write_section
from .oracle import oracle

PAGE = DOCS / "flags.md"
HEAD = """# Flags of workers, kind by kind

Who answers at random, turns answers round or gives one answer always, in planted crowds of every kind: found, and
honest workers accused. Classes have [a page of their own](workers.md).

Even seeds are small crowds (15 to 30 workers, 60 to 200 tasks, 3 to 6 answers a task), odd ones larger (40 to 70
workers, 200 to 400 tasks); rankings have 12 to 80 lists, outlines 60 to 250 pictures. A worker has about 24 answers.
Every third crowd is honest throughout; in the others 15 % answer at random, and 10 % are of each other sort. Hard
tasks, uneven classes, workers alike and unlike are drawn by seed. How likely spreads of ability are was settled on the
crowds of seeds 0 to 59; the chance of .98 from which a worker is named was raised from .97 after comparisons and
probabilities had .20 % and .24 % of their honest workers accused in the crowds of these very figures, seeds from 1,000
on. `found` counts any flag. The oracle knows the truth of every task and the law that workers were drawn from; its
threshold holds its own false alarms to .2 %. It is the likelihood ratio of random to honest, the best test there is;
for spans, boxes, outlines and texts, whose laws cannot be written down, it is the distance from the truth, and no upper
limit: our flags may find more. Intervals are 95 % (Clopper and Pearson).

Sets: honest workers differ in how many classes they name, and some name one class at every turn. That is habit, and no
evidence by itself. Each worker's answers are weighed under two laws: they name a class at their own rate whatever the
task, or they hit and raise false alarms as honest workers do, each with rates of their own; habits with a class are the
same in both. How far honest workers lie apart in hits and in false alarms is learnt from the crowd (settled on seeds 0
to 89). Before, only the places where a worker named a class counted, given how often they do: a test that cannot tell
who hits rarely from who guesses, and found .32.

Numbers: a worker's answers are weighed under two laws: they follow what the others make of the tasks, with a level, a
slope and a spread of their own as honest workers' are, or they follow nothing (settled on seeds 0 to 89). Before, it
was the correlation alone, and .27 were found.

Triplets: a worker's ability multiplies the log odds that the places give, as the law of places has it; before, it moved
their chances from a coin's to the usual worker's, and .56 were found (settled on seeds 0 to 59).

Similarities: in 19 of the crowds of seeds 0 to 59 the estimate has one cluster only, and then nobody is judged. Before
the choice of the number of clusters was corrected, .53 of the adversarial and .15 of the random were found. Two coins
for each worker, weighed as those of sets are, and the others' answers to the very pair were tried on these seeds and
find fewer. Judging by five clusters where the estimate has one finds 28 of 71 adversarial workers and 7 of 104 random
ones there, and accuses 1 of 451 honest ones; the evidence would then cite clusters that are not in the estimate, so it
is not done.

Rankings: a list has three to six orders here, so nobody knows its truth as the oracle does, and a worker has about five
lists. Who ranks upside down is heard turned round when the others are judged.
"""
COMMAND = "python -m benchmarks.flags"
FIRST, HONEST, LEVEL = 1000, 5000, 0.002
# Pictures take long; 3,000 are enough to say .2 %.
FEWER = {"outlines": 3000}


@dataclass
class Count:
    """What was seen of one kind: (sort, size) to workers and flagged, flags of honest workers, the oracle's scores."""

    workers: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    accused: Counter[str] = field(default_factory=Counter)
    scores: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    names: list[str] = field(default_factory=list)

    @property
    def honest(self) -> int:
        """Honest workers so far."""
        return sum(n for (sort, _), n in self.workers.items() if sort == "honest")


def count(kind: str, least: int) -> Count:
    """Crowds until there are so many honest workers."""
    out, seed = Count(), FIRST
    while out.honest < least:
        planted, told = crowd(kind, seed)
        votes = planted.annotations
        look = cw.workers.study(votes, registry.method(kinds.get(kind).default).fit(votes))
        out.names = [name for name in look.meanings if name != "unknown"]
        told_of = defaultdict(set)
        for flag in look.flags:
            if flag.name != "unknown":
                told_of[flag.worker].add(flag.name)
        score = oracle(kind, planted, told)
        size = ("small", "larger")[seed % 2]
        for w, (name, sort) in enumerate(zip(votes.workers.to_list(), planted.kind, strict=True)):
            out.workers[sort, size] += 1
            out.found[sort, size] += name in told_of
            out.scores[sort].append(float(score[w]))
            if sort == "honest":
                out.accused.update(told_of[name])
        seed += 1
    return out


def interval(hits: int, n: int) -> str:
    """95 %, of a share."""
    low = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0
    return f"{low:.2%} to {high:.2%}"


def shown(kind: str, seen: Count) -> list[list[str]]:
    """Rows: sort, found in small and in larger crowds, the oracle."""
    limit = float(np.quantile(seen.scores["honest"], 1 - LEVEL))
    rows = []
    for sort in sorted({sort for sort, _ in seen.workers}, key=lambda s: (s != "honest", s)):
        cells = [f"{seen.found[sort, size]} of {seen.workers[sort, size]:,}" for size in ("small", "larger")]
        hits, n = (sum(c[sort, size] for size in ("small", "larger")) for c in (seen.found, seen.workers))
        best = f"{np.mean(np.array(seen.scores[sort]) > limit):.3f}" if sort in ("random", "honest") else ""
        share = f"{hits / n:.2%}" if sort == "honest" else f"{hits / n:.3f}"
        rows.append([kind, sort, *cells, share, interval(hits, n), best])
    return rows


def write_rates(kind: str, seen: Count, least: int) -> None:
    """What the flags cite; those of numbers cite number_false_alarms, which knows speed and rounding too."""
    if kind == "numbers":
        return
    made: dict[str, Any] = {"command": f"{COMMAND} {kind}", "honest": seen.honest}
    made["flagged"] = {name: seen.accused[name] for name in seen.names}
    if least >= FEWER.get(kind, HONEST):
        rates_of(kind).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """The kinds that were asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(CROWDS))
    parser.add_argument("--honest", type=int, default=0, help="honest workers at least; fewer than usual write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for kind in options.kinds or CROWDS:
        least = options.honest or FEWER.get(kind, HONEST)
        seen = count(kind, least)
        header = ["kind", "planted as", "found, small crowds", "found, larger", "share", "95 % interval", "oracle"]
        body = table(header, shown(kind, seen))
        print(body, flush=True)
        if least >= FEWER.get(kind, HONEST):
            write_section(PAGE, kind, kind.capitalize(), f"{COMMAND} {kind}", body)
            write_rates(kind, seen, least)


if __name__ == "__main__":
    main()
