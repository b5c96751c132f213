"""Judges: workers that are cheap, repeatable and wrong together with their relatives.

The room can be called: `cw.judges(votes, gold=...)` is `study.judges`. A function of the room's name beside the room
would be replaced by it as soon as one of its modules is imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .study import Judges

__all__ = ["judges"]


def judges(votes: Any, gold: Any = None, **options: Any) -> Judges:
    """How good, how dependent, how biased judges are, and whom to pay (see `study.judges` for the options)."""
    from .study import judges as study

    return study(votes, gold, **options)


class _Room(ModuleType):
    def __call__(self, votes: Any, gold: Any = None, **options: Any) -> Judges:
        return judges(votes, gold, **options)


sys.modules[__name__].__class__ = _Room
