"""Parameters declared once: the annotation holds type and range; checks, the command line and the docs read it here.

    max_iter: Annotated[int, AtLeast(1)] = 500          (which has a name, Count)
    ties: Literal["split", "first"] = "split"
    strength_task: Positive | None = 10.0

`of(target)` reads the parameters of a dataclass or a function into records, once each; nothing is read at import.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from inspect import Parameter, signature
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import ParameterError

# ----------------------------------------------------------------
# Rules for `typing.Annotated`: what a parameter's value must keep to beyond its type. Each can say so in words.
# Plain classes and no dataclasses: these are made at every start, and a dataclass takes half a millisecond to make.


class Rule:
    """`words` follows the name of the type: a whole number of "at least 1"."""

    words: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.words!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.words))

    def holds(self, value: Any) -> bool:
        """Whether the value, which is of the right type, is allowed."""
        raise NotImplementedError


class AtLeast(Rule):
    """value >= low.

    >>> AtLeast(1).words, AtLeast(1).holds(0)
    ('at least 1', False)
    """

    def __init__(self, low: float) -> None:
        self.low, self.words = low, f"at least {low:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value >= self.low)


class Above(Rule):
    """value > low."""

    def __init__(self, low: float) -> None:
        self.low, self.words = low, f"above {low:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value > self.low)


class AtMost(Rule):
    """value <= high."""

    def __init__(self, high: float) -> None:
        self.high, self.words = high, f"at most {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value <= self.high)


class Below(Rule):
    """value < high."""

    def __init__(self, high: float) -> None:
        self.high, self.words = high, f"below {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(value < self.high)


class Between(Rule):
    """low <= value <= high."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.words = low, high, f"between {low:g} and {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether it is."""
        return bool(self.low <= value <= self.high)


class Proportions(Rule):
    """A list of positive numbers that sum to one, `within` what is lost in writing them down."""

    words = "of positive numbers that sum to 1"

    def __init__(self, within: float = 1e-6) -> None:
        self.within = within

    def holds(self, value: Any) -> bool:
        """Whether they do."""
        given = [float(each) for each in value]
        return all(each > 0 for each in given) and abs(sum(given) - 1) <= self.within


class Ends(Rule):
    """A pair (low, high) in this order."""

    words = "from low to high"

    def holds(self, value: Any) -> bool:
        """Whether they are in order."""
        low, high = value
        return bool(low <= high)


class Note:
    """No rule but words, with an article, for what a type says too little of: "the name of a method"."""

    def __init__(self, text: str) -> None:
        self.text = text


Count = Annotated[int, AtLeast(1)]
Whole = Annotated[int, AtLeast(0)]
Positive = Annotated[float, Above(0)]
NonNegative = Annotated[float, AtLeast(0)]
Share = Annotated[float, Between(0, 1)]
PositiveShare = Annotated[float, Above(0), AtMost(1)]
MethodName = Annotated[str, Note("the name of a method")]
MethodNames = Annotated[tuple[str, ...], Note("a list of names of methods")]

REQUIRED = Parameter.empty
PLAIN = (int, float, str, tuple, NoneType)
LARGEST = sys.float_info.max
WHOLE_END = 2**63  # what an array of whole numbers holds


@dataclass(frozen=True)
class Kind:
    """One sort of value: a plain type with its rules, one of some words (`choices`), or a list of an `item`."""

    base: type
    rules: tuple[Rule, ...] = ()
    choices: tuple[Any, ...] = ()
    item: Kind | None = None
    length: int | None = None
    note: str = ""  # what it is, in words, where the type says too little

    def fits(self, value: Any) -> bool:
        """Whether a value is of this kind and keeps its rules."""
        if not self.is_type(value):
            return False
        for rule in self.rules:  # noqa: SIM110  (a committee makes several methods a fit: no generators here)
            if not rule.holds(value):
                return False
        return True

    def is_type(self, value: Any) -> bool:
        """Whether a value is of this kind, the rules aside."""
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if self.base in (int, float):
            plain = value.item() if isinstance(value, np.generic) else value
            if isinstance(plain, bool) or not isinstance(plain, (int, self.base)):
                return False
            return bool(-LARGEST <= plain <= LARGEST if self.base is float else -WHOLE_END <= plain < WHOLE_END)
        if self.base is bool:
            return isinstance(value, bool | np.bool_)
        if self.base is not tuple:
            return isinstance(value, self.base)
        if not is_list(value) or (self.length is not None and len(items(value)) != self.length):
            return False
        # Lists of lists are the method's own to look into: they may be large.
        return self.item is None or self.item.base is tuple or all(self.item.fits(each) for each in items(value))


@dataclass(frozen=True)
class Param:
    """A parameter: a value of one of its `kinds`, or None where it is `optional`."""

    name: str
    kinds: tuple[Kind, ...]
    default: Any = REQUIRED
    optional: bool = False

    def check(self, value: Any) -> None:
        """Raise one line that says what is wanted, unless the value is allowed."""
        if value is None and self.optional:
            return
        for kind in self.kinds:
            if kind.fits(value):
                return
        from .paramtext import wanted

        shown = " ".join(repr(value).split())
        shown = shown if len(shown) <= 200 else shown[:200] + "…"
        raise ParameterError(f"{self.name} must be {wanted(self, value)}, got {shown}")


def of(target: Any) -> Mapping[str, Param]:
    """The parameters of a dataclass, of a class's constructor or of a function, by name.

    >>> @dataclass
    ... class Method:
    ...     max_iter: Count = 500
    >>> of(Method)["max_iter"].default
    500
    """
    return _of(target)


def check(instance: Any) -> None:
    """Check every field of a dataclass's instance; a list is kept as a tuple, as a frozen value must be."""
    for name, param in of(type(instance)).items():
        value = getattr(instance, name)
        if not isinstance(value, PLAIN) and is_list(value) and any(kind.base is tuple for kind in param.kinds):
            value = tuple(items(value))
            object.__setattr__(instance, name, value)
        param.check(value)


def check_given(target: Any, given: Mapping[str, Any]) -> None:
    """Check arguments of a function or of a class's constructor, by name; names that it has not are passed over."""
    known = of(target)
    for name, value in given.items():
        if name in known:
            known[name].check(value)


def read(name: str, hint: Any, default: Any = REQUIRED) -> Param:
    """The record that an annotation stands for."""
    kinds, optional = [], False
    for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if part is NoneType:
            optional = True
        elif get_origin(part) is Annotated and get_origin(get_args(part)[0]) in (Union, UnionType):
            inner = read(name, get_args(part)[0])
            kinds += [_ruled(kind, get_args(part)[1:]) for kind in inner.kinds]
            optional = optional or inner.optional
        else:
            kinds.append(_kind(part))
    return Param(name, tuple(kinds), default, optional)


def is_list(value: Any) -> bool:
    """Whether a value can stand for a list: arrays can, texts and tables cannot."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def items(value: Any) -> list[Any]:
    """The members of a list, a tuple or an array, as plain values."""
    found: list[Any] = value.tolist() if hasattr(value, "tolist") else list(value)
    return found


def _kind(hint: Any) -> Kind:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _ruled(_kind(args[0]), args[1:])
    if origin is Literal:
        return Kind(str, choices=args)
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Iterable) and len(args) == 1):
        fixed = origin is tuple and Ellipsis not in args
        return Kind(tuple, item=_kind(args[0]), length=len(args) if fixed else None)
    base = hint if origin is None else origin
    known = isinstance(base, type) and base is not Any and not getattr(base, "_is_protocol", False)
    return Kind(base if known else object)


def _ruled(kind: Kind, markers: Iterable[Any]) -> Kind:
    for marker in markers:
        if isinstance(marker, Note):
            kind = replace(kind, note=marker.text)
        elif isinstance(marker, Rule):
            kind = replace(kind, rules=(*kind.rules, marker))
    return kind


@cache
def _of(target: Any) -> Mapping[str, Param]:
    made = isinstance(target, type) and not is_dataclass(target)
    function = target.__init__ if made else target
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:  # a plug-in's names that only a type checker sees: its values are its own to check
        hints = {}
    if is_dataclass(target):
        defaults = {f.name: _default(f) for f in fields(target) if f.init}
    else:
        told = [p for p in signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        defaults = {p.name: p.default for p in told[1 if made else 0 :]}
    return MappingProxyType({name: read(name, hints.get(name, Any), default) for name, default in defaults.items()})


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return REQUIRED if field.default_factory is MISSING else field.default_factory()
