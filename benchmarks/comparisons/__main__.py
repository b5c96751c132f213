"""python -m benchmarks.comparisons: A or B. Writes docs/benchmarks/comparisons.md."""

from __future__ import annotations

import argparse
import time
from functools import cache
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.kinds.comparisons.simulate import COMPARISON_SCENARIOS
from tests.crowds.comparisons import large
from tests.open_sets.comparisons import item_truth, kendall, load, mean_tau, pair_truth, spammed

from .. import DOCS
from ..markdown import figures, write_section
from . import held_out

PAGE = DOCS / "comparisons.md"
HEAD = (
    "# Comparisons: A or B\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)
METHODS = cw.methods("comparisons")


@cache
def fit(method: str, name: str) -> Any:
    """Each fit once."""
    return cw.method(method).fit(load(name))


def accuracy_section() -> str:
    """All methods on the open sets."""
    clean = cw.comparisons.BradleyTerry().fit(load("convarg"))
    draws = [spammed(seed) for seed in range(2)]
    rows = []
    for method in METHODS:
        reading, arguments = fit(method, "pair_reading"), fit(method, "convarg")
        known = cw.evaluate(arguments, pair_truth("convarg"))
        noisy = [mean_tau(cw.method(method).fit(votes).score, clean.score, clean.component) for votes in draws]
        rows.append(
            [method, f"{kendall(reading, item_truth('pair_reading')):.3f}",
             f"{kendall(arguments, item_truth('convarg')):.3f}", f"{known.accuracy:.3f}",
             *(f"{tau:.3f}" for tau in noisy)]
        )  # fmt: skip
        print(*rows[-1], flush=True)
    header = ["", "pair_reading, Kendall with the grade", "convarg, Kendall with the source's rank",
              "convarg, gold pairs right", "spammed convarg, draw 0", "draw 1"]  # fmt: skip
    return (
        "Kendall's tau-b, mean over components. Spammed: 30 % of convarg's workers toss a coin and 10 % are reversed; "
        "Kendall with the scores of `bradley_terry` on the clean answers. convarg's rank and gold were made from these "
        f"same answers by its authors.\n\n{figures(header, rows)}"
    )


def held_section() -> str:
    """Pairs that were asked about; answers of new workers."""
    rows = []
    for method in METHODS:
        right, loss = held_out.new_workers(method)
        asked = held_out.asked_right(fit(method, "pair_reading"), "pair_reading")
        rows.append([method, f"{asked:.3f}", f"{right:.3f}", f"{loss:.3f}"])
        print(*rows[-1], flush=True)
    return (
        "pair_reading: of the pairs asked about whose texts differ in grade, how many the scores have right. convarg: "
        f"a fifth of the workers held out, their answers without ties; mean of {held_out.SPLITS} draws. Scores are "
        "stretched to fit the answers of those who were seen before the log-loss is taken.\n\n"
        + figures(["", "pair_reading, asked pairs right", "convarg, new workers: accuracy", "log-loss"], rows)
    )


def planted_section(seeds: int = 20) -> str:
    """Kendall, coverage of the intervals, places."""
    rows = []
    for name in COMPARISON_SCENARIOS:
        taus, plain, inside, places = [], [], [], []
        for seed in range(seeds):
            crowd = cw.simulate.scenario(name, tasks=400, workers=30, labels=5, seed=seed)
            found = cw.comparisons.Tournament().fit(crowd.votes)
            true = crowd.truth - crowd.truth.mean()
            taus.append(cw.evaluate(found, crowd.truth_table()).kendall)
            plain.append(cw.evaluate(cw.comparisons.BradleyTerry().fit(crowd.votes), crowd.truth_table()).kendall)
            inside.append(np.mean((found.score_low <= true) & (true <= found.score_high)))
            rank = np.argsort(np.argsort(-true)) + 1
            places.append(np.all((found.rank_low <= rank) & (rank <= found.rank_high)))
        cells = [f"{np.mean(plain):.3f}", f"{np.mean(taus):.3f}", f"{np.mean(inside):.3f}", f"{np.mean(places):.2f}"]
        rows.append([name, *cells])
        print(*rows[-1], flush=True)
    header = ["scenario", "bradley_terry, Kendall", "tournament, Kendall", "95 % intervals hold the score",
              "all places right at once"]  # fmt: skip
    return f"400 pairs of 50 items, 30 workers, five answers a pair; {seeds} draws.\n\n{figures(header, rows)}"


def speed_section() -> str:
    """CPU seconds of whole fits."""
    rows = []
    for method, ties in (("crowd_bt", False), ("davidson", True), ("bradley_terry", False), ("rank_centrality", False)):
        data = large(ties)
        own = cw.method(method)
        own.solve(data, None)  # compiled code is loaded once
        began = time.process_time()
        found = own.solve(data, None)
        rows.append([method, f"{time.process_time() - began:.1f}", str(found.n_iter)])
        print(*rows[-1], flush=True)
    return (
        "1,000,000 answers, 10,000 items, 10,000 workers, 15 % ties for davidson; standard errors included.\n\n"
        + figures(["method", "CPU seconds", "iterations"], rows)
    )


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "held_out": ("Asked pairs, new workers", held_section),
    "planted": ("Planted crowds", planted_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    """The sections that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"among {', '.join(SECTIONS)}; all unless said")
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.comparisons {name}", make())


if __name__ == "__main__":
    main()
