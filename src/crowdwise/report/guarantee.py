"""Accepted: the promise in one sentence, the ladder behind it, what voids it, and who waits for a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..core.errors import DataError
from ..evaluation.guarantee.certificate import Certificate, Part
from ..io.tables import open_table
from . import svg
from .page import fragment
from .sheet import Section
from .text import shown

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


# ----------------------------------------------------------------
# Estimates: what the verdicts say, what the gold says, and both together, on one axis.

SAMPLING = {
    "random": "somebody states that the gold was drawn at random; the data do not refute it",
    "random, drawn": "the gold was drawn at random and the draw is recorded",
    "within verdict": "somebody states that the gold was drawn at random within each verdict",
    "weights": "the gold was drawn with known probabilities",
    "by truth": "the gold was balanced by the true class",
    "unknown": "nobody says how the gold was drawn: no interval can be given",
}


def estimates_section(folder: Path) -> Section:
    """From estimates.json."""
    path = folder / "estimates.json"
    try:
        figures = [_figure(each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{path} cannot be read ({' '.join(str(error).split())[:80]}); run estimate again") from None
    return Section("estimates", "Estimates", "Estimates", fragment("guarantee/estimates.html.j2", figures=figures))


def _figure(told: dict[str, Any]) -> dict[str, Any]:
    """The three intervals of one figure on a common scale."""
    value, low, high = float(told["value"]), _number(told["low"]), _number(told["high"])
    rows: list[dict[str, Any]] = []
    if told.get("judge_alone") is not None:
        rows.append({"name": f"{told['who']} alone", "value": float(told["judge_alone"]), "low": None, "high": None})
    if told.get("gold_only"):
        alone = [float(x) for x in told["gold_only"]]
        rows.append({"name": "gold alone", "value": alone[0], "low": alone[1], "high": alone[2]})
    rows.append({"name": "both", "value": value, "low": low, "high": high})
    ends = [x for row in rows for x in (row["value"], row["low"], row["high"]) if x is not None]
    wide = max(ends) - min(ends) or 1.0
    start, stop = min(ends) - 0.1 * wide, max(ends) + 0.1 * wide
    for row in rows:
        row["bar"] = _bar(row, start, stop)
    return {
        "people": str(told["people"]), "level": float(told["level"]), "rows": rows, "n_gold": int(told["n_gold"]),
        "n_tasks": int(told["n_tasks"]), "method": str(told["method"]), "for": str(told.get("for", "these")),
        "saved": _number(told.get("labels_saved")), "r2": _number(told.get("r2")),
        "sampling": SAMPLING.get(str(told["sampling"]), str(told["sampling"])),
        "groups": [_group(name, found) for name, found in told.get("groups", {}).items()],
    }  # fmt: skip


def _group(name: str, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name, "value": _number(found.get("value")), "low": _number(found.get("low")),
        "high": _number(found.get("high")), "reason": str(found.get("reason", "")),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _bar(row: dict[str, Any], start: float, stop: float) -> Markup:
    return svg.interval(row["value"], row["low"], row["high"], start=start, stop=stop)


# ----------------------------------------------------------------
# Fairness: gaps between groups with intervals, before and after, and workers who treat groups differently.

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
            {**row, **{name: _fairness_number(row[name]) for name in ("gap", "low", "high")}}
            for row in _rows(path)
            if _fairness_number(row["gap"]) is not None
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be read ({error}); run fair again") from None
    wide = max([abs(row[name]) for row in rows for name in ("gap", "low", "high") if row[name] is not None] + [0.01])
    for row in rows:
        row["bar"] = svg.interval(row["gap"], row["low"], row["high"], start=-wide, stop=wide)
        row["sure"] = row["low"] is not None and row["high"] is not None and (row["low"] > 0 or row["high"] < 0)
    return rows[:SHOWN]


def _fairness_number(value: Any) -> float | None:
    return None if value is None or value == "" else float(value)
