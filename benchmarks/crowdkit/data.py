"""The jobs: open sets and larger planted crowds, as crowd-kit takes them, and how good what is said of them is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.outlines.maths import fill
from crowdwise.kinds.sets.answers import set_truth
from tests.open_sets.comparisons import item_truth, load
from tests.open_sets.sets import CLASSES, f1, known
from tests.open_sets.sets import votes as medrel
from tests.open_sets.texts import load as text_set

WIDTH, HEIGHT = 640, 480


@dataclass(frozen=True, eq=False)
class Job:
    """`votes` and `truth` as we take them; score(said) of a mapping from task (or item) to what is said of it."""

    name: str
    of: str
    votes: Any
    truth: Any
    measure: str
    better: int = 1


@cache
def jobs() -> dict[str, Job]:
    """All of them."""
    pairs = simulate.scenario("comparisons_random", tasks=20_000, workers=400, labels=5, seed=1)
    texts = simulate.scenario("texts_random", tasks=2_000, workers=60, labels=6, seed=1)
    sets = simulate.scenario("sets_plain", tasks=4_000, workers=100, labels=5, classes=12, seed=1)
    drawn = simulate.scenario("outlines_random", tasks=60, workers=20, labels=7, seed=1)
    speech, said = text_set("text_speech")
    found = [
        Job("pairs_reading", "pair_reading", load("pair_reading"), item_truth("pair_reading"), "Kendall"),
        Job("pairs_planted", "100,000 planted comparisons of 2,500 items", pairs.votes, pairs.truth_table(), "Kendall"),
        Job("texts_speech", "text_speech", speech, said, "word error rate", -1),
        Job("texts_planted", "12,000 planted transcripts", texts.votes, texts.truth_table(), "word error rate", -1),
        Job("masks_planted", "420 planted masks of 640 × 480", drawn, drawn.truth_table(), "IoU"),
        Job("sets_medrel", "ml_medrel", medrel(), None, "mean F1 of the two classes with truth"),
        Job("sets_planted", "20,000 planted sets of 12 classes", sets.votes, sets.truth_table(), "micro F1"),
    ]  # fmt: skip
    return {job.name: job for job in found}


def write(job: Job, folder: Path) -> None:
    """The rows as crowd-kit takes them."""
    if job.name.startswith("masks"):
        masks = _masks(job.votes)
        crowd = job.votes
        np.savez_compressed(
            folder / f"{job.name}.npz", masks=np.packbits(masks, axis=-1), wide=WIDTH,
            task=np.array([f"t{t:03d}" for t in crowd.task.tolist()]), worker=crowd.worker,
        )  # fmt: skip
        return
    frame = job.votes.to_frame()
    if job.name.startswith("pairs"):
        # As names, winners included; a tie names nobody.
        side = frame.columns[-1]
        won = pl.when(pl.col(side) == "left").then("left").when(pl.col(side) == "right").then("right")
        frame = frame.with_columns(won.alias("label")).filter(pl.col("label").is_not_null())
        frame = frame.select("worker", "left", "right", "label")
    elif job.name.startswith("texts"):
        frame = frame.select("task", "worker", pl.col(frame.columns[2]).alias("text"))
    else:
        lists = pl.col("labels").str.json_decode(pl.List(pl.String))
        frame = frame.select("task", "worker", lists.alias("label"))
    frame.write_ndjson(folder / f"{job.name}.jsonl")


def _masks(crowd: Any) -> Any:
    answers = crowd.votes.answers
    x, y = np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5
    return np.stack([fill(answers.of_row(row), x, y) for row in range(len(crowd.votes))])


@cache
def _true_masks() -> Any:
    crowd = jobs()["masks_planted"].votes
    truth = cw.outlines.outline_votes(crowd.votes.tasks, ["truth"] * len(crowd.truth), crowd.truth).answers
    x, y = np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5
    return np.stack([fill(truth.of_row(row), x, y) for row in range(len(crowd.truth))])


def overlaps(said: Any) -> Any:
    """IoU with the truth, picture by picture."""
    true = _true_masks()
    both, either = (said & true).sum(axis=(1, 2)), (said | true).sum(axis=(1, 2))
    return both / np.maximum(either, 1)


def score(job: Job, said: Any) -> float:
    """Of a mapping from task or item to what is said, or of masks task by task."""
    if job.name.startswith("masks"):
        return float(overlaps(said).mean())
    if job.name.startswith("pairs"):
        items = [item for item in job.truth["item"].to_list() if item in said]
        true = dict(job.truth.iter_rows())
        return float(kendalltau([said[i] for i in items], [true[i] for i in items]).statistic)
    if job.name.startswith("texts"):
        table = pl.DataFrame({"task": list(said), "output": [str(text) for text in said.values()]})
        return float(cw.evaluate(table, job.truth).wer)
    classes = job.votes.answers.classes.to_list()
    member = np.array([[c in set(said.get(task, ())) for c in classes] for task in job.votes.tasks.to_list()])
    if job.truth is None:
        at = {label: known(label) for label in CLASSES}
        return float(np.mean([f1(member[rows, j], true) for rows, true, j in at.values()]))
    _, _, table = set_truth(job.truth, job.votes.answers.classes)
    return float(2 * (member & (table > 0)).sum() / (member.sum() + (table > 0).sum()))
