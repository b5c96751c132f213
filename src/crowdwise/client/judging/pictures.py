"""Pictures of tasks for multimodal judges: a URL that the endpoint fetches, or the picture itself as a data URL."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..problems import ServerProblem
from ..project import Project
from .form import NoVerdict

FIELDS = ("image", "left_image", "right_image")
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
         ".avif": "image/avif", ".bmp": "image/bmp"}  # fmt: skip
MOST = 20_000_000  # bytes
# Converts the value of a field to the URL of the picture, which may be a data URL.
Look = Callable[[str], str]


def pictures(payload: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a task that are pictures."""
    return {name: payload[name].strip() for name in FIELDS if is_picture(payload.get(name))}


def is_picture(value: Any) -> bool:
    """Whether a value is a URL, a data URL or the file name of a picture."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    return text.startswith(("https://", "data:image/", "/media/")) or Path(text).suffix.lower() in TYPES


def on_the_net(where: str) -> str:
    """Accept only URLs, which need no loading."""
    if where.startswith(("https://", "data:image/")):
        return where
    raise NoVerdict(f"the picture {where[:80]!r} cannot be loaded here")


def of_project(project: Project) -> Look:
    """Load pictures from the server, because the endpoint has no token for it."""

    def look(where: str) -> str:
        if where.startswith(("https://", "data:image/")):
            return where
        name = where.removeprefix("/media/")
        try:
            data = project.wire.send("GET", f"/media/{quote(name)}").content
        except ServerProblem as error:
            raise NoVerdict(f"the picture {where[:80]!r} cannot be loaded ({error.status})") from None
        return data_url(name, data)

    return look


def of_folder(folder: Path) -> Look:
    """Load pictures from the folder of a file of tasks."""

    def look(where: str) -> str:
        if where.startswith(("https://", "data:image/")):
            return where
        path = (folder / where).resolve()
        try:
            if not path.is_relative_to(folder.resolve()):
                raise OSError
            return data_url(path.name, path.read_bytes())
        except OSError:
            raise NoVerdict(f"the picture {where[:80]!r} is no file beside the tasks") from None

    return look


def data_url(name: str, data: bytes) -> str:
    """A picture as a data URL."""
    kind = TYPES.get(Path(name).suffix.lower())
    if kind is None or len(data) > MOST:
        why = "is no picture" if kind is None else f"has {len(data):,} bytes; {MOST:,} is the most"
        raise NoVerdict(f"{name[:80]!r} {why}")
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def with_pictures(text: str, images: Mapping[str, str], look: Look) -> list[dict[str, Any]]:
    """The content of a message: the text, then the pictures with their names."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for name, where in images.items():
        parts.append({"type": "text", "text": f"[{name}]"})
        parts.append({"type": "image_url", "image_url": {"url": look(where)}})
    return parts
