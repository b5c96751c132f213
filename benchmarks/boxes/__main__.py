"""python -m benchmarks.boxes: boxes drawn on pictures. Writes docs/benchmarks/boxes.md."""

from __future__ import annotations

import argparse
import time

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.boxes.simulate import PlantedBoxes, box_crowd

from .. import DOCS, data_folder
from ..markdown import figures, write_section
from .readers import coverage_section, readers_section

PAGE = DOCS / "boxes.md"
HEAD = (
    "# Boxes\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)
METHODS = {
    "box_clusters (default)": cw.boxes.BoxClusters(),
    "box_clusters, overlap .5": cw.boxes.BoxClusters(overlap=0.5),
    "box_hungarian": cw.boxes.BoxHungarian(),
    "box_mean": cw.boxes.BoxMean(),
    "box_mean, plain": cw.boxes.BoxMean(plain=True),
    "box_latent_class": cw.boxes.BoxLatentClass(),
}
SHOWN = ("f1", "precision", "recall", "f1_75", "mean_iou", "count_error")


def accuracy_section() -> str:
    folder = data_folder() / "boxes_street"
    votes, truth = cw.read(folder / "labels.csv", kind="boxes"), cw.read_truth(folder / "truth.csv")
    rows = []
    for name, method in METHODS.items():
        scores = cw.evaluate(method.fit(votes), truth)
        rows.append([name, *(f"{getattr(scores, key):.3f}" for key in SHOWN)])
    head = ["boxes_street", "F1 at IoU .5", "precision", "recall", "F1 at IoU .75", "mean IoU", "boxes off a picture"]
    return "469 pictures with experts' boxes, seven workers each.\n\n" + figures(head, rows)


def planted_section() -> str:
    rows = []
    for name in simulate.BOX_SCENARIOS:
        crowd = simulate.scenario(name, tasks=150, workers=30, seed=0)
        truth = crowd.truth_table()
        found = [cw.evaluate(method.fit(crowd.votes), truth) for method in METHODS.values()]
        rows.append([name, *(f"{each.f1:.3f} / {each.mean_iou:.3f}" for each in found)])
    return "F1 at IoU .5 / mean IoU; 150 pictures, 30 workers, five looks a picture, seed 0.\n\n" + figures(
        ["crowd", *METHODS], rows
    )


def speed_section() -> str:
    rows = []
    for tasks, objects in ((6000, 4.0), (1100, 20.0)):
        crowd = PlantedBoxes(box_crowd(tasks, 100, per_task=5, objects=objects, seed=0))
        line = [f"{len(crowd.votes.answers.corner):,} boxes on {tasks:,} pictures"]
        for method in METHODS.values():
            began = time.process_time()
            method.fit(crowd.votes)
            line.append(f"{time.process_time() - began:.1f}")
        rows.append(line)
    return "CPU seconds of a fit.\n\n" + figures(["", *METHODS], rows)


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "readers": ("Readers without and with gold", readers_section),
    "coverage": ("Coverage of the readers' intervals", coverage_section),
    "planted": ("Planted crowds", planted_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.boxes {name}", make())


if __name__ == "__main__":
    main()
