"""The registry of methods: names, where their classes live, what they need and can; from kinds/*/cards.py.

The command line, the docs, the common tests and the benchmarks all read it. A method is tested by being registered,
and a law is skipped only by a capability that its card does not declare. Nothing heavy is imported to read it.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import Any

from . import registry as kinds
from .card import Card
from .errors import ParameterError

DEFAULT = "adaptive"
# The folders of kinds/ that have a table of methods, in the order of `crowdwise methods`.
TABLES = (
    "classes", "numbers", "boxes", "similarities", "triplets", "outlines", "ordered", "probabilities", "sets", "spans",
    "texts", "comparisons", "rankings",
)  # fmt: skip


@cache
def cards() -> dict[str, Card]:
    """The cards of all methods by name."""
    tables = [import_module(f"crowdwise.kinds.{kind}.cards") for kind in TABLES]
    found: dict[str, Card] = {name: own for table in tables for name, own in table.METHODS.items()}
    found |= import_module("crowdwise.kinds.classes.cards").GRAPHS
    return found


@cache
def learners() -> dict[str, Card]:
    """The cards of the methods that train a model."""
    return dict(import_module("crowdwise.kinds.classes.learn.cards").LEARNERS)


def __getattr__(name: str) -> dict[str, Card]:
    """CARDS, LEARNERS and METHODS (those for classes): tables that are read when first asked for."""
    if name == "CARDS":
        return cards()
    if name == "LEARNERS":
        return learners()
    if name == "METHODS":
        return dict(import_module("crowdwise.kinds.classes.cards").METHODS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "CARDS", "LEARNERS", "METHODS"})


def learner(name: str) -> Card:
    """The card of a method that trains a classifier."""
    if name not in learners():
        raise ParameterError(
            f"there is no training method {name!r}; `crowdwise methods` lists them" + _nearest(name, learners())
        )
    return learners()[name]


def names(takes: str | None = "classes") -> list[str]:
    """Names of the methods for a kind of answers (None: for any), plug-ins included.

    A plug-in says what it takes on its card; without a look at it, it counts as one for classes.
    """
    own = [name for name, each in cards().items() if takes in (None, each.takes)]
    return own + [ep.name for ep in _plugins() if takes in (None, "classes") or card(ep.name).takes == takes]


def default_for(kind: str) -> str:
    """The default method of a kind of answers; `default_method` looks at the votes as well."""
    return DEFAULT if kind == "classes" else kinds.get(kind).default


def default_method(votes: Any, gold: Any = None) -> str:
    """The method for these votes and gold answers where none is named: in Python, on the command line, on the server.

    It is that of their kind, or what the kind's hook `default_method` chooses: class labels in an order, or of judges
    that are all models, have others.
    """
    chosen: str = votes.kind.hooks.default_method(votes, gold)
    return chosen


def register(own: Card) -> Card:
    """Make a method known from Python; a package does it by an entry point of the group crowdwise.methods."""
    cards()[own.name] = own
    return own


def card(name: str) -> Card:
    """The card of a method."""
    if name in cards():
        return cards()[name]
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


def _nearest(name: str, among: dict[str, Card] | None = None) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, cards() if among is None else among, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
