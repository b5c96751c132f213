"""What is slow to make is kept in build/ while neither its source nor the package has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


def kept(path: Path, source: str, make: Callable[[], str]) -> str:
    """Return the text of a file, which is made if it is missing or was made from something else.

    Args:
        path: The file.
        source: What it is made from, apart from the package.
        make: Makes the text.
    """
    stamp = path.with_name(f".{path.name}.sha256")
    state = hashlib.sha256(source.encode() + _package()).hexdigest()
    if not (path.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == state):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")
        stamp.write_text(state, encoding="utf-8")
    return path.read_text(encoding="utf-8")


@cache
def _package() -> bytes:
    """Return a hash of the package's source."""
    total = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(path.read_bytes())
    return total.digest()
