"""The options of `read` that apply to votes in partitions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..core.errors import ParameterError
from ..core.options import ReadOptions

# Options of reading that need all votes of a file at once.
WHOLE_FILE = ("question", "multiple", "predictions", "unknown_classes", "likely", "offered", "links", "about_tasks",
               "about_workers")  # fmt: skip
# The options that a plan stores.
_STORED = ("columns", "duplicates", "format", "missing", "kind", "order", "classes", "grouped")


@dataclass(frozen=True)
class PartitionOptions(ReadOptions):
    """How to read votes in partitions.

    Args:
        classes: Classes that may be true besides those that the votes name.
        grouped: Whether all rows of a task follow each other.
    """

    classes: tuple[str, ...] = ()
    grouped: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(ReadOptions):
            if field.name in WHOLE_FILE and getattr(self, field.name) != field.default:
                raise ParameterError(f"{field.name} does not go with votes in parts; read them into memory")
        if self.kind not in (None, "classes"):
            raise ParameterError(f"votes in parts are read as classes, not as {self.kind}; read them into memory")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a plan stores them."""
        plain: dict[str, Any] = json.loads(json.dumps({name: getattr(self, name) for name in _STORED}, default=_plain))
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not an option")
