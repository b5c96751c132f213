"""Sheet: the kind-specific content of the report page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A section of the page: `anchor` is its id, `name` is shown in the navigation, `title` is its heading."""

    anchor: str
    name: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Sheet:
    """The content of the page.

    Attributes:
        lead: Summary of the size of the data.
        sections: Sections of the page.
        tables: Downloads as (file, description, table), most important first.
        rounds: What the method counts its iterations in.
        data: Data for the page's script (see report.js).
        images: Hosts that pictures may be loaded from.
    """

    lead: str
    sections: list[Section]
    tables: list[tuple[str, str, pl.DataFrame]]
    rounds: str = "iteration"
    data: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[str, ...] = ()

    def insert(self, place: int, *sections: Section) -> Sheet:
        """Return the sheet with these sections before section `place`, which may be negative."""
        return replace(self, sections=[*self.sections[:place], *sections, *self.sections[place:]])

    def append(self, *sections: Section) -> Sheet:
        """Return the sheet with these sections at the end."""
        return replace(self, sections=[*self.sections, *sections])
