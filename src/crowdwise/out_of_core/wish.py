"""How votes in many files are to be read: what `read` takes for one file, as far as it goes in parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.errors import ParameterError
from ..core.intake.repeats import Duplicates


@dataclass(frozen=True)
class Wish:
    """`classes` may be true beside those that the votes name; `grouped`: all rows of a task follow each other."""

    columns: Mapping[str, str] = field(default_factory=dict)
    duplicates: Duplicates = "error"
    format: str | None = None
    missing: tuple[str, ...] = ()
    kind: str | None = None
    order: tuple[str, ...] | None = None
    classes: tuple[str, ...] = ()
    grouped: bool = False

    def __post_init__(self) -> None:
        if self.duplicates not in ("error", "first", "last", "keep"):
            raise ParameterError(f"duplicates must be error, first, last or keep, got {self.duplicates!r}")
        if self.kind not in (None, "classes"):
            raise ParameterError(f"votes in parts are read as classes, not as {self.kind}; read them into memory")

    def told(self) -> dict[str, Any]:
        """Plain values, as a plan writes them down."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self), default=_listed))
        return found


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no option")
