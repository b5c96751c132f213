"""Exports of labelling tools, each read as it comes: one small module a format, found by `detect`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from .base import Format

# name -> what it is, for people. The module has the same name and is imported when it is needed.
FORMATS = {
    "label_studio": "Label Studio, JSON",
    "label_studio_min": "Label Studio, JSON_MIN",
    "label_studio_csv": "Label Studio, CSV or TSV",
    "argilla": "Argilla 2 records: JSON, JSONL, or a Hugging Face data set in Parquet",
    "mturk": "Mechanical Turk batch results, CSV",
    "toloka": "Toloka assignments, TSV",
    "prodigy": "Prodigy, JSONL",
    "doccano": "doccano, ZIP with a file per user",
    "cvat": "CVAT for images: tags, boxes or polygons, XML or ZIP with a file per job",
    "coco": "COCO with a field for who drew what, JSON, or ZIP with a file per worker",
    "potato": "Potato, user_state.json, or ZIP or folder of them",
    "cleanlab": "cleanlab's wide matrix: a column per annotator, numbers and NaN",
    "hf_lists": "a row a task with a list of labels and a list of annotators: JSONL or Parquet",
    "snow": "Snow et al.'s tables: !amt_worker_ids, orig_id, response, gold",
    "llm_judge": "verdicts of LLM judges: JSONL, FastChat's pairs, AlpacaEval's annotations",
    "conll": "CoNLL columns: a token a line with a tag of every worker",
    "tokens": "a row a token: task, worker, token (a number), tag",
}


# Those that live with their kind of answers.
_HOMES = {"coco": ".shapes.coco"}
# Formats that hold shapes only, which have no place for classes of whole tasks.
SHAPES = ("coco",)


def get(name: str) -> Format:
    """The module of a format."""
    return cast(Format, import_module(_HOMES.get(name, f".{name}"), __name__))
