"""Errors that code written for cleanlab catches: subclasses of both ValueError and CrowdwiseError."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ...core.errors import CrowdwiseError, DataError, ParameterError

F = TypeVar("F", bound=Callable[..., Any])


class LabelsError(DataError, ValueError):
    """A DataError that code written for cleanlab catches as ValueError."""


class ColumnError(LabelsError, KeyError):
    """A column of the long table is missing; a KeyError in cleanlab."""

    __str__ = Exception.__str__  # KeyError would put the sentence in quotes


class ChoiceError(ParameterError, ValueError):
    """An argument with a value that is not among its choices."""


def value_errors(function: F) -> F:
    """Decorate a function so that errors of crowdwise are raised as ValueErrors."""

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except CrowdwiseError as error:
            if isinstance(error, ValueError):
                raise
            kind = ChoiceError if isinstance(error, ParameterError) else LabelsError
            raise kind(str(error)) from error

    return guarded  # type: ignore[return-value]


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of the choices."""
    if value not in choices:
        kind = name.replace("_", " ")
        raise ChoiceError(f"{value!r} is not a valid {kind}; {name} must be one of {', '.join(map(repr, choices))}")
