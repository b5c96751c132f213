"""The registry of methods: names, classes, requirements and capabilities, collected from kinds/*/cards.py.

The command line, the docs, the common tests and the benchmarks read it. Registering a method makes the common tests
cover it; a test is skipped only where the card lacks the capability. Reading the registry imports nothing heavy.
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
# Kinds with a table of methods. Ordered classes are read as classes, but their methods have a folder of their own.
KINDS = (*kinds.BUILT_IN, "ordered")


@cache
def cards() -> dict[str, Card]:
    """Return the cards of all methods by name."""
    packages = [entry.partition(":")[0].rpartition(".")[0] for entry in kinds.BUILT_IN.values()]
    tables = [import_module(f"{package}.cards") for package in (*packages, "crowdwise.kinds.ordered")]
    result: dict[str, Card] = {name: card for table in tables for name, card in table.METHODS.items()}
    result |= import_module("crowdwise.kinds.classes.cards").GRAPHS
    return result


@cache
def learners() -> dict[str, Card]:
    """Return the cards of the methods that train a model."""
    return dict(import_module("crowdwise.kinds.classes.learn.cards").LEARNERS)


def __getattr__(name: str) -> dict[str, Card]:
    """Provide CARDS, LEARNERS and METHODS (those for classes) as lazily loaded tables."""
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
    """Return the card of a method that trains a classifier."""
    if name not in learners():
        raise ParameterError(
            f"there is no training method {name!r}; `crowdwise methods` lists them" + _nearest(name, learners())
        )
    return learners()[name]


def names(takes: str | None = "classes") -> list[str]:
    """Return the names of the methods for a kind of answers (None: all kinds), including plug-ins.

    The card of a plug-in states its kind; when listing methods for classes, plug-ins are included without loading it.
    """
    built_in = [name for name, card in cards().items() if takes in (None, card.takes)]
    return built_in + [ep.name for ep in _plugins() if takes in (None, "classes") or card(ep.name).takes == takes]


def methods(kind: str | None = None) -> list[str]:
    """Return the names of the methods, those of plug-ins included.

    Args:
        kind: Only the methods for this kind of answer ("classes", "numbers", ...); of all kinds by default.

    Returns:
        Registry names.

    >>> methods("triplets")
    ['crowd_embedding', 'triplet_embedding']
    """
    if kind is not None and kind not in kinds.names():
        raise ParameterError(f"there is no kind of answers {kind!r}; there are {', '.join(kinds.names())}")
    return names(kind)


def default_for(kind: str) -> str:
    """Return the default method of a kind of answers; `default_method` also considers the votes."""
    return DEFAULT if kind == "classes" else kinds.get(kind).default


def default_method(votes: Any, gold: Any = None) -> str:
    """Return the default method for these votes and gold answers, in Python, on the command line and on the server.

    The kind's hook `default_method` chooses it: ordered classes, and votes of LLM judges alone, have their own.

    Args:
        votes: Votes of any kind.
        gold: Known answers of some tasks, if any.

    Returns:
        The registry name of the method.
    """
    chosen: str = votes.kind.hooks.default_method(votes, gold)
    return chosen


def register(card: Card) -> Card:
    """Register a method from Python; packages use an entry point of the group crowdwise.methods."""
    cards()[card.name] = card
    return card


def card(name: str) -> Card:
    """Return the card of a method."""
    if name in cards():
        return cards()[name]
    for plugin in _plugins():
        if plugin.name == name:
            loaded = plugin.load().card
            if isinstance(loaded, Card):
                return loaded
    raise ParameterError(f"there is no method {name!r}; `crowdwise methods` lists them" + _nearest(name))


def get(name: str) -> type[Any]:
    """Return the class of a method."""
    module, _, cls = card(name).where.partition(":")
    class_: type[Any] = getattr(import_module(module), cls)
    return class_


def method(name: str, **params: Any) -> Any:
    """Create a method by its registry name.

    Args:
        name: Registry name, such as "dawid_skene" (see `methods`).
        **params: Hyperparameters of the method.

    Returns:
        The method; its `fit` takes votes.

    >>> method("wawa", seed=7)
    Wawa(seed=7, ties='split')
    """
    cls = get(name)
    accepted = [f.name for f in fields(cls)]
    for param in params:
        if param not in accepted:
            raise ParameterError(f"{name} has no parameter {param!r}; it has {', '.join(accepted)}")
    return cls(**params)


def _plugins() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group="crowdwise.methods"))


def _nearest(name: str, candidates: dict[str, Card] | None = None) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(name, cards() if candidates is None else candidates, n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""
