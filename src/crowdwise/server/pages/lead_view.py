"""Variables of the lead's page from responses of the API, with formatted numbers and bounded texts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...report import text
from ..live.state import FIRST
from .task_view import plain, view

# Largest number of workers on the page; exports have all.
MOST_WORKERS = 200


def counts(status: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of the last fit, counts of open, sure and capped tasks, and further lines."""
    tasks, cost, speed = status["tasks"], status["cost"], status["speed"]
    need = status["need"] or {}
    total, is_open = tasks["all"], tasks["open"]
    sure, capped, gold = tasks["sure"], tasks["capped"], tasks.get("gold", 0)
    to_come, hour = cost["answers_to_come"], speed["last_hour"]
    return {
        "total": total, "open": is_open, "sure": sure, "capped": capped, "gold": gold,
        "parts": [
            ("sure", sure), ("gold", gold), ("capped or nobody left", total - sure - gold - is_open), ("open", is_open),
        ],
        "labels": status["answers"]["counted"], "surplus": status["answers"]["surplus"],
        "skips": status["answers"]["skips"], "in_hand": status["in_hand"],
        "trust": stated(status["trust"]), "more": need.get("vote", 0), "expert": need.get("expert", 0),
        "forecasts": status["need"] is not None, "unmeasured": status["unmeasured"],
        "notes": notes(status), "checks": status["checks"], "fitted": status["settled"]["answers"], "first": FIRST,
        "spent": money(cost["spent"]), "budget": money(cost["budget"]), "limit": cost["budget"],
        "forecast": money(cost["cost_to_come"]), "to_come": to_come,
        "eta": hours(to_come / pace(speed["by_minute"])) if hour and to_come else "", "per_hour": hour,
        "agreement": status["agreement"], "paused": status["project"]["paused"], "stopped": status["stopped"],
        "target": status["target"], "cap": status["cap"],
    }  # fmt: skip


def stated(level: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The statement of the last fit with a capitalised sentence."""
    return None if level is None else {**level, "sentence": capital(level["sentence"])}


def notes(status: Mapping[str, Any]) -> list[str]:
    """Notes of the last fit, and the forecast of more votes."""
    lines = [*(status["trust"] or {}).get("notes", ()), *(status["advice"] or ())]
    return [f"{capital(line)}." for line in lines]


def capital(line: str) -> str:
    """The line with its first letter capitalised."""
    return line[:1].upper() + line[1:]


def workers(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Workers, those with flags first, then by number of answers."""
    table = [_worker(row) for row in rows]
    table.sort(key=lambda row: (not row["flags"], -row["answers"], row["name"]))
    return table[:MOST_WORKERS]


def contested(tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Contested tasks with all answers."""
    out = []
    for task in tasks:
        answers = [(row["worker"], answer_text(row["answer"])) for row in task["by_worker"]]
        best = task["live"] or task["settled"] or {}
        out.append(
            view(task)
            | {
                "answers": answers,
                "tally": Counter(answer for _, answer in answers).most_common(6),
                "label": answer_text(best["label"]) if "label" in best else "",
                "confidence": best.get("confidence"),
                "state": plain(task["state"]),
                "gold": answer_text(task["gold"]) if task["gold"] is not None else "",
            }
        )
    return out


def answer_text(answer: Any) -> str:
    """An answer of any kind in one line."""
    if isinstance(answer, float) and answer == int(answer):
        return str(int(answer))
    if not isinstance(answer, list):
        return plain(answer)
    if answer and all(isinstance(part, Mapping) for part in answer):
        return ", ".join(f"{part.get('label')} {part.get('start')}–{part.get('end')}" for part in answer)
    return ", ".join(plain(part) for part in answer) or "none"


def pace(by_minute: Sequence[int]) -> float:
    """Answers per hour since the first answer of the last hour."""
    since = next(i for i, n in enumerate(by_minute) if n)
    return 60 * sum(by_minute) / (len(by_minute) - since)


def money(value: float | None) -> str:
    """Costs and rates with two decimals below 100."""
    if value is None or not text.exists(value):
        return "–"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.2f}"


def hours(value: float | None) -> str:
    """A duration in hours as text."""
    if value is None or not text.exists(value):
        return ""
    if value < 1:
        return f"about {max(round(value * 60), 1)} min"
    return f"about {value:.0f} h" if value < 48 else f"about {value / 24:.0f} days"


def _worker(row: Mapping[str, Any]) -> dict[str, Any]:
    skill = row["skill"] or {}
    return {
        "name": row["name"], "slug": hashlib.sha256(row["name"].encode()).hexdigest()[:12], "kind": row["kind"],
        "answers": row["answers"], "today": row["today"],
        "cost": money(row["cost"] * row["answers"]), "paused": row["paused"] or "",
        "skill": skill.get("mean"), "low": skill.get("low"), "high": skill.get("high"),
        "flags": [(plain(flag.get("flag")), plain(flag.get("evidence"))) for flag in row["flags"]],
        "seconds": row["seconds"],
    }  # fmt: skip
