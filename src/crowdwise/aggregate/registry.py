"""The registry: names, where their classes live, and what they need and can, from the tables in cards/.

The command line, the docs, the common tests and the benchmarks all read it. A method is tested by being registered,
and a law is skipped only by a capability that its card does not declare. Nothing heavy is imported to read it.
"""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from ..core import kind_table as kinds
from ..core.errors import ParameterError
from .cards.boxes import BOXES
from .cards.card import Card
from .cards.classes import CLASSES
from .cards.comparisons import COMPARISONS
from .cards.graphs import GRAPHS
from .cards.judges import JUDGES
from .cards.learners import LEARNERS
from .cards.numbers import NUMBERS
from .cards.ordered import ORDERED
from .cards.outlines import OUTLINES
from .cards.probabilities import PROBABILITIES
from .cards.rankings import RANKINGS
from .cards.sets import SETS
from .cards.similarities import SIMILARITIES
from .cards.spans import SPANS
from .cards.texts import TEXTS
from .cards.triplets import TRIPLETS

__all__ = [
    "CARDS",
    "DEFAULT",
    "LEARNERS",
    "METHODS",
    "Card",
    "card",
    "default_for",
    "default_method",
    "get",
    "learner",
    "method",
    "names",
    "register",
]

DEFAULT = "adaptive"
# Methods for classes, under the name that they always had; all of them are in CARDS.
METHODS = {**CLASSES, **JUDGES}
CARDS: dict[str, Card] = {
    **METHODS,
    **NUMBERS,
    **BOXES,
    **SIMILARITIES,
    **TRIPLETS,
    **OUTLINES,
    **ORDERED,
    **GRAPHS,
    **PROBABILITIES,
    **SETS,
    **SPANS,
    **TEXTS,
    **COMPARISONS,
    **RANKINGS,
}


def learner(name: str) -> Card:
    """The card of a method that trains a classifier."""
    if name not in LEARNERS:
        raise ParameterError(
            f"there is no training method {name!r}; `crowdwise methods` lists them" + _nearest(name, LEARNERS)
        )
    return LEARNERS[name]


def names(takes: str | None = "classes") -> list[str]:
    """Names of the methods for a kind of answers (None: for any), plug-ins included.

    A plug-in says what it takes on its card; without a look at it, it counts as one for classes.
    """
    own = [name for name, each in CARDS.items() if takes in (None, each.takes)]
    return own + [ep.name for ep in _plugins() if takes in (None, "classes") or card(ep.name).takes == takes]


def default_for(kind: str) -> str:
    """The default method of a kind of answers; `default_method` looks at the votes as well."""
    return DEFAULT if kind == "classes" else kinds.get(kind).default


def default_method(votes: Any, gold: Any = None) -> str:
    """The method for these votes and gold answers where none is named: in Python, on the command line, on the server.

    It is that of their kind, or what the kind's door `default` says of them: class labels in an order, or of judges
    that are all models, have others.
    """
    kind = votes.kind
    return str(kind.door("default")(votes, gold)) if kind.can("default") else default_for(kind.name)


def register(own: Card) -> Card:
    """Make a method known from Python; a package does it by an entry point of the group crowdwise.methods."""
    CARDS[own.name] = own
    return own


def card(name: str) -> Card:
    """The card of a method."""
    if name in CARDS:
        return CARDS[name]
    for plugin in _plugins():
        if plugin.name == name:
            found = plugin.load().card
            if isinstance(found, Card):
                return found
    raise ParameterError(f"there is no method {name!r}; `crowdwise methods` lists them" + _nearest(name))


def get(name: str) -> type[Any]:
    """The class of a method."""
    module, _, cls = card(name).where.partition(":")
    found: type[Any] = getattr(import_module(module), cls)
    return found


def method(name: str, **params: Any) -> Any:
    """A method by its registry name.

    >>> method("wawa", seed=7)
    Wawa(seed=7, ties='split')
    """
    cls = get(name)
    known = [f.name for f in fields(cls)]
    for given in params:
        if given not in known:
            raise ParameterError(f"{name} has no parameter {given!r}; it has {', '.join(known)}")
    return cls(**params)


def _plugins() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group="crowdwise.methods"))


def _nearest(name: str, among: dict[str, Card] = CARDS) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, among, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
