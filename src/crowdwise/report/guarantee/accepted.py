"""Accepted: the promise in one sentence, the ladder behind it, what voids it, and who waits for a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...guarantee.certificate import Certificate, Part
from ...io.tables import open_table
from .. import svg
from ..page import fragment
from ..sheet import Section
from ..text import shown

RUNGS, QUEUE, PARTS = 12, 20, 12


def accepted_section(folder: Path) -> Section:
    """From certificate.json and ask.csv."""
    certificate = Certificate.load(folder / "certificate.json")
    queue: list[dict[str, Any]] = []
    n_queue = 0
    if (folder / "ask.csv").is_file():
        table = open_table(folder / "ask.csv")
        frame = table.read(table.header)
        n_queue = len(frame)
        queue = [row | {"sure": _short(row.get("confidence"))} for row in frame.head(QUEUE).to_dicts()]
    body = fragment(
        "guarantee/accepted.html.j2", certificate=certificate, parts=[_part(p) for p in certificate.parts[:PARTS]],
        more=max(len(certificate.parts) - PARTS, 0), queue=queue, n_queue=n_queue,
    )  # fmt: skip
    return Section("accepted", "Accepted", "Accepted without a person", body)


def _part(part: Part) -> dict[str, Any]:
    step = max(len(part.ladder) // RUNGS, 1)
    widest = max([rung.bound for rung in part.ladder if rung.checked] + [0.01])
    rows = [
        {
            "rung": rung, "taken": part.threshold is not None and rung.threshold >= part.threshold,
            "error": rung.wrong / rung.checked if rung.checked else None,
            "bar": svg.interval(rung.wrong / rung.checked if rung.checked else None, 0.0, rung.bound, stop=widest),
        }
        for i, rung in enumerate(part.ladder)
        if i % step == step - 1 or rung.threshold == part.threshold
    ]  # fmt: skip
    return {"of": part, "rows": rows, "top": part.top}


def _short(value: Any) -> str:
    """Three digits; what is no number stays as it is."""
    try:
        return f"{float(value):.3f}"
    except (TypeError, ValueError):
        return shown(value, 8)
