"""The registry of methods: names, classes, requirements and capabilities, collected from kinds/*/cards.py.

The command line, the docs, the common tests and the benchmarks read it. Registering a method makes the common tests
cover it; a test is skipped only where the card lacks the capability. Reading the registry imports nothing heavy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from . import registry as kinds
from .card import Card
from .errors import CrowdwiseWarning, ParameterError

Registered = TypeVar("Registered", bound="Card | type")
# Classes that were registered themselves, by name; those of cards are imported on first use.
_CLASSES: dict[str, type[Any]] = {}

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

    A plug-in that cannot be loaded is left out with a warning.
    """
    result = [name for name, card in cards().items() if takes in (None, card.takes)]
    for plugin in _plugins():
        if plugin.name in cards():
            continue
        try:
            card = _plugin_card(plugin)
        except ParameterError as error:
            warnings.warn(str(error), CrowdwiseWarning, stacklevel=2)
            continue
        result += [plugin.name] if takes in (None, card.takes) else []
    return result


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


def register(method: Registered) -> Registered:
    """Register a method from Python; packages use an entry point of the group crowdwise.methods.

    Args:
        method: A class derived from the base class of its kind (`cw.classes.Aggregator`, `cw.numbers.NumberAggregator`,
            ...), or a `Card` that names one. Also works as a decorator of the class.

    Returns:
        The argument.

    Raises:
        ParameterError: It is neither, it is incomplete, or a method of crowdwise has its name.
    """
    from .method_classes import card_of, check_card

    new: Card = method if isinstance(method, Card) else card_of(method)
    check_card(new)
    present = cards().get(new.name)
    if present is not None and present.where.startswith("crowdwise.") and present.where != new.where:
        raise ParameterError(f"crowdwise has a method {new.name!r} already ({present.summary}); choose another name")
    if isinstance(method, Card):
        _CLASSES.pop(new.name, None)
    else:
        _CLASSES[new.name] = method
    cards()[new.name] = new
    return method


def load(spec: str) -> str:
    """Register the class that "module:Class" names, and return the name of the method.

    Args:
        spec: Module and class, such as "my_methods:TrimmedVote". Modules in the current folder are found too.
    """
    from .method_classes import import_class

    cls = import_class(spec)
    name: str = cls.name
    if name not in cards() and any(plugin.name == name for plugin in _plugins()) and get(name) is cls:
        return name
    register(cls)
    return name


def card(name: str) -> Card:
    """Return the card of a method."""
    if name in cards():
        return cards()[name]
    for plugin in _plugins():
        if plugin.name == name:
            return _plugin_card(plugin)
    raise ParameterError(f"there is no method {name!r}; `crowdwise methods` lists them" + _nearest(name))


def is_registered(name: str) -> bool:
    """Whether there is a method of this name."""
    return name in cards() or any(plugin.name == name for plugin in _plugins())


def card_for(method: Any) -> Card:
    """Return the card of a method object, whose class need not be registered."""
    from .method_classes import card_of

    return card(method.name) if is_registered(method.name) else card_of(type(method))


def get(name: str) -> type[Any]:
    """Return the class of a method."""
    where = card(name).where
    if name in _CLASSES:
        return _CLASSES[name]
    module, _, attribute = where.partition(":")
    try:
        class_: type[Any] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        if module.startswith("crowdwise."):
            raise
        raise ParameterError(f"the method {name} is registered as {where}, which cannot be imported: {error}") from None
    return class_


def local_classes(names: Iterable[str]) -> dict[str, type[Any]]:
    """Return the classes among these methods that another process has to be given, by name."""
    return {name: _CLASSES[name] for name in names if name in _CLASSES}


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


def _plugin_card(plugin: Any) -> Card:
    """Return the card of an entry point, which names a class, a card, or something with an attribute `card`."""
    from .method_classes import card_of

    package = plugin.dist.name if plugin.dist is not None else plugin.value
    try:
        loaded = plugin.load()
    except Exception as error:  # the code of another package
        message = " ".join(str(error).split())[:200]
        raise ParameterError(
            f"the method {plugin.name} of the package {package} cannot be loaded: {type(error).__name__}: {message}"
        ) from error
    stated = loaded if isinstance(loaded, Card) else getattr(loaded, "card", None)
    try:
        card = stated if isinstance(stated, Card) else card_of(loaded)
    except ParameterError as error:
        raise ParameterError(f"the entry point {plugin.name} = {plugin.value} of {package}: {error}") from None
    if card.name != plugin.name:
        raise ParameterError(
            f"the entry point {plugin.name} = {plugin.value} of {package} names the method {card.name}; give both the "
            "same name"
        )
    return card


def _nearest(name: str, candidates: dict[str, Card] | None = None) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(name, cards() if candidates is None else candidates, n=1)
    return f" (did you mean {matches[0]}?)" if matches else ""
