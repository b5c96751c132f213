"""python -m benchmarks.workers.order_false_alarms: how many honest workers who compared or ranked are flagged?

Comparisons: 20 to 60 workers, 150 to 600 pairs, 3 to 8 answers a pair, scores spread by 0.8, 1.5 or 2.5, slopes by
0.25, 0.4 or 0.6, with and without ties. Rankings: 20 or 60 lists of 4, 6 or 10 items, 4 or 8 rankings a list, 12 or 25
workers, whole or the first three places. Nobody guesses, copies or is reversed.

Writes what the flags cite to src/crowdwise/workers/false_alarms_comparisons.json and false_alarms_rankings.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.simulate.comparisons.draw import comparison_crowd
from crowdwise.simulate.comparisons.scenarios import PlantedComparisons
from crowdwise.simulate.rankings.draw import ranking_crowd
from crowdwise.simulate.rankings.scenarios import PlantedRankings
from crowdwise.workers.comparisons.study import FLAGS as PAIR_FLAGS
from crowdwise.workers.flags import rates_of
from crowdwise.workers.rankings.study import FLAGS as RANK_FLAGS

from ..markdown import table

COMMAND, SEEDS = "python -m benchmarks.workers.order_false_alarms", 100


def comparisons(seed: int) -> Any:
    """Votes of a crowd that compares as well as it can."""
    rng = np.random.default_rng(seed)
    workers = int(rng.integers(20, 61))
    drawn = comparison_crowd(
        int(rng.integers(150, 601)), workers, per_task=int(rng.choice([3, 5, 8])),
        scale=float(rng.choice([0.8, 1.5, 2.5])), slope=float(rng.choice([0.25, 0.4, 0.6])),
        ties=(None, 0.0)[seed % 2], seed=rng,
    )  # fmt: skip
    return PlantedComparisons(drawn).votes


def rankings(seed: int) -> Any:
    """Votes of a crowd that ranks as well as it can."""
    rng = np.random.default_rng(seed)
    tasks, workers, each, items = (int(rng.choice(c)) for c in ([20, 60], [12, 25], [4, 8], [4, 6, 10]))
    top = (None, 3)[seed % 2]
    scale = float(rng.choice([0.5, 1.0]))
    drawn = ranking_crowd(tasks, workers, per_task=each, items=items, scale=scale, heat=0.4, top=top, seed=rng)
    return PlantedRankings(drawn, rest=top is not None).votes


def count(kind: str, make: Callable[[int], Any], method: Any, meanings: Any, seeds: int) -> None:
    """One table, and the file that the flags cite."""
    found: Counter[str] = Counter()
    honest = 0
    for seed in range(seeds):
        votes = make(seed)
        flags = cw.workers.study(votes, method.fit(votes)).flags
        found += Counter(name for name, _ in {(flag.name, flag.worker) for flag in flags})
        honest += votes.n_workers
    names = [name for name in meanings if name != "unknown"]
    print(
        table(
            [kind, "honest workers", "share"],
            [[n, f"{found[n]} of {honest:,}", f"{found[n] / honest:.3%}"] for n in names],
        )
    )
    if seeds >= SEEDS:
        made = {"command": COMMAND, "honest": honest, "flagged": {name: found[name] for name in names}}
        rates_of(kind).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Both kinds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="crowds; fewer write nothing")
    seeds = parser.parse_args().seeds
    count("comparisons", comparisons, cw.Tournament(), PAIR_FLAGS, seeds)
    count("rankings", rankings, cw.Podium(), RANK_FLAGS, seeds)


if __name__ == "__main__":
    main()
