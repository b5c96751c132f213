"""The table of kinds: names to records, loaded when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ParameterError

if TYPE_CHECKING:
    from .kind import Kind

# What another room does: a function, or "module:function".
Door = str | Callable[..., Any]
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
_KINDS: dict[str, Kind] = {}


def resolve(door: Door) -> Callable[..., Any]:
    """The function behind "module:function"."""
    if not isinstance(door, str):
        return door
    module, _, name = door.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def register(kind: Kind) -> Kind:
    """Make a kind known; of one name the later one counts."""
    _KINDS[kind.name] = kind
    return kind


def get(name: str) -> Kind:
    """The kind of this name."""
    if name not in _KINDS:
        where = BUILT_IN.get(name) or _plugged_in().get(name)
        if where is None:
            raise ParameterError(f"there is no kind of answers {name!r}; there are {', '.join(names())}")
        module, _, attribute = where.partition(":")
        register(getattr(import_module(module), attribute))
    return _KINDS[name]


def names() -> list[str]:
    """All kinds, those of plug-ins included."""
    return list(dict.fromkeys([*BUILT_IN, *_KINDS, *_plugged_in()]))


def _plugged_in() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {ep.name: ep.value for ep in entry_points(group="crowdwise.kinds")}
