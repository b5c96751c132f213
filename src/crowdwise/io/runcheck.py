"""Validation of saved results: shapes and types before any array is read, values afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.estimate import Arrays, Rules, StoredArrays
from ..core.vocabulary import quote
from .npz import Header

# Arrays of every result, by the rules of core/estimate.py; the estimate and the worker summary add theirs.
COMMON: Rules = {
    "labels_per_task": ("n", "i", "amounts"),
    "labels_per_worker": ("m", "i", "amounts"),
    "gold": ("n", "b", "any"),
    "trace": ("*", "f", "any"),
    "stage": ("*", "i", "any"),
}
EXTRA = "extra."
# Arrays of single methods that are read again; those of other names are not restricted.
EXTRAS = {
    "theta": ("mkk", "f", "amounts"),
    "class_weight": ("k", "f", "amounts"),
    "vote_weight": ("m", "f", "any"),
    "vote_prior": ("k", "f", "any"),
    "ability": ("m", "f", "any"),
    "easiness": ("n", "f", "any"),
    "worker_logits": ("mkk", "f", "any"),
    "task_logits": ("*kk", "f", "any"),
    "group": ("m", "i", "amounts"),
    "within": ("mkk", "f", "amounts"),
    "between": ("*kk", "f", "amounts"),
    "log_theta": ("mk*", "f", "any"),
    "log_weight": ("*", "f", "any"),
    "classifier": ("nk", "f", "shares"),
}
_KINDS = {"f": "fiu", "i": "iu", "b": "b"}
_TYPES = {"f": np.float64, "i": np.int64, "b": np.bool_}
_MAPPINGS = ("params", "versions", "extra")


class ArrayRules:
    """The rules for the arrays of a result."""

    def __init__(self, *parts: type[StoredArrays]) -> None:
        self.arrays: dict[str, tuple[str, str, str]] = dict(COMMON)
        self.needed = ["labels_per_task", "labels_per_worker"]
        for part in parts:
            self.arrays |= part.rules
            self.needed += part.needed
        self.rules = self.arrays | {f"{EXTRA}{name}": rule for name, rule in EXTRAS.items()}

    def check_headers(self, headers: Mapping[str, Header], sizes: Mapping[str, int]) -> Mapping[str, Header]:
        """Return all headers; raise ValueError if an array is missing, unknown, too large or of wrong shape or type."""
        for name in self.needed:
            if name not in headers:
                raise ValueError(f"the array {name} is missing")
        for name, header in headers.items():
            axes, kind, _ = self.rules.get(name, ("", "", ""))
            if not axes and not name.startswith(EXTRA):
                raise ValueError(f"{quote([name])} is not an array of a result")
            if axes and header.dtype.kind not in _KINDS[kind]:
                raise ValueError(f"{name} holds {header.dtype} values")
            expected = tuple(sizes.get(axis, -1) for axis in axes)
            matches = len(header.shape) == len(axes) and all(
                w in (-1, s) for w, s in zip(expected, header.shape, strict=True)
            )
            if axes and not matches:
                shown = tuple("any" if w < 0 else w for w in expected)
                raise ValueError(f"{name} has shape {header.shape}, not {shown}".replace("'", ""))
            if (not axes or "*" in axes) and header.is_bomb:
                raise ValueError(
                    f"{name} would unpack to {header.size:,} bytes, {header.size // header.packed:,} times"
                )
        return headers

    def check_values(self, arrays: Arrays, sizes: Mapping[str, int]) -> None:
        """Raise ValueError if values are outside the range of their array."""
        for name, values in arrays.items():
            what = self.rules.get(name, ("", "", "any"))[2]
            if what == "any" or not values.size:
                continue
            if what == "skills":
                if not ((values >= 0) & (values <= 1) | np.isnan(values)).all():
                    raise ValueError(f"{name} holds numbers outside 0..1")
            elif what == "finite":
                if not np.isfinite(values).all():
                    raise ValueError(f"{name} holds values that are not finite")
            elif not (np.isfinite(values) & (values >= 0)).all():
                raise ValueError(f"{name} holds values that are negative or not finite")
            elif what == "shares" and np.abs(values.sum(axis=-1, dtype=np.float64) - 1).max() > 1e-5:
                raise ValueError(f"{name} has rows that do not sum to one")
        shared = any("k" in shape and what == "shares" for shape, _, what in self.arrays.values())
        if shared and sizes["n"] and not sizes.get("k", 1):  # sets may all be empty
            raise ValueError("there are tasks but no classes")

    def cast(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Cast an array to the type that results use."""
        return values.astype(_TYPES[self.arrays[name][1]], copy=False)


def check_facts(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of result.json; raise ValueError if one has the wrong type."""
    facts = {"method": _is(about, "method", str), "n_iter": _whole(about, "n_iter")}
    facts["converged"] = _is(about, "converged", bool)
    facts |= {name: _is(about, name, dict) for name in _MAPPINGS}
    if not all(isinstance(value, str) for value in facts["versions"].values()):
        raise ValueError("versions are not text")
    if "seed" in facts["params"]:
        _whole(facts["params"], "seed")
    extra = facts["extra"]
    for name in {"temperature", "prior_easiness"} & set(extra):
        if isinstance(extra[name], bool) or not isinstance(extra[name], int | float) or not 0 < extra[name] < 1e300:
            raise ValueError(f"{name} is {quote([extra[name]])}, not a number above 0")
    if "best_epoch" in extra:
        _whole(extra, "best_epoch")
    return facts


def _is(about: Mapping[str, Any], name: str, kind: type) -> Any:
    value = about.get(name)
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {quote([value])} in result.json")
    return value


def _whole(about: Mapping[str, Any], name: str) -> int:
    value = about.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"{name} is {quote([value])} in result.json, not a whole number from 0 up")
    return value
