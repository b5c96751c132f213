"""A fit of numbers as named arrays, for a run folder, and back: what a stranger may have changed is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...maths.numbers.fit import Fit
from ...maths.numbers.linear import Linear

# Arrays of a fit that are not in the result's own tables; those by worker have a row each.
_BY_WORKER = ("bias", "spread", "slope", "weight")
_LEFT_OUT = ("mean", "variance", "trace")


def pack(fits: Sequence[Fit]) -> dict[str, Any]:
    """fit.<part>.<name> -> array or number."""
    out: dict[str, Any] = {}
    for j, fit in enumerate(fits):
        _pack(fit, f"fit.{j}", out)
    return out


def _pack(fit: Fit, at: str, out: dict[str, Any]) -> None:
    out[f"{at}.method"] = fit.method
    for name in _BY_WORKER:
        out[f"{at}.{name}"] = np.asarray(getattr(fit, name))
    for name, value in fit.extra.items():
        if name == "members":
            for member, own in value.items():
                _pack(own, f"{at}.members.{member}", out)
        elif isinstance(value, Linear):
            for part in fields(Linear):
                out[f"{at}.linear.{part.name}"] = _plain(getattr(value, part.name))
        elif name != "stage":
            out[f"{at}.{name}"] = _plain(value)


def unpack(extra: Mapping[str, Any], n_parts: int, n_workers: int) -> list[Fit]:
    """The fits again; raises DataError where something is missing or no longer what it was."""
    try:
        return [_unpack(extra, f"fit.{j}", n_workers) for j in range(n_parts)]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"what the method has learnt is damaged or was not saved ({error})") from error


def _unpack(extra: Mapping[str, Any], at: str, n_workers: int) -> Fit:
    here = {name.removeprefix(f"{at}."): value for name, value in extra.items() if name.startswith(f"{at}.")}
    own = {name: _checked(value, name) for name, value in here.items() if not name.startswith("members.")}
    table = {name: own.pop(name) for name in _BY_WORKER}
    for name, values in table.items():
        if values.shape != (n_workers,):
            raise ValueError(f"{name} has shape {values.shape}")
    method = str(own.pop("method"))
    linear = {name.removeprefix("linear."): own.pop(name) for name in [*own] if name.startswith("linear.")}
    if linear:
        if any(linear[name].shape != (n_workers,) for name in ("a", "b", "c", "doubt")):
            raise ValueError("its tables have other workers")
        linear["empty"] = tuple(np.asarray(linear["empty"], dtype=np.float64).tolist())
        own["linear"] = Linear(**linear)
    members = list(dict.fromkeys(name.split(".")[1] for name in here if name.startswith("members.")))
    if members:
        own["members"] = {name: _unpack(extra, f"{at}.members.{name}", n_workers) for name in members}
    nothing = np.empty(0)
    return Fit(method, nothing, nothing, extra=own, **table)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, tuple | list):
        return np.asarray(value, dtype=np.float64)
    return value.item() if isinstance(value, np.generic) else value


def _checked(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fiub":
            raise ValueError(f"{name} holds {value.dtype} values")
        array: npt.NDArray[Any] = value
        return array
    if not isinstance(value, int | float | str | bool):
        raise ValueError(f"{name} is no number")
    return value
