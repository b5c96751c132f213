"""Sheet: what a kind of answers puts on the page; the frame around it is the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A part of the page: `anchor` is its id, `name` stands in the navigation, `title` above it."""

    anchor: str
    name: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Sheet:
    """`lead` says how much there is, `tables` (file, what it is, table) can be downloaded, what matters most first.

    `rounds` is what the method counts its iterations in; `data` is what the page's script looks up (see report.js);
    `images` are the hosts that pictures may be loaded from.
    """

    lead: str
    sections: list[Section]
    tables: list[tuple[str, str, pl.DataFrame]]
    rounds: str = "iteration"
    data: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[str, ...] = ()
