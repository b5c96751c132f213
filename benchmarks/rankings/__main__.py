"""python -m benchmarks.rankings: orders of items. Writes docs/benchmarks/rankings.md."""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import crowdwise as cw
from crowdwise.simulate.rankings.draw import ranking_crowd
from crowdwise.simulate.rankings.scenarios import RANKING_SCENARIOS, PlantedRankings
from crowdwise.workers.rankings.study import flag_rankings

from .. import DOCS
from ..markdown import figures, write_section
from .sets import few_voters, load, truth

PAGE = DOCS / "rankings.md"
HEAD = "# Rankings\n\nEvery figure here was printed by the command above its table.\n"
METHODS = cw.methods("rankings")


def accuracy_section(draws: int = 30) -> str:
    """All methods on the open sets."""
    rows = []
    for method in METHODS:
        facts = cw.evaluate(cw.method(method).fit(load("rank_facts")), truth("rank_facts"), resamples=1000)
        value, low, high = facts.found["kendall"]
        cells = [f"{value:.3f} ({low:.2f} to {high:.2f})"]
        for name in ("rank_dots", "rank_puzzle"):
            for k in (5, 10):
                cells.append(f"{np.mean([few_voters(name, k, method, seed) for seed in range(draws)]):.3f}")
        rows.append([method, *cells])
        print(*rows[-1], flush=True)
    header = ["", "rank_facts, 12 lists (95 % over lists)", "dots, 5 voters", "dots, 10", "puzzle, 5", "puzzle, 10"]
    return (
        f"Mean Kendall's tau-b with the true order; few voters: mean of {draws} draws of so many rankings of each "
        f"list. A tied order counts as tied, so that the names of the items cannot help.\n\n{figures(header, rows)}"
    )


def planted_section(seeds: int = 10) -> str:
    """Kendall's tau by scenario and method."""
    rows = []
    for name in RANKING_SCENARIOS:
        crowds = [cw.simulate.scenario(name, tasks=40, workers=20, labels=6, seed=seed) for seed in range(seeds)]
        cells = [
            f"{np.mean([cw.evaluate(cw.method(m).fit(c.votes), c.truth_table()).kendall for c in crowds]):.3f}"
            for m in METHODS
        ]
        rows.append([name, *cells])
        print(*rows[-1], flush=True)
    about = f"40 lists of eight items, six rankings a list by 20 workers; mean Kendall's tau of {seeds} draws."
    return f"{about}\n\n{figures(['scenario', *METHODS], rows)}"


def flag_section(seeds: int = 60) -> str:
    """Who is flagged in planted crowds."""
    rows = []
    for label, shares in (("honest only", {}), ("30 % random, 10 % reversed", {"random": 0.3, "reversed": 0.1})):
        found: Counter[str] = Counter()
        for seed in range(seeds):
            found.update(flagged(seed, shares))
        cells = [f"{found[f'{k} hit']}/{found[k]}" if found[k] else "–" for k in ("random", "reversed")]
        rows.append([label, *cells, f"{found['accused']}/{found['honest']}"])
        print(*rows[-1], flush=True)
    about = (
        "20 or 60 lists of 4, 6 or 10 items, 4 or 8 rankings a list, 12 or 25 workers; flagged / planted, and honest "
    )
    return f"{about}workers with any flag.\n\n{figures(['crowd', 'random', 'reversed', 'honest accused'], rows)}"


def flagged(seed: int, shares: dict[str, float]) -> Counter[str]:
    """Counts of workers by what they were planted as, of hits, and of honest workers accused."""
    rng = np.random.default_rng(seed)
    tasks, workers, each, items = (int(rng.choice(c)) for c in ([20, 60], [12, 25], [4, 8], [4, 6, 10]))
    drawn = ranking_crowd(tasks, workers, per_task=each, items=items, heat=0.4, **shares, seed=seed)
    crowd = PlantedRankings(drawn)
    flags = flag_rankings(crowd.votes, cw.Podium().fit(crowd.votes))
    names = {flag.worker: flag.name for flag in flags if flag.name != "unknown"}
    out: Counter[str] = Counter()
    for worker, kind in zip(crowd.votes.workers.to_list(), crowd.kind, strict=True):
        out[kind] += 1
        out["accused"] += kind == "honest" and worker in names
        out[f"{kind} hit"] += names.get(worker) == kind
    return out


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "planted": ("Planted crowds", planted_section),
    "flags": ("Flags", flag_section),
}


def main() -> None:
    """The sections that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"among {', '.join(SECTIONS)}; all unless said")
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.rankings {name}", make())


if __name__ == "__main__":
    main()
