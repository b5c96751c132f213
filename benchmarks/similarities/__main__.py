"""python -m benchmarks.similarities: same or different. Writes docs/benchmarks/similarities.md."""

from __future__ import annotations

import argparse

import numpy as np

import crowdwise as cw
from crowdwise.kinds.similarities.maths import mutual_information
from crowdwise.kinds.similarities.simulate import PlantedSimilarities, SameCrowd

from .. import DOCS, data_folder
from ..markdown import figures, write_section

PAGE = DOCS / "similarities.md"
HEAD = (
    "# Same or different\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)
METHODS = ("clusters", "crowd_clusters", "spectral_clusters", "free_logits")


def accuracy_section() -> str:
    folder = data_folder() / "same_dogs"
    truth = cw.read_truth(folder / "truth.csv")
    pairs, parts = cw.read(folder / "labels.csv"), cw.read(folder / "partitions.csv")
    both = pairs.append(parts, duplicates="keep")
    rows = []
    for name in METHODS:
        line = [name]
        for votes in (pairs, parts, both):
            scores = cw.evaluate(cw.method(name, k=3).fit(votes), truth)
            line.append(f"{scores.ari:.3f} / {scores.accuracy:.3f}")
        rows.append(line)
    chosen = [str(cw.similarities.Clusters().fit(votes).extra["k"]) for votes in (pairs, parts, both)]
    rows.append(["clusters chosen by `clusters` (true: 3)", *chosen])
    header = ["same_dogs, ARI / accuracy, k = 3", "9,000 pairs", "10,500 partitions", "both"]
    return figures(header, rows)


def spec_crowd(items: int, clusters: int, workers: int, per: int, coins: float, seed: int) -> PlantedSimilarities:
    """Random pairs, each asked once, of workers of whom a share toss coins."""
    rng = np.random.default_rng(seed)
    z, who = rng.integers(0, clusters, items), np.repeat(np.arange(workers), per)
    left = rng.integers(0, items, len(who))
    right = (left + rng.integers(1, items, len(who))) % items
    hit, rejection = rng.uniform(0.7, 0.95, (2, workers))
    lazy = rng.random(workers) < coins
    hit[lazy] = rejection[lazy] = 0.5
    says = rng.random(len(who)) < np.where(z[left] == z[right], hit[who], 1 - rejection[who])
    kind = ["random" if each else "honest" for each in lazy]
    rows = np.arange(len(who))
    return PlantedSimilarities(SameCrowd(rows, who, left, right, says.astype(np.int8), z, hit, rejection, kind))


def planted_section(times: int = 5) -> str:
    rows = []
    for items, k, workers, per, coins in ((200, 4, 40, 100, 0.0), (200, 4, 40, 100, 0.4), (500, 8, 100, 150, 0.2)):
        line = [f"{items} items, {k} clusters, {workers} workers × {per} pairs, {coins:.0%} toss coins"]
        crowds = [spec_crowd(items, k, workers, per, coins, seed) for seed in range(times)]
        for name in METHODS[1:]:
            found = [cw.method(name, k=k).fit(crowd.votes).estimate.cluster for crowd in crowds]
            scores = [mutual_information(f, c.planted.cluster) for f, c in zip(found, crowds, strict=True)]
            line.append(f"{np.mean(scores):.3f}")
        rows.append(line)
    return f"Normalised mutual information, mean of {times} crowds.\n\n" + figures(["crowd", *METHODS[1:]], rows)


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "planted": ("Planted crowds", planted_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.similarities {name}", make())


if __name__ == "__main__":
    main()
