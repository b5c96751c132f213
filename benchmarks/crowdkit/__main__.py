"""python -m benchmarks.crowdkit [JOB ...]: crowd-kit's aggregators of the other kinds beside ours.

crowd-kit runs in its own environment (.venvs/crowd-kit). The same rows go to its class and to our face of the same
name; our default for the kind stands below. CPU seconds of one core, the faster of two fits, reading not counted.
Writes docs/benchmarks/crowdkit.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.compat.crowdkit import aggregation
from crowdwise.core import kind as kinds
from crowdwise.core import method_registry as registry

from .. import DOCS
from ..markdown import table, write_section
from ..speed import peers
from . import jobs as both
from .data import HEIGHT, WIDTH, Job, fill, jobs, overlaps, score, write

PAGE = DOCS / "crowdkit.md"
HEAD = """# Beside crowd-kit, kind by kind

The same rows to crowd-kit 1.4.2, in its own environment, and to the class of the same name in
`crowdwise.compat.crowdkit`; below them the default of the kind. CPU seconds of one core, the faster of two fits. The
encoder of texts is the same little function for both and the user's own. It is called before the clock starts, and in
one row of TextRASA inside it: there no aggregator can be faster than the encoder on the texts that differ, of which the
last row gives the time and how far ahead of crowd-kit one that took no time at all would be. So 20 × cannot be had with
this encoder inside the clock. crowd-kit's BradleyTerry compares an array with itself and stops after its second sweep,
and the gradients of its NoisyBradleyTerry hold one row a worker: there speed compares unlike things.
"""
KINDS = {"pairs": "comparisons", "texts": "texts", "masks": "outlines", "sets": "sets"}


def ours(job: Job) -> tuple[Any, float, str]:
    """What our default says of a job, its CPU seconds and its name."""
    kind = KINDS[job.name.split("_")[0]]
    votes = job.votes.votes if kind == "outlines" else job.votes
    method = registry.method(kinds.get(kind).default)
    best, result = np.inf, None
    for _ in range(2):
        began = time.process_time()
        result = method.fit(votes)
        best = min(best, time.process_time() - began)
    assert result is not None
    return said_by(kind, votes, result), best, method.name


def said_by(kind: str, votes: Any, result: Any) -> Any:
    """The estimate in the shape in which crowd-kit gives its own."""
    if kind == "comparisons":
        return dict(zip(result.items.to_list(), result.score.tolist(), strict=True))
    if kind == "texts":
        table = result.to_table()
        return dict(zip(table["task"].to_list(), table["output"].to_list(), strict=True))
    if kind == "outlines":
        answers = kinds.get(kind).hooks.estimated_answers(votes, result)
        x, y = np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5
        return np.stack([fill(answers.of_row(row), x, y) for row in range(len(answers))])
    classes = votes.answers.classes.to_list()
    return {t: [c for c, yes in zip(classes, row, strict=True) if yes]
            for t, row in zip(votes.tasks.to_list(), result.member.tolist(), strict=True)}  # fmt: skip


def lines(job: Job, folder: Path) -> list[list[str]]:
    """One row an aggregator, and one of our default."""
    path = next(p for p in folder.glob(f"{job.name}.*") if ".said" not in p.name)
    told = json.loads((folder / f"{job.name}.said.json").read_text(encoding="utf-8"))
    masks = folder / f"{job.name}.said.npz"
    both.run(aggregation, path, again=1)  # imports, and what is compiled when it is first called
    out = []
    for name, (said, seconds) in both.run(aggregation, path).items():
        if name not in told["cpu"]:
            out.append([job.of, name, "fails", f"{score(job, dict(said.items())):.4f}", "", f"{seconds:.3f}", ""])
            continue
        if masks.is_file():
            theirs = np.load(masks, allow_pickle=False)[name]
            mine: Any = np.stack([said.loc[task] for task in sorted(said.index)])
        else:
            theirs, mine = told["said"][name], {str(k): v for k, v in said.items()}
        a, b = score(job, theirs), score(job, mine)
        cpu = told["cpu"][name]
        out.append([job.of, name, f"{a:.4f}", f"{b:.4f}", f"{cpu:.2f}", f"{seconds:.3f}", f"{cpu / seconds:.0f} ×"])
    said, seconds, name = ours(job)
    out.append([job.of, f"our default, `{name}`", "", f"{score(job, said):.4f}", "", f"{seconds:.3f}", ""])
    if both.ENCODING in told["cpu"]:
        out.append(encoder_alone(job, path, told["cpu"][both.ENCODING]))
    return out


def encoder_alone(job: Job, path: Path, theirs: float) -> list[str]:
    """The time that the user's own function takes for the texts that differ, beside all of crowd-kit's."""
    texts = list(dict.fromkeys(both.given(path)["text"]))
    best = np.inf
    for _ in range(2):
        began = time.process_time()
        for text in texts:
            both.encoder(text)
        best = min(best, time.process_time() - began)
    name = f"the encoder alone, {len(texts):,} different texts"
    return [job.of, name, "", "", "", f"{best:.3f}", f"at most {theirs / best:.0f} ×"]


def beside_best(job: Job, folder: Path) -> str:
    """Of masks: our default minus the best of crowd-kit's, picture by picture."""
    masks = folder / f"{job.name}.said.npz"
    if not masks.is_file():
        return ""
    held = np.load(masks, allow_pickle=False)
    best = max(held, key=lambda name: float(overlaps(held[name]).mean()))
    gap = overlaps(ours(job)[0]) - overlaps(held[best])
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    return f"\n\nOur default minus {best}, over {len(gap)} pictures: {gap.mean():.4f}, standard error {error:.4f}."


def main() -> None:
    """The jobs that were asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="JOB")
    chosen = parser.parse_args().jobs or list(jobs())
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    python = peers.crowd_kit()
    if python is None:
        raise SystemExit("crowd-kit cannot be had here")
    kept = PAGE.read_text(encoding="utf-8").partition("<!--")[1:] if PAGE.is_file() else ()
    PAGE.write_text(HEAD + "\n" * bool(kept) + "".join(kept), encoding="utf-8")
    for name in chosen:
        job = jobs()[name]
        with tempfile.TemporaryDirectory() as folder:
            write(job, Path(folder))
            subprocess.run([python, str(Path(both.__file__)), folder], check=True)
            rows, more = lines(job, Path(folder)), beside_best(job, Path(folder))
        header = ["data", job.measure, "crowd-kit", "ours", "crowd-kit CPU s", "our CPU s", "faster"]
        body = table(header, rows) + more
        print(body, flush=True)
        write_section(PAGE, name, job.of, f"python -m benchmarks.crowdkit {name}", body)


if __name__ == "__main__":
    main()
