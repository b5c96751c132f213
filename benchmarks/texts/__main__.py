"""python -m benchmarks.texts: free texts. Writes docs/benchmarks/texts.md."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from tests.open_sets.texts import SETS, scored

from .. import DOCS
from ..markdown import figures, write_section

PAGE = DOCS / "texts.md"
HEAD = (
    "# Texts: transcripts and translations\n\nEvery figure here was printed by the command above its table. "
    "Who is flagged: [flags, kind by kind](flags.md).\n"
)
SEEDS = (1, 2, 3)


def accuracy_section() -> str:
    rows = [[f"`{name}`", *_cells(name)] for name in cw.methods("texts")]
    rows += [[f"`{name}`, GLEU", *_cells(name, distance="gleu")] for name in ("medoid", "weighted_medoid")]
    header = ["word error rate / GLEU", *SETS]
    return (
        "text_speech: 2,703 recordings, 748 workers, seven transcripts each; text_translate: 200 sentences, 85 "
        "workers, ten translations each (the last of a worker who gave two). Half the width of the 95 % interval over "
        "tasks. The sets' own pages have medoid .0594 and the source's ROVER .0605 (word error rate of text_speech), "
        "medoid .3899 (GLEU of text_translate).\n\n" + figures(header, rows)
    )


def _cells(method: str, **params: Any) -> list[str]:
    out = []
    for name in SETS:
        found = scored(method, name, resamples=300, **params)
        wide = {key: (high - low) / 2 for key, (low, high) in found.intervals.items()}
        out.append(f"{found.wer:.4f} ± {wide['wer']:.4f} / {found.gleu:.4f} ± {wide['gleu']:.4f}")
    return out


def planted_section() -> str:
    crowds = {name: [simulate.scenario(name, tasks=200, workers=30, seed=s) for s in SEEDS]
              for name in simulate.TEXT_SCENARIOS}  # fmt: skip
    rows = []
    for method in cw.methods("texts"):
        cells = []
        for some in crowds.values():
            found = [cw.evaluate(cw.method(method).fit(crowd.votes), crowd.truth_table()) for crowd in some]
            cells.append(f"{np.mean([e.wer for e in found]):.3f}/{np.mean([e.gleu for e in found]):.3f}")
        rows.append([f"`{method}`", *cells])
    header = ["word error rate / GLEU", *(name.removeprefix("texts_") for name in simulate.TEXT_SCENARIOS)]
    return f"200 tasks, 30 workers, five answers a task, mean of seeds {', '.join(map(str, SEEDS))}.\n\n" + figures(
        header, rows
    )


SECTIONS = {
    "accuracy": ("Against the truth", accuracy_section),
    "planted": ("Planted crowds", planted_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.texts {name}", make())


if __name__ == "__main__":
    main()
