"""Readers of labelling tools' exports, one module per format; `detect` chooses among them."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from .base import Format

# Name of a format -> the kinds of `FileHead` that its files have. The module has the same name and is imported on first
# use, so that a file is shown to the formats only that it may have.
FORMATS: dict[str, tuple[str, ...]] = {
    "label_studio": ("objects",),
    "label_studio_min": ("objects",),
    "label_studio_csv": ("table",),
    "argilla": ("objects",),
    "mturk": ("table",),
    "toloka": ("table",),
    "prodigy": ("objects",),
    "doccano": ("archive",),
    "cvat": ("archive", "xml"),
    "coco": ("archive", "objects"),
    "potato": ("archive", "objects"),
    "cleanlab": ("table",),
    "hf_lists": ("objects",),
    "snow": ("table",),
    "llm_judge": ("objects",),
    "conll": ("table",),
    "tokens": ("table",),
}


def get(name: str) -> Format:
    """Return the module of a format."""
    return cast(Format, import_module(f".{name}", __name__))
