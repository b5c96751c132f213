"""Files that pages name: our style sheets and scripts, and the project's pictures."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from .api import Refused
from .frame import static
from .visitor import visitor

router = APIRouter(include_in_schema=False)
_PICTURES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".avif": "image/avif", ".bmp": "image/bmp", ".svg": "image/svg+xml",
}  # fmt: skip
# A picture opened by itself is a document of this server: it may not run anything.
_MEDIA = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=3600",
}


@router.get("/static/{edition}/{name}")
async def ours(edition: str, name: str) -> Response:  # noqa: ARG001 (another content, another address)
    """A style sheet or a script."""
    found = static(name)
    if found is None:
        raise Refused(404, "There is no such file")
    return found


@router.get("/media/{path:path}")
async def media(request: Request, path: str) -> Response:
    """A picture from the project's media folder, for those who may see its tasks."""
    await visitor(request)
    folder: Path = request.app.state.project.folder.path / "media"
    kind = _PICTURES.get(Path(path).suffix.lower())
    if kind is not None and "\0" not in path:
        root = folder.resolve()
        found = (root / path).resolve()
        if found.is_relative_to(root) and found.is_file():
            return FileResponse(found, media_type=kind, headers=_MEDIA)
    raise Refused(404, "There is no such picture", "Pictures lie in the project's folder media/.")
