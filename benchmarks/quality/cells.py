"""Finished cells of the benchmark: one JSON file each, used again unless the method's source changed or --fresh."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crowdwise.core import method_registry as registry

from .. import ROOT

HOME = ROOT / "bench-results" / "quality"


def version(method: str) -> str:
    """A digest of a method's class and of its bases."""
    cls = registry.get(method)
    text = "".join(inspect.getsource(c) for c in cls.__mro__ if c.__module__.startswith("crowdwise"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def place(kind: str, key: dict[str, Any]) -> Path:
    """Where the answer under this key is kept."""
    name = hashlib.sha256(json.dumps([kind, key], sort_keys=True).encode()).hexdigest()[:20]
    return HOME / kind / f"{name}.json"


def cell(kind: str, key: dict[str, Any], make: Callable[[], dict[str, Any]], *, fresh: bool = False) -> dict[str, Any]:
    """The stored answer of `make` under this key, or a new one."""
    path = place(kind, key)
    if path.exists() and not fresh:
        return json.loads(path.read_text())
    answer = {**key, **make()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(answer))
    return answer
