"""The other direction: what crowdwise writes for a tool, and what the tool must find in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import polars as pl

import crowdwise as cw
from crowdwise.io.export import write_result, write_votes
from crowdwise.io.reading import Reading

from . import crowd

Rows = list[tuple[str, ...]]


def _votes(rows: list[crowd.Row], path: Path, format: str) -> cw.Annotations:
    annotations = cw.Annotations.from_arrays(*(list(column) for column in zip(*rows, strict=True)))
    write_votes(Reading(annotations, "", ""), path, format)
    return annotations


def _consensus(path: Path, format: str) -> Rows:
    columns = (list(column) for column in zip(*crowd.rows(), strict=True))
    result = cw.MajorityVote().fit(cw.Annotations.from_arrays(*columns))
    write_result(result, path, format)
    return result.to_table().select(pl.col("task", "label").cast(pl.String)).rows()


def _predictions(folder: Path) -> Rows:
    return _consensus(folder / "predictions.json", "label_studio")


def _dataset(folder: Path) -> Rows:
    return _consensus(folder / "dataset", "hf_dataset")


def _argilla(folder: Path) -> Rows:
    user = {who: str(UUID(int=i + 1)) for i, who in enumerate(crowd.WORKERS)}
    rows = [(task, user[who], label) for task, who, label in crowd.rows()]
    _votes(rows, folder / "votes.jsonl", "argilla")
    return list(rows)


def _cvat(folder: Path) -> Rows:
    rows = crowd.rows(["a.jpg", "b c.jpg", "größe.jpg", "007.jpg", "d&e.jpg", "last.jpg"])
    _votes(rows, folder / "votes.zip", "cvat")
    return list(rows)


def _potato(folder: Path) -> Rows:
    rows = crowd.rows()
    _votes(rows, folder / "votes.zip", "potato")
    return list(rows)


def _toloka(folder: Path) -> Rows:
    # pandas, through which toloka-kit reads, takes NA for a gap; cells like =1+1 stand behind an apostrophe there.
    rows = [(t, w, x) for t, w, x in crowd.rows(labels=["pos", "neg"]) if t not in ("NA", "=1+1")]
    _votes(rows, folder / "votes.tsv", "toloka")
    return list(rows)


def _cleanlab(folder: Path) -> Rows:
    rows = [(t, w, x) for t, w, x in crowd.rows(labels=["0", "1", "2"]) if t != "=1+1"]
    _votes(rows, folder / "wide.csv", "cleanlab")
    return list(rows)


def _snorkel(folder: Path) -> Rows:
    votes = _votes(crowd.rows(labels=["0", "1", "2"]), folder / "L.npy", "snorkel")
    label = votes.classes.to_list()
    codes = zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), strict=True)
    return [(str(task), str(worker), label[code]) for task, worker, code in codes]


# job -> (what is handed over, the writer); a writer gives back what the tool must find
GIVEN: dict[str, tuple[str, Callable[[Path], Rows]]] = {
    "label_studio": ("predictions, each valid for `LabelInterface.validate_prediction`", _predictions),
    "datasets": ("a folder for `load_dataset`, `label` a ClassLabel, `label_dist` summing to one", _dataset),
    "argilla": ("records", _argilla),
    "datumaro": ("tags of images in CVAT's format", _cvat),
    "potato": ("`user_state.json` of every user", _potato),
    "toloka": ("assignments TSV", _toloka),
    "cleanlab": ("wide table", _cleanlab),
    "snorkel": ("matrix L", _snorkel),
}
