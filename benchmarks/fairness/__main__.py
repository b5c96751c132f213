"""python -m benchmarks.fairness: gaps, tests and programmes. Writes docs/benchmarks/fairness.md."""

from __future__ import annotations

import argparse

from .. import DOCS
from ..markdown import figures, write_section
from . import planted, programmes, real

PAGE = DOCS / "fairness.md"
HEAD = (
    "# Fairness between groups\n\nEvery figure here was printed by the command above its table. How it works: "
    "[fairness](../fairness.md).\n"
)


def planted_section() -> str:
    cover = figures(["", "recall gap", "accuracy gap", "all five gaps at once"], planted.coverage_rows())
    header = ["spread between groups", "raw", "pooled", "strength 5", "by evidence"]
    rows = figures(header, planted.confusion_rows())
    found = figures(["workers with a gap", "found", "others flagged"], planted.worker_rows())
    return (
        f"Share of {planted.RUNS} runs in which 95 % intervals hold the gap of these tasks ({planted.TASKS:,} tasks, "
        f"two groups).\n\n{cover}\n\nRoot mean squared error of workers' recalls by group, 20 workers, 60 labels each."
        f"\n\n{rows}\n\nWorkers with a recall gap of .25 in one class, 150 labels each, false discoveries at 10 %.\n\n"
        f"{found}"
    )


def recid_section() -> str:
    gaps = figures(["labels of", "black less white", "95 % interval", "all at once"], real.gap_rows())
    raters = figures(["respondents", "group", "raters", "difference", "p (raters permuted)"], real.rater_rows())
    header = ["labels with", "positive rate", "recall of 1", "false rate of 1", "accuracy", "change"]
    held = figures(header, real.held_out_rows())
    return (
        "fair_recid: 966 respondents judge 1,000 defendants; will they be arrested again? For testing measures only."
        f"\n\n{gaps}\n\n{raters}\n\nFair labels (within .02) learnt on half of the truth, judged on the other half: "
        f"absolute gap of Dawid-Skene's labels → of the fair ones, mean (± sd of the latter) over {real.SPLITS} "
        "splits. Nothing was chosen by the other half: cells hold at least ten gold labels, at most twelve of them a "
        "group and verdict, chances rise with confidence within these. Bar: a recall gap of at most .06 for at most "
        f".01 of accuracy. Where there is no gap at all, halves of 500 tasks show .045 by luck.\n\n{held}"
    )


def raters_section() -> str:
    return (
        "Raters of popquorn_offensive put into two groups by lot, 300 times: share of tests that find a difference at "
        f"5 %.\n\n{figures(['test', 'false alarms'], real.fake_rows())}"
    )


def programme_section() -> str:
    header = ["labels", "accuracy", "gap of positive rates", "gap of recalls", "cells that are split"]
    labels = figures(header, programmes.label_rows())
    speed = figures(["programme", "CPU seconds"], programmes.speed_rows())
    loads = figures(["gap allowed", "accuracy of a label", "gap"], programmes.assignment_rows())
    return (
        f"Planted, three classes, three groups. Closing one gap may open another.\n\n{labels}\n\n{speed}\n\nWhom to "
        f"give which group: 30 workers, two groups, three labels a task.\n\n{loads}"
    )


SECTIONS = {
    "planted": ("Planted gaps", planted_section),
    "recid": ("A real crowd", recid_section),
    "raters": ("Groups of raters", raters_section),
    "programmes": ("Linear programmes", programme_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.fairness {name}", make())


if __name__ == "__main__":
    main()
