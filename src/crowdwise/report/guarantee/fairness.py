"""Fairness: gaps between groups with intervals, before and after, and workers who treat groups differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...io.tables import open_table
from .. import svg
from ..page import fragment
from ..sheet import Section

SHOWN = 40


def fairness_section(folder: Path) -> Section:
    """From gaps.csv, gaps_fair.csv and workers_gaps.csv."""
    before = _gaps(folder / "gaps.csv")
    after = _gaps(folder / "gaps_fair.csv") if (folder / "gaps_fair.csv").is_file() else []
    workers = _rows(folder / "workers_gaps.csv") if (folder / "workers_gaps.csv").is_file() else []
    flagged = [row for row in workers if str(row["flag"]).lower() == "true"]
    body = fragment(
        "guarantee/fairness.html.j2", before=before, after=after, flagged=flagged[:SHOWN],
        n_flagged=len({row["worker"] for row in flagged}), n_workers=len({row["worker"] for row in workers}),
    )  # fmt: skip
    return Section("fairness", "Fairness", "Fairness between groups", body)


def _rows(path: Path) -> list[dict[str, Any]]:
    table = open_table(path)
    return list(table.read(table.header).to_dicts())


def _gaps(path: Path) -> list[dict[str, Any]]:
    """Gaps that could be measured, drawn on one scale."""
    try:
        rows = [
            {**row, **{name: _number(row[name]) for name in ("gap", "low", "high")}}
            for row in _rows(path)
            if _number(row["gap"]) is not None
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be read ({error}); run fair again") from None
    wide = max([abs(row[name]) for row in rows for name in ("gap", "low", "high") if row[name] is not None] + [0.01])
    for row in rows:
        row["bar"] = svg.interval(row["gap"], row["low"], row["high"], start=-wide, stop=wide)
        row["sure"] = row["low"] is not None and row["high"] is not None and (row["low"] > 0 or row["high"] < 0)
    return rows[:SHOWN]


def _number(value: Any) -> float | None:
    return None if value is None or value == "" else float(value)
