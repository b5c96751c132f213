"""Report sections on accepted tasks, estimates and fairness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..core.errors import DataError
from ..evaluation.guarantee.certificate import Certificate, GroupTest
from ..io.tables import open_table
from . import svg
from .page import fragment
from .sheet import Section
from .text import shown

# Shown at most: steps of a ladder, tasks of the queue, groups.
LADDER_STEPS, QUEUE, PARTS = 12, 20, 12


def accepted_section(folder: Path) -> Section:
    """Return the section from certificate.json and ask.csv."""
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


def _part(part: GroupTest) -> dict[str, Any]:
    every = max(len(part.ladder) // LADDER_STEPS, 1)
    widest = max([step.bound for step in part.ladder if step.checked] + [0.01])
    rows = []
    for i, step in enumerate(part.ladder):
        if i % every == every - 1 or step.threshold == part.threshold:
            error = step.wrong / step.checked if step.checked else None
            accepted = part.threshold is not None and step.threshold >= part.threshold
            bar = svg.interval(error, 0.0, step.bound, stop=widest)
            rows.append({"step": step, "accepted": accepted, "error": error, "bar": bar})
    return {"of": part, "rows": rows, "top": part.top}


def _short(value: Any) -> str:
    """Format with three digits; what is not a number stays as it is."""
    try:
        return f"{float(value):.3f}"
    except (TypeError, ValueError):
        return shown(value, 8)


# ----------------------------------------------------------------
# Estimates from the verdicts, from the gold, and from both together, on one axis.

SAMPLING = {
    "random": "the gold is stated to be drawn at random, and the data do not contradict it",
    "random, drawn": "the gold was drawn at random and the draw is recorded",
    "within verdict": "the gold is stated to be drawn at random within each verdict",
    "weights": "the gold was drawn with known probabilities",
    "by truth": "the gold was balanced by the true class",
    "unknown": "it is unknown how the gold was drawn: no interval can be given",
}


def estimates_section(folder: Path) -> Section:
    """Return the section from estimates.json."""
    path = folder / "estimates.json"
    try:
        figures = [_figure(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{path} cannot be read ({' '.join(str(error).split())[:80]}); run estimate again") from None
    return Section("estimates", "Estimates", "Estimates", fragment("guarantee/estimates.html.j2", figures=figures))


def _figure(entry: dict[str, Any]) -> dict[str, Any]:
    """Draw the three intervals of one figure on a common scale."""
    value, low, high = float(entry["value"]), _number(entry["low"]), _number(entry["high"])
    rows: list[dict[str, Any]] = []
    if entry.get("judge_alone") is not None:
        rows.append({"name": f"{entry['who']} alone", "value": float(entry["judge_alone"]), "low": None, "high": None})
    if entry.get("gold_only"):
        gold_only = [float(x) for x in entry["gold_only"]]
        rows.append({"name": "gold alone", "value": gold_only[0], "low": gold_only[1], "high": gold_only[2]})
    rows.append({"name": "both", "value": value, "low": low, "high": high})
    ends = [x for row in rows for x in (row["value"], row["low"], row["high"]) if x is not None]
    wide = max(ends) - min(ends) or 1.0
    start, stop = min(ends) - 0.1 * wide, max(ends) + 0.1 * wide
    for row in rows:
        row["bar"] = svg.interval(row["value"], row["low"], row["high"], start=start, stop=stop)
    return {
        "people": str(entry["people"]), "level": float(entry["level"]), "rows": rows, "n_gold": int(entry["n_gold"]),
        "n_tasks": int(entry["n_tasks"]), "method": str(entry["method"]), "for": str(entry.get("for", "these")),
        "saved": _number(entry.get("labels_saved")), "r2": _number(entry.get("r2")),
        "sampling": SAMPLING.get(str(entry["sampling"]), str(entry["sampling"])),
        "groups": [_group(name, group) for name, group in entry.get("groups", {}).items()],
    }  # fmt: skip


def _group(name: str, group: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name, "value": _number(group.get("value")), "low": _number(group.get("low")),
        "high": _number(group.get("high")), "reason": str(group.get("reason", "")),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    """Return a number, or None for a missing value or an empty cell."""
    return None if value is None or value == "" else float(value)


# ----------------------------------------------------------------
# Fairness: gaps between groups with intervals, before and after, and workers with gaps of their own.

SHOWN = 40


def fairness_section(folder: Path) -> Section:
    """Return the section from gaps.csv, gaps_fair.csv and workers_gaps.csv."""
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
    """Read the gaps that could be measured, drawn on one scale."""
    try:
        rows = [
            {**row, **{name: _number(row[name]) for name in ("gap", "low", "high")}}
            for row in _rows(path)
            if _number(row["gap"]) is not None
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be read ({error}); run fairness again") from None
    wide = max([abs(row[name]) for row in rows for name in ("gap", "low", "high") if row[name] is not None] + [0.01])
    for row in rows:
        row["bar"] = svg.interval(row["gap"], row["low"], row["high"], start=-wide, stop=wide)
        row["sure"] = row["low"] is not None and row["high"] is not None and (row["low"] > 0 or row["high"] < 0)
    return rows[:SHOWN]
