"""Parameters declared once: the annotation holds type and range for checks, the command line and the docs.

    max_iter: Annotated[int, AtLeast(1)] = 500          (which has a name, Count)
    ties: Literal["split", "first"] = "split"
    strength_task: Positive | None = 10.0

`of(target)` reads the parameters of a dataclass or a function into records, cached; nothing is read at import.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from inspect import Parameter, signature
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import ParameterError

# ----------------------------------------------------------------
# Rules for `typing.Annotated`: constraints on a value beyond its type, with their wording for messages.
# Plain classes, not dataclasses: they are created at every start, and a dataclass takes half a millisecond to create.


class Rule:
    """A constraint; `words` follows the name of the type, as in: a whole number of at least 1."""

    words: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.words!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.words))

    def holds(self, value: Any) -> bool:
        """Whether a value of the right type satisfies the rule."""
        raise NotImplementedError


class Compared(Rule):
    """A comparison of the value with a bound."""

    phrase: ClassVar[str]
    compare: ClassVar[Callable[[Any, Any], Any]]

    def __init__(self, bound: float) -> None:
        self.bound, self.words = bound, f"{self.phrase} {bound:g}"

    def holds(self, value: Any) -> bool:
        """Whether the comparison is true."""
        return bool(type(self).compare(value, self.bound))


class AtLeast(Compared):
    """value >= bound.

    >>> AtLeast(1).words, AtLeast(1).holds(0)
    ('at least 1', False)
    """

    phrase, compare = "at least", operator.ge


class Above(Compared):
    """value > bound."""

    phrase, compare = "above", operator.gt


class AtMost(Compared):
    """value <= bound."""

    phrase, compare = "at most", operator.le


class Below(Compared):
    """value < bound."""

    phrase, compare = "below", operator.lt


class Between(Rule):
    """low <= value <= high."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.words = low, high, f"between {low:g} and {high:g}"

    def holds(self, value: Any) -> bool:
        """Whether the value is in the interval."""
        return bool(self.low <= value <= self.high)


class Proportions(Rule):
    """A list of positive numbers that sum to one, up to the tolerance `within`."""

    words = "of positive numbers that sum to 1"

    def __init__(self, within: float = 1e-6) -> None:
        self.within = within

    def holds(self, value: Any) -> bool:
        """Whether the numbers are positive and sum to one."""
        numbers = [float(number) for number in value]
        return all(number > 0 for number in numbers) and abs(sum(numbers) - 1) <= self.within


class Ends(Rule):
    """A pair (low, high) in this order."""

    words = "from low to high"

    def holds(self, value: Any) -> bool:
        """Whether the pair is in order."""
        low, high = value
        return bool(low <= high)


class Note:
    """No rule, but a description with an article where the type alone says too little: "the name of a method"."""

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
class ValueType:
    """A type of values: a plain type with its rules, one of several strings (`choices`), or a list of `item`."""

    base: type
    rules: tuple[Rule, ...] = ()
    choices: tuple[Any, ...] = ()
    item: ValueType | None = None
    length: int | None = None
    note: str = ""  # description where the type says too little

    def accepts(self, value: Any) -> bool:
        """Whether a value has this type and satisfies the rules."""
        if not self.is_type(value):
            return False
        for rule in self.rules:  # noqa: SIM110  (generators are slow here, and a committee creates many methods)
            if not rule.holds(value):
                return False
        return True

    def is_type(self, value: Any) -> bool:
        """Whether a value has this type, regardless of the rules."""
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
        # Lists of lists are left to the method to check: they may be large.
        return self.item is None or self.item.base is tuple or all(self.item.accepts(member) for member in items(value))


@dataclass(frozen=True)
class Param:
    """A parameter: a value of one of the types in `kinds`, or None if it is `optional`."""

    name: str
    kinds: tuple[ValueType, ...]
    default: Any = REQUIRED
    optional: bool = False

    def check(self, value: Any) -> None:
        """Raise a one-line error that states the allowed values, unless the value is one of them."""
        if value is None and self.optional:
            return
        for kind in self.kinds:
            if kind.accepts(value):
                return
        from .paramtext import expected

        shown = " ".join(repr(value).split())
        shown = shown if len(shown) <= 200 else shown[:200] + "…"
        raise ParameterError(f"{self.name} must be {expected(self, value)}, got {shown}")


def of(target: Any) -> Mapping[str, Param]:
    """Return the parameters of a dataclass, of a class's constructor or of a function, by name.

    >>> @dataclass
    ... class Method:
    ...     max_iter: Count = 500
    >>> of(Method)["max_iter"].default
    500
    """
    return _of(target)


def check(instance: Any) -> None:
    """Check every field of a dataclass instance; lists are stored as tuples, so that the value stays immutable."""
    for name, param in of(type(instance)).items():
        value = getattr(instance, name)
        if not isinstance(value, PLAIN) and is_list(value) and any(kind.base is tuple for kind in param.kinds):
            value = tuple(items(value))
            object.__setattr__(instance, name, value)
        param.check(value)


def check_given(target: Any, arguments: Mapping[str, Any]) -> None:
    """Check arguments of a function or a constructor by name; unknown names are ignored."""
    params = of(target)
    for name, value in arguments.items():
        if name in params:
            params[name].check(value)


def read(name: str, hint: Any, default: Any = REQUIRED) -> Param:
    """Return the record of an annotation."""
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
    """Whether a value counts as a list: arrays do, strings and mappings do not."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def items(value: Any) -> list[Any]:
    """Return the members of a list, a tuple or an array as plain values."""
    members: list[Any] = value.tolist() if hasattr(value, "tolist") else list(value)
    return members


def _kind(hint: Any) -> ValueType:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _ruled(_kind(args[0]), args[1:])
    if origin is Literal:
        return ValueType(str, choices=args)
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Iterable) and len(args) == 1):
        fixed = origin is tuple and Ellipsis not in args
        return ValueType(tuple, item=_kind(args[0]), length=len(args) if fixed else None)
    base = hint if origin is None else origin
    is_class = isinstance(base, type) and base is not Any and not getattr(base, "_is_protocol", False)
    return ValueType(base if is_class else object)


def _ruled(kind: ValueType, markers: Iterable[Any]) -> ValueType:
    for marker in markers:
        if isinstance(marker, Note):
            kind = replace(kind, note=marker.text)
        elif isinstance(marker, Rule):
            kind = replace(kind, rules=(*kind.rules, marker))
    return kind


@cache
def _of(target: Any) -> Mapping[str, Param]:
    is_constructor = isinstance(target, type) and not is_dataclass(target)
    function = target.__init__ if is_constructor else target
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:  # a plug-in's names that only a type checker sees: its values are not checked
        hints = {}
    if is_dataclass(target):
        defaults = {f.name: _default(f) for f in fields(target) if f.init}
    else:
        parameters = [
            p for p in signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        defaults = {p.name: p.default for p in parameters[1 if is_constructor else 0 :]}
    return MappingProxyType({name: read(name, hints.get(name, Any), default) for name, default in defaults.items()})


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return REQUIRED if field.default_factory is MISSING else field.default_factory()
