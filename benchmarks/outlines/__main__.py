"""python -m benchmarks.outlines: outlines drawn on pictures. Writes docs/benchmarks/outlines.md."""

from __future__ import annotations

import argparse

import numpy as np

import crowdwise as cw
from crowdwise import simulate

from .. import DOCS, data_folder
from ..markdown import figures, write_section

PAGE = DOCS / "outlines.md"
HEAD = "# Outlines\n\nEvery figure here was printed by the command above its table.\n"
METHODS = ("pixel_vote", "staple", "pixel_rasa")


def agreement_section() -> str:
    votes = cw.read(data_folder() / "polygons_cats" / "labels.csv", kind="outlines", duplicates="last")
    drew = votes.take(np.flatnonzero(votes.answers.size > 0))
    rows = []
    for name in METHODS:
        line = [name]
        for some in (drew, votes):
            picture = cw.method(name, pixels=10_000).fit(some).picture
            n, known = some.labels_per_worker, np.isfinite(picture.iou)
            line.append(f"{np.average(picture.iou[known], weights=n[known]):.3f}")
        rows.append(line)
    head = ["polygons_cats (no truth)", "answers with an outline", "all answers"]
    return "Mean IoU of a worker's mask with the result of the others.\n\n" + figures(head, rows)


def planted_section() -> str:
    rows = []
    for name in simulate.OUTLINE_SCENARIOS:
        crowd = simulate.scenario(name, tasks=20, workers=15, seed=0)
        scores = [cw.evaluate(cw.method(m, pixels=10_000).fit(crowd.votes), crowd.truth_table()) for m in METHODS]
        rows.append([name, *(f"{each.iou:.3f} / {each.dice:.3f}" for each in scores)])
    return "Mean IoU / Dice; 20 pictures, 15 workers, five looks a picture, seed 0.\n\n" + figures(
        ["crowd", *METHODS], rows
    )


SECTIONS = {"agreement": ("Agreement", agreement_section), "planted": ("Planted crowds", planted_section)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.outlines {name}", make())


if __name__ == "__main__":
    main()
