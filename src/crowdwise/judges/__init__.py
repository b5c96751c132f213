"""LLM judges: cheap, repeatable annotators whose errors are correlated within families.

The package itself can be called: `cw.judges(votes, gold=...)` is `study.judges`. A function of the same name would be
replaced by the package as soon as one of its modules is imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .study import Judges

__all__ = ["judges"]


def judges(votes: Any, gold: Any = None, **options: Any) -> Judges:
    """Study the quality, dependence, biases and value of judges (see `study.judges` for the options)."""
    from .study import judges as study

    return study(votes, gold, **options)


class _CallableModule(ModuleType):
    def __call__(self, votes: Any, gold: Any = None, **options: Any) -> Judges:
        return judges(votes, gold, **options)


sys.modules[__name__].__class__ = _CallableModule
