"""The registry of methods; the public name of core/method_registry.py."""

from typing import TYPE_CHECKING, Any

from .core import method_registry as _home
from .core.card import Card
from .core.method_registry import (
    DEFAULT,
    card,
    default_for,
    default_method,
    get,
    learner,
    load,
    method,
    names,
    register,
)

if TYPE_CHECKING:
    CARDS: dict[str, Card]
    LEARNERS: dict[str, Card]
    METHODS: dict[str, Card]

__all__ = [
    "CARDS", "DEFAULT", "LEARNERS", "METHODS", "Card", "card", "default_for", "default_method", "get", "learner",
    "load", "method", "names", "register",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "CARDS", "LEARNERS", "METHODS"})
