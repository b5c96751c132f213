"""COCO: images, annotations with boxes or outlines, categories; who drew what stands in a field that is not COCO's.

The worker is an annotation's `annotator` (or worker, annotator_id, user, ...; --columns worker=NAME names another), or,
in a ZIP or folder with a file per worker, the file's name. A picture that a worker drew nothing on counts where the
file says who looked: images with a list `annotators`, or a file per worker with all its images.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from ....core.errors import DataError
from ....core.vocabulary import quote
from ...archives import members
from ...json.stream import objects
from ...sources import Source, starts_with
from ..base import SURE, Ask, Found, Guess, Head, Rows
from ..cells import moment, text
from .drawn import BOXES, OUTLINES, Shapes, corners_of, kind_asked, numbers

WHO = ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "created_by")
GOLD = "is_gold"


def sniff(head: Head) -> Guess | None:
    """One object with `images` and `annotations` that name their image."""
    if len(head.objects) == 1 and isinstance(head.objects[0].get("images"), list):
        found = head.objects[0].get("annotations")
        if isinstance(found, list) and (not found or (isinstance(found[0], dict) and "image_id" in found[0])):
            return Guess(SURE, "it has `images` and `annotations` with image_id")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a picture and worker."""
    ask.only(where, "worker")
    looks: dict[tuple[str, str], Shapes] = {}
    sizes: dict[str, tuple[Any, Any, Any]] = {}
    notes: tuple[str, ...] = ()
    for name, content in _files(source, where):
        at = where if name is None else f"{where}: {name}"
        file = _File(at, None if name is None else PurePosixPath(name).stem, ask.columns.get("worker"))
        for _, value in objects(content, at):
            file.take(value)
        for look, shapes in file.looks.items():
            if look in looks:
                raise DataError(f"{at}: {quote([look[1]])} drew on {quote([look[0]])} in two files; keep one of them")
            looks[look] = shapes
        sizes |= file.sizes
        notes += file.notes()
    if not looks:
        raise DataError(f"{where} holds no annotations; is it the right file?")
    counts = [sum(len(getattr(each, name)) for each in looks.values()) for name in (BOXES, OUTLINES)]
    kind = kind_asked(ask.kind, *counts) or BOXES
    rows = Rows(kind)
    for task in sizes:
        rows.mention(task)
    for (task, worker), shapes in looks.items():
        rows.add(task, worker, [shapes.text(kind)], time=moment(None))
    found = rows.found(where, ask, kind, tuple(dict.fromkeys(notes)))
    known = {task: each for task, each in sizes.items() if any(value is not None for value in each)}
    if known:
        names = ("width", "height", "url")
        columns = {name: [each[i] for each in known.values()] for i, name in enumerate(names)}
        found.about_tasks = pl.DataFrame({"task": list(known), **columns}, strict=False)
    return found


def _files(source: Source, where: str) -> Iterator[tuple[str | None, Source]]:
    if starts_with(source, b"PK") or (not isinstance(source, bytes) and source.is_dir()):
        yield from members(source, where, (".json",))
    else:
        yield None, source


class _File:
    """One file: `looks` by (picture, worker), `sizes` by picture."""

    def __init__(self, where: str, worker: str | None, column: str | None) -> None:
        self.where, self.worker, self.column = where, worker, column
        self.looks: dict[tuple[str, str], Shapes] = {}
        self.sizes: dict[str, tuple[Any, Any, Any]] = {}
        self.masks = self.unsure = 0

    def take(self, value: dict[str, Any]) -> None:
        images = {str(each.get("id")): each for each in self._list(value, "images")}
        tags = {
            str(each.get("id")): text(each.get("name"), "name", self.where) for each in self._list(value, "categories")
        }
        names = {key: text(each.get("file_name", each.get("id")), "file_name", self.where) or key
                 for key, each in images.items()}  # fmt: skip
        for key, each in images.items():
            url = each.get("coco_url") or each.get("url")
            self.sizes[names[key]] = (each.get("width"), each.get("height"), url if isinstance(url, str) else None)
            for who in self._lookers(each):
                self.looks.setdefault((names[key], who), Shapes())
        for i, each in enumerate(self._list(value, "annotations")):
            at = f"{self.where}, annotation {i + 1}"
            key = str(each.get("image_id"))
            if key not in names:
                raise DataError(f"{at}: its image_id {key[:40]!r} is none of the images; export it again")
            shapes = self.looks.setdefault((names[key], self._who(each, at)), Shapes())
            self._shape(shapes, each, tags.get(str(each.get("category_id"))), at)

    def _shape(self, shapes: Shapes, each: dict[str, Any], tag: str | None, at: str) -> None:
        if each.get("bbox"):
            shapes.add_box(corners_of(*numbers(each["bbox"], 4, at, "bbox")), tag)
        outline = each.get("segmentation")
        if isinstance(outline, list):
            for ring in outline:
                flat = numbers(ring, None, at, "segmentation")
                shapes.add_outline([[x, y] for x, y in zip(flat[::2], flat[1::2], strict=True)])
        elif outline:
            self.masks += 1

    def _lookers(self, image: dict[str, Any]) -> list[str]:
        if self.worker is not None:
            return [self.worker]
        said = image.get("annotators")
        if isinstance(said, list):
            return [name for name in (text(each, "annotators", self.where) for each in said) if name]
        self.unsure += 1
        return []

    def _who(self, each: dict[str, Any], at: str) -> str:
        if self.worker is not None:
            return self.worker
        more = each.get("attributes")
        for place in (each, more if isinstance(more, dict) else {}):
            for name in (self.column,) if self.column else WHO:
                if place.get(name) is not None:
                    return text(place[name], name, at) or ""
        raise DataError(
            f"{at} does not say who drew it; name the field with --columns worker=NAME, or give a ZIP with a file per "
            "worker"
        )

    def _list(self, value: dict[str, Any], name: str) -> list[dict[str, Any]]:
        found = value.get(name, [] if name == "categories" else None)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise DataError(f"{self.where}: {name} is no list of objects; is it COCO?")
        return found

    def notes(self) -> tuple[str, ...]:
        """What people should know of the file."""
        out: tuple[str, ...] = ()
        if self.unsure:
            out += ("the file does not say who looked at a picture and drew nothing; such looks are not counted",)
        if self.masks:
            out += (f"{self.masks:,} masks in run-length code are left aside",)
        return out
