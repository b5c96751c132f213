"""Estimates: what the verdicts say, what the gold says, and both together, on one axis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...core.errors import DataError
from .. import svg
from ..page import fragment
from ..sheet import Section

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
