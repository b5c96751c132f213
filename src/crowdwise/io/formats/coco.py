"""COCO: images, annotations with boxes or outlines, and categories; the worker is in a field beyond the standard.

The worker is an annotation's `annotator` (or worker, annotator_id, user, ...; --columns worker=NAME names another), or,
in a ZIP or folder with one file per worker, the name of the file. An image without shapes of a worker is an empty
answer if the file states who annotated it: by a list `annotators` of the image, or by a file per worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..archives import members
from ..json.stream import objects
from ..sources import Source, starts_with
from .base import SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import moment, text
from .shapes import BOXES, OUTLINES, Shapes, corners_of, kind_to_read, numbers

WORKER_FIELDS = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "created_by")
GOLD = "is_gold"


def sniff(head: FileHead) -> FormatMatch | None:
    """Match one object with `images` and `annotations` that name their image, or an archive or folder of such files."""
    documents = [head.document] if head.kind == "archive" and head.document is not None else head.objects
    if len(documents) == 1 and isinstance(documents[0].get("images"), list):
        annotations = documents[0].get("annotations")
        if isinstance(annotations, list) and (
            not annotations or (isinstance(annotations[0], dict) and "image_id" in annotations[0])
        ):
            files = "its files have" if head.kind == "archive" else "it has"
            return FormatMatch(SURE, f"{files} `images` and `annotations` with image_id")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per image and worker."""
    options.allow_columns(where, "worker")
    drawings: dict[tuple[str, str], Shapes] = {}
    sizes: dict[str, tuple[Any, Any, Any]] = {}
    notes: tuple[str, ...] = ()
    for name, content in _files(source, where):
        at = where if name is None else f"{where}: {name}"
        file = _File(at, None if name is None else PurePosixPath(name).stem, options.columns.get("worker"))
        for _, value in objects(content, at):
            file.take(value)
        for key, shapes in file.drawings.items():
            if key in drawings:
                raise DataError(
                    f"{at}: {quote([key[1]])} has shapes on {quote([key[0]])} in two files; keep one of them"
                )
            drawings[key] = shapes
        sizes |= file.sizes
        notes += file.notes()
    if not drawings:
        raise DataError(f"{where} holds no annotations; is it the right file?")
    counts = [sum(len(getattr(shapes, name)) for shapes in drawings.values()) for name in (BOXES, OUTLINES)]
    kind = kind_to_read(options.expected_kind, *counts) or BOXES
    rows = RowBuilder(kind)
    for task in sizes:
        rows.mention(task)
    for (task, worker), shapes in drawings.items():
        rows.add(task, worker, [shapes.text(kind)], time=moment(None))
    result = rows.finish(where, options, kind, tuple(dict.fromkeys(notes)))
    known_sizes = {task: size for task, size in sizes.items() if any(value is not None for value in size)}
    if known_sizes:
        names = ("width", "height", "url")
        columns = {name: [size[i] for size in known_sizes.values()] for i, name in enumerate(names)}
        result.about_tasks = pl.DataFrame({"task": list(known_sizes), **columns}, strict=False)
    return result


def _files(source: Source, where: str) -> Iterator[tuple[str | None, Source]]:
    if starts_with(source, b"PK") or (not isinstance(source, bytes) and source.is_dir()):
        yield from members(source, where, (".json",))
    else:
        yield None, source


class _File:
    """One file: `drawings` by (image, worker), `sizes` by image."""

    def __init__(self, where: str, worker: str | None, column: str | None) -> None:
        self.where, self.worker, self.column = where, worker, column
        self.drawings: dict[tuple[str, str], Shapes] = {}
        self.sizes: dict[str, tuple[Any, Any, Any]] = {}
        self.n_masks = self.n_unassigned = 0

    def take(self, value: dict[str, Any]) -> None:
        images = {str(image.get("id")): image for image in self._list(value, "images")}
        tags = {
            str(category.get("id")): text(category.get("name"), "name", self.where)
            for category in self._list(value, "categories")
        }
        names = {key: text(image.get("file_name", image.get("id")), "file_name", self.where) or key
                 for key, image in images.items()}  # fmt: skip
        for key, image in images.items():
            url = image.get("coco_url") or image.get("url")
            self.sizes[names[key]] = (image.get("width"), image.get("height"), url if isinstance(url, str) else None)
            for worker in self._annotators(image):
                self.drawings.setdefault((names[key], worker), Shapes())
        for i, image in enumerate(self._list(value, "annotations")):
            at = f"{self.where}, annotation {i + 1}"
            key = str(image.get("image_id"))
            if key not in names:
                raise DataError(f"{at}: its image_id {key[:40]!r} is not among the images; export it again")
            shapes = self.drawings.setdefault((names[key], self._annotator(image, at)), Shapes())
            self._shape(shapes, image, tags.get(str(image.get("category_id"))), at)

    def _shape(self, shapes: Shapes, annotation: dict[str, Any], tag: str | None, at: str) -> None:
        if annotation.get("bbox"):
            shapes.add_box(corners_of(*numbers(annotation["bbox"], 4, at, "bbox")), tag)
        outline = annotation.get("segmentation")
        if isinstance(outline, list):
            for ring in outline:
                flat = numbers(ring, None, at, "segmentation")
                shapes.add_outline([[x, y] for x, y in zip(flat[::2], flat[1::2], strict=True)])
        elif outline:
            self.n_masks += 1

    def _annotators(self, image: dict[str, Any]) -> list[str]:
        if self.worker is not None:
            return [self.worker]
        annotators = image.get("annotators")
        if isinstance(annotators, list):
            return [name for name in (text(annotator, "annotators", self.where) for annotator in annotators) if name]
        self.n_unassigned += 1
        return []

    def _annotator(self, annotation: dict[str, Any], at: str) -> str:
        if self.worker is not None:
            return self.worker
        more = annotation.get("attributes")
        for fields in (annotation, more if isinstance(more, dict) else {}):
            for name in (self.column,) if self.column else WORKER_FIELDS:
                if fields.get(name) is not None:
                    return text(fields[name], name, at) or ""
        raise DataError(
            f"{at} does not state its annotator; name the field with --columns worker=NAME, or give a ZIP with one "
            "file per worker"
        )

    def _list(self, value: dict[str, Any], name: str) -> list[dict[str, Any]]:
        entries = value.get(name, [] if name == "categories" else None)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise DataError(f"{self.where}: {name} is not a list of objects; is it COCO?")
        return entries

    def notes(self) -> tuple[str, ...]:
        """Return notes about the file."""
        out: tuple[str, ...] = ()
        if self.n_unassigned:
            out += ("the file does not state who annotated images without shapes; those answers are missing",)
        if self.n_masks:
            out += (f"{self.n_masks:,} masks in run-length encoding are ignored",)
        return out
