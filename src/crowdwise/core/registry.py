"""The registry of kinds of answers, whose modules are loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ParameterError

if TYPE_CHECKING:
    from .kind import Kind

# A function, or "module:function", which is imported on first use.
Target = str | Callable[..., Any]
BUILT_IN = {
    "classes": "crowdwise.kinds.classes.annotations:KIND",
    "numbers": "crowdwise.kinds.numbers.kind:KIND",
    "boxes": "crowdwise.kinds.boxes.kind:KIND",
    "similarities": "crowdwise.kinds.similarities.kind:KIND",
    "triplets": "crowdwise.kinds.triplets.kind:KIND",
    "outlines": "crowdwise.kinds.outlines.kind:KIND",
    "probabilities": "crowdwise.kinds.probabilities.kind:KIND",
    "sets": "crowdwise.kinds.sets.kind:KIND",
    "spans": "crowdwise.kinds.spans.kind:KIND",
    "texts": "crowdwise.kinds.texts.kind:KIND",
    "comparisons": "crowdwise.kinds.comparisons.kind:KIND",
    "rankings": "crowdwise.kinds.rankings.kind:KIND",
}
# Former names of kinds in labelling projects, which stored projects may still have.
FORMER_KINDS = {"same": "similarities", "ranking": "rankings"}
_KINDS: dict[str, Kind] = {}


def resolve(target: Target) -> Callable[..., Any]:
    """Return the function that "module:function" names."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def register(kind: Kind) -> Kind:
    """Register a kind; it replaces an earlier one of the same name."""
    _KINDS[kind.name] = kind
    return kind


def get(name: str) -> Kind:
    """Return the kind of this name."""
    if name not in _KINDS:
        entry = BUILT_IN.get(name) or _plugged_in().get(name)
        if entry is None:
            raise ParameterError(f"there is no kind of answers {name!r}; there are {', '.join(names())}")
        module, _, attribute = entry.partition(":")
        register(getattr(import_module(module), attribute))
    return _KINDS[name]


def names() -> list[str]:
    """Return the names of all kinds, including plug-ins."""
    return list(dict.fromkeys([*BUILT_IN, *_KINDS, *_plugged_in()]))


def _plugged_in() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {ep.name: ep.value for ep in entry_points(group="crowdwise.kinds")}
