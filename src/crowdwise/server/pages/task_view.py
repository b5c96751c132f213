"""A task as the page shows it: its payload as text, image, sides, items and other fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..pair_sides import SIDES, alt_of

# Largest number of words that are listed with their positions for spans without scripts.
_WORDS = 600
_PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+", re.A)
_ADDRESS = re.compile(r"https?://[^\s<>\"']+")
_TAKEN = (
    "text",
    "image",
    "alt",
    "items",
    *SIDES,
    *(f"{side}_{what}" for side in SIDES for what in ("image", "alt", "id")),
)


@dataclass(frozen=True)
class Thing:
    """A text, an image, or both."""

    id: str
    text: str
    image: str
    alt: str


def thing(value: Any) -> Thing:
    """From a text, or from {"id", "text", "image", "alt"}."""
    if not isinstance(value, Mapping):
        return Thing(plain(value), plain(value), "", "")
    text = plain(value.get("text", ""))
    image = picture(value.get("image"))
    name = plain(value.get("id", text))
    if value.get("image") and not image:
        text = f"{text}\n{plain(value['image'])}".strip()
    return Thing(name, text or ("" if image else name), image, plain(value.get("alt", "")))


def view(task: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of the task template."""
    payload = task.get("payload")
    payload = payload if isinstance(payload, Mapping) else {"text": payload}
    fields = [(str(name), plain(value)) for name, value in payload.items() if name not in _TAKEN]
    if payload.get("image") and not picture(payload["image"]):
        fields.append(("image", plain(payload["image"])))
    items = payload.get("items")
    return {
        "id": str(task["id"]),
        "lease": task.get("lease") or "",
        "note": plain(task.get("note")),
        "text": plain(payload.get("text", "")),
        "image": picture(payload.get("image")),
        "alt": plain(payload.get("alt", "")),
        "fields": [(name, value, bool(_ADDRESS.fullmatch(value))) for name, value in fields],
        **{side: _side(payload, side) for side in SIDES},
        "things": [thing(item) for item in items] if isinstance(items, list) else [],
    }


def _side(payload: Mapping[str, Any], side: str) -> Thing | None:
    """One side of a pair: a text, a picture, or both."""
    text, image = payload.get(side), payload.get(f"{side}_image")
    return (
        None if text is None and image is None else thing({"text": text, "image": image, "alt": alt_of(payload, side)})
    )


def picture(value: Any) -> str:
    """The URL of an image: https, a data URL, or a file in the project's media folder; empty for anything else."""
    if not isinstance(value, str) or not value.strip():
        return ""
    where: str = value.strip()
    if (_ADDRESS.fullmatch(where) and where.startswith("https:")) or _PICTURE.fullmatch(where):
        return where
    where = where.removeprefix("/media/")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", where) or where.startswith(("/", "\\")):
        return ""
    return f"/media/{quote(where)}"


def plain(value: Any) -> str:
    """Text of any JSON value."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def words(text: str) -> list[tuple[int, int, str]]:
    """The words of a text with their positions in code points, for entry by hand."""
    return [(m.start(), m.end(), m.group()) for m, _ in zip(re.finditer(r"\S+", text), range(_WORDS), strict=False)]
