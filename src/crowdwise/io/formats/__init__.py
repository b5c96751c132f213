"""Readers of labelling tools' exports, one module per format; `detect` chooses among them."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from .base import Format

# name -> description. The module has the same name and is imported on first use.
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
    "coco": "COCO with a field for the annotator, JSON, or ZIP with a file per worker",
    "potato": "Potato, user_state.json, or ZIP or folder of them",
    "cleanlab": "cleanlab's wide matrix: a column per annotator, numbers and NaN",
    "hf_lists": "one row per task with a list of labels and a list of annotators: JSONL or Parquet",
    "snow": "Snow et al.'s tables: !amt_worker_ids, orig_id, response, gold",
    "llm_judge": "verdicts of LLM judges: JSONL, FastChat's pairs, AlpacaEval's annotations",
    "conll": "CoNLL columns: one token per line with a tag of each worker",
    "tokens": "one row per token: task, worker, token (a number), tag",
}


# Modules that are elsewhere.
_HOMES = {"coco": ".shapes.coco"}
# Formats of shapes, which cannot hold classes of whole tasks.
SHAPES = ("coco",)


def get(name: str) -> Format:
    """Return the module of a format."""
    return cast(Format, import_module(_HOMES.get(name, f".{name}"), __name__))
