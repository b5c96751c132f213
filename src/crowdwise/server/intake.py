"""Tasks and gold from files: tables, or folders of images, which the server then serves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ..core.errors import DataError, unwritable
from ..io.tables import open_table
from ..kinds.rankings.answers import items_in
from .problems import Problem
from .serialization import name_of

IDS = ("id", "task", "task_id")
# Columns that may hold known answers; files of checked tasks name them by the kind of answers.
GOLD = ("label", "answer", "gold", "value", "labels", "winner", "spans", "ranking")
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp")
LISTS = ("items",)
PICTURES = ("image", "left_image", "right_image")


def read_tasks(path: Path, media: Path) -> list[dict[str, Any]]:
    """Tasks of a table (a column id or task, optionally gold; the others are the payload) or of a folder of images."""
    if path.is_dir():
        return _images(path, media)
    table = open_table(path)
    key = next((name for name in IDS if name in table.header), None)
    if key is None:
        raise DataError(f"{path}: there is no column id or task; it has {', '.join(table.header)}")
    out = []
    for row in table.read(table.header).to_dicts():
        gold = row.pop("gold", None)
        name = row.pop(key)
        shown = {field: _cell(field, value) for field, value in row.items() if value is not None and value != ""}
        shown |= {f: _local_image(str(shown[f]), path.parent, media) for f in PICTURES if f in shown}
        out.append({"id": None if name is None else str(name), "payload": shown, "gold": gold_of(gold)})
    return out


def read_gold(path: Path) -> dict[str, Any]:
    """Known answers: a table with the columns task (or id) and label (or answer, gold)."""
    table = open_table(path)
    key = next((name for name in IDS if name in table.header), None)
    value = next((name for name in GOLD if name in table.header), None)
    if key is None or value is None:
        raise DataError(f"{path}: gold needs the columns task and label; it has {', '.join(table.header)}")
    return {str(row[key]): gold_of(row[value]) for row in table.read([key, value]).to_dicts() if row[key] is not None}


def gold_of(value: Any) -> Any:
    """A cell of gold: a list is parsed as JSON, an empty cell is None."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _cell(field: str, value: Any) -> Any:
    if field in LISTS and isinstance(value, str):
        return items_in(value, field)
    return value if isinstance(value, bool | int | float | str | list | dict) else str(value)


def _images(folder: Path, media: Path) -> list[dict[str, Any]]:
    images = sorted(image for image in folder.iterdir() if image.suffix.lower() in IMAGES)
    if not images:
        raise DataError(f"{folder} holds no images ({', '.join(IMAGES)})")
    return [{"id": image.stem, "payload": {"image": _copy_to_media(image, media)}, "gold": None} for image in images]


def _local_image(given: str, folder: Path, media: Path) -> str:
    """An address is kept; a file in the folder of the table is copied to the media folder."""
    if given.startswith(("https://", "/media/")):
        return given
    if given.startswith("http://"):
        raise DataError(
            f"image {given[:80]!r}: pages show https addresses only; download it to the folder of the table"
        )
    path = (folder / given).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise DataError(f"image {given[:80]!r} is neither an https address nor a file in the folder of the table")
    if path.suffix.lower() not in IMAGES:
        raise DataError(f"image {given[:80]!r} is none of {', '.join(IMAGES)}")
    return _copy_to_media(path, media)


def _copy_to_media(path: Path, media: Path) -> str:
    try:
        name_of(path.name, "the name of an image")
    except Problem as problem:
        raise DataError(problem.detail) from problem
    place = media / path.name
    try:
        if place.exists() and place.read_bytes() != path.read_bytes():
            raise DataError(f"there is another picture {path.name} in {media} already; rename this one")
        if not place.exists():
            shutil.copyfile(path, place)
    except OSError as error:
        raise unwritable(place, error) from error
    return f"/media/{path.name}"
