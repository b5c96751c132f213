"""Parameters as text: descriptions of the allowed values, and parsing of typed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .errors import ParameterError

if TYPE_CHECKING:
    from .params import Param, ValueType

NAMES: dict[type, str] = {
    int: "whole number", float: "number", str: "text", Mapping: "table of values", object: "anything",
}  # fmt: skip
UNPARSED = object()


def describe(param: Param) -> str:
    """Describe the allowed values, for a table.

    >>> from .params import Count, read
    >>> describe(read("rank", Count | None))
    'whole number, at least 1, or none'
    """
    alternatives = [
        *dict.fromkeys(text for kind in param.kinds for text in _described(kind)),
        *["none"] * param.optional,
    ]
    return _either(alternatives, comma=any("," in text for text in alternatives))


def shown(value: Any) -> str:
    """Format a value as it is typed after `-p name=`."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(str, value))})"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def expected(param: Param, value: Any) -> str:
    """Describe the allowed values, in the error about a value that is not allowed."""
    alternatives = [*dict.fromkeys(text for kind in param.kinds for text in _expected(kind, value))]
    out_of_range = any(kind.is_type(value) for kind in param.kinds)
    none = param.optional and not out_of_range
    return _either(alternatives + ["None"] * none, comma=none)


def parse(param: Param, text: str) -> Any:
    """Parse a typed value.

    >>> from .params import Share, read
    >>> parse(read("level", Share), "0.5")
    0.5
    """
    if param.optional and text.lower() == "none":
        return None
    values = [value for kind in param.kinds if (value := _read(kind, text)) is not UNPARSED]
    if not values and all(kind.base is Mapping for kind in param.kinds):
        raise ParameterError(f"{param.name} is a table of values, which only Python can give")
    for value in values:
        if any(kind.accepts(value) for kind in param.kinds):
            return value
    param.check(values[0] if values else text)
    return text


def _read(kind: ValueType, text: str) -> Any:
    """Parse text as a value of this type, regardless of its rules."""
    if kind.base is tuple:
        return _read_list(kind, text)
    if kind.base is bool:
        return {"true": True, "false": False}.get(text.lower(), UNPARSED)
    if kind.base in (int, float):
        try:
            return kind.base(text)
        except ValueError:
            return UNPARSED
    return UNPARSED if kind.base is Mapping else text


def _read_list(kind: ValueType, text: str) -> Any:
    """Parse (a, b), [a, b] or a,b as a tuple."""
    inner = text.strip()
    if inner[:1] in "([" and inner[-1:] == {"(": ")", "[": "]"}.get(inner[:1]):
        inner = inner[1:-1]
    parts = [part.strip().strip("'\"") for part in inner.split(",") if part.strip()]
    if not parts or kind.item is None or any(mark in part for part in parts for mark in "()[]"):
        return UNPARSED
    members = tuple(_read(kind.item, part) for part in parts)
    return UNPARSED if UNPARSED in members else members


def _described(kind: ValueType) -> list[str]:
    if kind.note:
        return [kind.note.removeprefix("the ").removeprefix("a ").removeprefix("an ")]
    if kind.choices:
        return [str(choice) for choice in kind.choices]
    if kind.base is bool:
        return ["true", "false"]
    rules = _rules(kind)
    if kind.base is tuple:
        of = {int: "of whole numbers", float: "of numbers", str: "of texts"}
        return [f"list {rules or of.get(_item(kind), '')}".strip()]
    name = NAMES.get(kind.base, kind.base.__name__)
    return [f"{name}, {rules}" if rules else name]


def _expected(kind: ValueType, value: Any) -> list[str]:
    rules = _rules(kind)
    if kind.note:
        return [kind.note]
    if kind.choices:
        return [repr(choice) for choice in kind.choices]
    if kind.base is bool:
        return ["true", "false"]
    if kind.base is tuple:
        example = "(0.5,0.5)" if _item(kind) in (int, float) else "(a,b)"
        return [f"a list such as {example} {rules}".rstrip()]
    if kind.base is int:
        if isinstance(value, int) and not replace(kind, rules=()).is_type(value):
            rules = "of at most 63 bits"
        return [f"a whole number{' of' * rules.startswith('at ')} {rules}".rstrip()]
    if kind.base is float:
        if rules and replace(kind, rules=()).is_type(value):
            return [rules]
        return [("a finite number" if isinstance(value, float) else "a number") + f", {rules}" * bool(rules)]
    name = NAMES.get(kind.base, kind.base.__name__)
    return [name if kind.base is str else f"a {name}"]


def _rules(kind: ValueType) -> str:
    return " and ".join(rule.words for rule in kind.rules)


def _item(kind: ValueType) -> type:
    return object if kind.item is None else kind.item.base


def _either(words: Sequence[str], comma: bool = False) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])}{',' * comma} or {words[-1]}"
