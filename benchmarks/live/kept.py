"""Figures of long runs are kept in build/ until their section of docs/benchmarks/live.md is written."""

from __future__ import annotations

import json

from .. import DOCS, ROOT
from ..markdown import figures, table, write_section

PAGE = DOCS / "live.md"
HEAD = "# The live server, measured\n\nEvery figure was printed by the command above it.\n"


def keep(what, name, value):
    """Add a figure; all of this kind that there are."""
    path = ROOT / "build" / f"live-{what}.json"
    path.parent.mkdir(exist_ok=True)
    found = json.loads(path.read_text()) if path.is_file() else {}
    found[name] = value
    path.write_text(json.dumps(found, indent=1))
    return found


def section(name, title, command, header, rows, after="", *, numbers=True):
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    body = (figures if numbers else table)(header, rows)
    write_section(PAGE, name, title, command, body + ("\n\n" + after if after else ""))
