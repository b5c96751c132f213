"""Methods from outside: the card of a class, and the checks before a class or a card is registered."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from inspect import cleandoc, get_annotations, isabstract
from typing import Any

from . import registry as kinds
from .card import CAPABILITIES, NEEDS, Card
from .errors import ParameterError


def card_of(cls: Any) -> Card:
    """Return the card of a class, from its attributes and the first line of its docstring."""
    check_class(cls)
    own_doc = cls.__dict__.get("__doc__") or ""
    generated = own_doc.startswith(f"{cls.__name__}(")  # dataclass writes the signature where there is no docstring
    summary = "" if generated else cleandoc(own_doc).partition("\n")[0].rstrip(".")
    return Card(
        cls.name,
        f"{cls.__module__}:{cls.__qualname__}",
        "external",
        summary or "no description",
        "–",
        frozenset(cls.needs.split()),
        frozenset(cls.can.split()),
        cls.takes,
    )


def check_class(cls: Any) -> None:
    """Refuse what is not a complete method class with a name of its own."""
    from .method import Method

    what = _shown(cls)
    if not isinstance(cls, type) or not issubclass(cls, Method):
        raise ParameterError(
            f"a method is a class derived from the base class of its kind, such as cw.classes.Aggregator, not {what}"
        )
    if isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise ParameterError(f"{what} does not implement {missing}; write it, or name a class that does")
    if cls.fit_votes is Method.fit_votes and cls.fit_with is Method.fit_with and cls.fit is Method.fit:
        raise ParameterError(f"{what} implements neither fit nor fit_votes; derive it from the base class of its kind")
    name = cls.__dict__.get("name")
    if not isinstance(name, str):
        raise ParameterError(f'{what} has no name of its own; add a line such as name = "my_method" to its body')
    parameters = [n for n, hint in get_annotations(cls).items() if "ClassVar" not in str(hint)]
    if parameters and "__dataclass_params__" not in cls.__dict__:
        raise ParameterError(f"{what} has parameters but is no dataclass; add @dataclass(frozen=True, kw_only=True)")


def check_card(card: Card) -> None:
    """Refuse a card with an invalid name, place, kind of answers, requirement or capability."""
    name = card.name
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(f"the name of a method is written like a variable (my_method), got {name!r}")
    module, _, attribute = card.where.partition(":") if isinstance(card.where, str) else ("", "", "")
    if not module or not attribute:
        raise ParameterError(f"the card of {name} needs where='module:Class', got {card.where!r}")
    if card.takes not in kinds.names():
        raise ParameterError(
            f"{name} takes {card.takes!r}, which is no kind of answers; there are {', '.join(kinds.names())}"
        )
    for field, words, allowed in (("needs", card.needs, NEEDS), ("can", card.can, CAPABILITIES)):
        unknown = [str(words)] if isinstance(words, str) else sorted(set(words) - set(allowed))
        if unknown:
            raise ParameterError(f"{name}: {field} has {', '.join(unknown)!r}; it is a set of {', '.join(allowed)}")


def import_class(spec: str) -> Any:
    """Return the class that "module:Class" names; modules in the current folder are found too."""
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise ParameterError(f"a method from your own module is written module:Class, got {spec!r}")
    module = _imported(module_name, spec)
    cls = module
    for part in attribute.split("."):
        cls = getattr(cls, part, None)
    if cls is None:
        classes = ", ".join(name for name, value in vars(module).items() if _is_defined_in(value, module_name))
        raise ParameterError(
            f"the module {module_name} has no {attribute}" + (f"; it defines {classes}" * bool(classes))
        )
    check_class(cls)
    return cls


def _imported(name: str, spec: str) -> Any:
    """Import a module, also from the current folder, which a console script does not search."""
    folder = os.getcwd()
    added = folder not in sys.path and "" not in sys.path
    if added:
        sys.path.append(folder)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise ParameterError(f"{spec}: importing {name} failed: there is no module {error.name!r}") from None
        hint = f"; write {name[:-3]}:" + spec.partition(":")[2] if name.endswith(".py") else ""
        raise ParameterError(
            f"{spec}: there is no module {name!r} in this folder or among the installed packages{hint}"
        ) from None
    except Exception as error:  # the module's own code
        message = " ".join(str(error).split())[:200]
        raise ParameterError(f"{spec}: importing {name} failed: {type(error).__name__}: {message}") from error


def is_importable(cls: type) -> bool:
    """Whether another process finds this class under its module and name."""
    if cls.__module__ == "__main__":
        return False
    module = sys.modules.get(cls.__module__)
    return getattr(module, cls.__qualname__, None) is cls


def _is_defined_in(value: Any, module: str) -> bool:
    return isinstance(value, type) and value.__module__ == module


def _shown(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else f"{value!r:.60}"
