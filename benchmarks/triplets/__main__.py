"""python -m benchmarks.triplets: which of two is more like a third. Writes docs/benchmarks/triplets.md."""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.workers import study

from .. import DOCS, data_folder
from ..markdown import figures, write_section

PAGE = DOCS / "triplets.md"
HEAD = (
    "# Triplets\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)
METHODS = {
    "crowd_embedding (default)": cw.triplets.CrowdEmbedding(),
    "triplet_embedding (STE)": cw.triplets.TripletEmbedding(),
    "triplet_embedding, student (t-STE)": cw.triplets.TripletEmbedding(kernel="student"),
}


def accuracy_section(draws: int = 3) -> str:
    folder = data_folder() / "trip_eggs"
    votes, truth = cw.read(folder / "labels.csv"), cw.read_truth(folder / "truth.csv")
    rows = []
    for name, method in METHODS.items():
        right, kendall = [], []
        for seed in range(draws):
            kept, out = votes.split(0.1, seed=seed)
            result = method.fit(kept)
            odds = result.estimate.left_closer  # of every task, those held out too
            at = result.infer(out, unknown_workers="average").estimate
            said = np.where(out.answers.near < out.answers.far, 1.0, 0.0)
            right.append(float(np.mean((at.left_closer[out.task] > 0.5) == (said > 0.5))))
            kendall.append(cw.evaluate(result, truth).kendall)
            assert len(odds) == votes.n_tasks
        whole = cw.evaluate(method.fit(votes), truth)
        rows.append([name, f"{np.mean(right):.3f}", f"{np.mean(kendall):.3f}", f"{whole.kendall:.3f}"])
    head = ["trip_eggs, two dimensions", "held-out answers right", "Kendall of the first axis", "of all answers"]
    return f"A tenth of the answers held out, mean of {draws} draws.\n\n" + figures(head, rows)


def flag_section(times: int = 6) -> str:
    rows = []
    for name in simulate.TRIPLET_SCENARIOS:
        found: Counter[bool] = Counter()
        of: Counter[bool] = Counter()
        kendall = []
        for seed in range(times):
            crowd = simulate.scenario(name, tasks=400, workers=30, seed=seed)
            result = cw.triplets.CrowdEmbedding().fit(crowd.votes)
            kendall.append(cw.evaluate(result, crowd.truth_table()).any_axis)
            flagged = {flag.worker for flag in study(crowd.votes, result).flags if flag.name != "unknown"}
            for worker, kind in zip(crowd.votes.workers, crowd.kind, strict=True):
                of[kind == "honest"] += 1
                found[kind == "honest"] += worker in flagged
        line = [name, f"{found[False]} of {of[False]}", f"{found[True]} of {of[True]}", f"{np.mean(kendall):.3f}"]
        rows.append(line)
    return f"400 triplets, 30 workers, five answers a triplet, {times} crowds each.\n\n" + figures(
        ["crowd", "planted workers flagged", "honest workers flagged", "Kendall of the best direction"], rows
    )


SECTIONS = {"accuracy": ("Against the truth", accuracy_section), "flags": ("Planted crowds and flags", flag_section)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.triplets {name}", make())


if __name__ == "__main__":
    main()
