"""The peers, each in an environment of its own."""

from __future__ import annotations

from functools import lru_cache

from ..environments import Environment
from . import child

CROWD_KIT = Environment("crowd-kit", ("crowd-kit==1.4.2",), module="crowdkit.aggregation")
CLEANLAB = Environment("cleanlab", ("cleanlab==2.9.0",), module="cleanlab.multiannotator")


@lru_cache(maxsize=1)
def crowd_kit() -> str | None:
    """The Python that has crowd-kit, or None where it cannot be had (the reason goes to stderr)."""
    return str(CROWD_KIT.python) if CROWD_KIT.ready() else None


@lru_cache(maxsize=1)
def cleanlab() -> str | None:
    """The Python that has cleanlab, or None where it cannot be had."""
    return str(CLEANLAB.python) if CLEANLAB.ready() else None


@lru_cache(maxsize=1)
def crowd_kit_versions() -> dict[str, str] | None:
    """What is installed beside crowd-kit."""
    python = crowd_kit()
    if python is None:
        return None
    found = child.run("crowdkit:versions", python=python)
    found.pop("peak_mb")
    return found
