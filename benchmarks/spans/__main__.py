"""python -m benchmarks.spans: spans of a text. Writes docs/benchmarks/spans.md."""

from __future__ import annotations

import argparse

import crowdwise as cw
from crowdwise import simulate
from tests.open_sets.spans import scored

from .. import DOCS
from ..markdown import figures, write_section
from . import planted, shapes, speed

PAGE = DOCS / "spans.md"
HEAD = (
    "# Spans: which parts of a text\n\nEvery figure here was printed by the command above its table. Who is flagged: "
    "[flags, kind by kind](flags.md).\n"
)
KEYS = ("f1", "precision", "recall", "exact_f1", "overlap_f1", "mean_f1")


def accuracy_section() -> str:
    rows = []
    for name in cw.methods("spans"):
        rows.append([f"`{name}`", *_cells(scored(name, resamples=500))])
    rows.append(["`span_majority`, `cut` .4", *_cells(scored("span_majority", resamples=500, cut=0.399))])
    rows.append(["`span_vote`, `cut` .4", *_cells(scored("span_vote", resamples=500, cut=0.4))])
    header = ["spans_pico", "F1 of the text", "precision", "recall", "whole spans", "overlap", "mean of tasks"]
    return (
        "4,740 abstracts of clinical trials, 312 workers, 28,429 answers; 188 abstracts have a medical student's "
        "truth. Half the width of the 95 % interval over tasks behind the first and fourth figure. The cut of the vote "
        "(.5, a majority) was not chosen on this set; .4 is shown because its page has it.\n\n" + figures(header, rows)
    )


def _cells(found: object) -> list[str]:
    out = []
    for key in KEYS:
        cell = f"{getattr(found, key):.3f}"
        if key in ("f1", "exact_f1"):
            low, high = found.intervals[key]  # type: ignore[attr-defined]
            cell += f" ± {(high - low) / 2:.3f}"
        out.append(cell)
    return out


def planted_section() -> str:
    header = ["F1 of the text / whole spans", *(name.removeprefix("spans_") for name in simulate.SPAN_SCENARIOS)]
    falling = figures(["answers a task", "1 - F1"], planted.falling())
    return (
        f"200 texts, 30 workers, five answers a text, mean of seeds {', '.join(map(str, planted.SEEDS))}.\n\n"
        + figures(header, planted.rows())
        + f"\n\nThe default's error on `spans_plain` with more answers.\n\n{falling}"
    )


def shapes_section() -> str:
    header = ["F1 of the text", *shapes.TROUBLE, "all", "worst beside the majority", "mean gap to the best"]
    return (
        "120 planted crowds of 80 texts with passages of 5 to 25 words: 2, 3, 5 or 9 answers a text, 12 or 30 workers, "
        "with and without tags, few or most spans overlooked, three seeds. This, and not spans_pico, is why passages "
        "are judged by the weighted vote: Dawid-Skene on tokens is the best in honest crowds and breaks where many "
        "always mark the same place, and so does bsc; an average of the three breaks with them. What the vote takes "
        "off a worker's agreement for the place in the text alone was settled with other seeds.\n\n"
        + figures(header, shapes.rows())
    )


def speed_section() -> str:
    ours, bare = speed.measure()
    rows = [["a pass of `bsc` (evidence, forward-backward, counts)", f"{ours:.2f}", f"{ours / bare:.2f}"],
            ["bare forward-backward in numpy, all texts at once", f"{bare:.2f}", "1"]]  # fmt: skip
    return (
        f"{speed.TOKENS:,} tokens in texts of {speed.LENGTH}, {speed.WORKERS} workers, {speed.TAGS} tags "
        f"({1 + 2 * speed.TAGS} labels), {speed.READERS} readers a text, one thread.\n\n"
        + figures(["what", "CPU s", "× bare"], rows)
    )


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "planted": ("Planted crowds", planted_section),
    "shapes": ("Crowds of many shapes", shapes_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.spans {name}", make())


if __name__ == "__main__":
    main()
