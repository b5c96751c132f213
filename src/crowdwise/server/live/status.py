"""Where a project stands: counts, expected accuracy, cost, speed; tasks and workers as tables for a lead's eyes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...active.stopping import REASON_TEXTS, REASONS
from .baseline import side
from .checks import CHOSEN, RANDOM
from .gold import use_of
from .state import Live


def status(live: Live, now: float) -> dict[str, Any]:
    """The numbers of the lead's page."""
    board, session = live.session.task_index, live.session
    by = np.bincount(board.reason[: len(live.crowd.tasks)], minlength=len(REASONS))
    mean, low, high = board.progress.accuracy
    sure = bool(live.crowd.tasks) and (live.config.sure or board.doubt is not None)
    unmeasured = use_of(live.config.kind).unmeasured
    stored = side(live.baseline)
    return {
        "project": {"kind": live.config.kind, "question": live.config.question, "paused": live.config.paused},
        "tasks": {"all": len(live.crowd.tasks)} | {_word(r): int(by[i]) for i, r in enumerate(REASONS)},
        "answers": {"counted": live.n_answers, "surplus": live.surplus, "skips": live.skips},
        "in_hand": len(live.leases.held),
        "workers": {"all": len(live.crowd.workers), "paused": sum(bool(w.paused) for w in live.crowd.workers)},
        "expected_accuracy": {"mean": mean, "low": low, "high": high} if sure else None,
        "target": live.config.target if live.config.stops_sure else None,
        "cap": live.config.cap,
        "cost": {"spent": session.spent, "in_hand": max(session.pending_cost, 0.0), "budget": live.config.budget}
        | forecast(live),
        "speed": speed(live, now),
        "trust": stored.get("trust"),
        "need": stored.get("need"),
        "advice": stored.get("advice"),
        "checks": None if unmeasured else live.checks.progress,
        "unmeasured": unmeasured or None,
        "agreement": stored.get("agreement"),
        "groups": stored.get("groups", []),
        "settled": {"event": live.based, "answers": live.refit_n if live.based else 0},
        "stopped": live.stopped or None,
        "event": live.last,
        "at": now,
    }


def _word(reason: str) -> str:
    return {"": "open", "cap": "capped", "not worth it": "not_worth_it", "nobody left to ask": "nobody_left"}.get(
        reason, reason
    )


def forecast(live: Live) -> dict[str, Any]:
    """How many answers are still to come, if open tasks take as many as closed ones took, and what they cost."""
    n = len(live.crowd.tasks)
    reason, had = live.session.task_index.reason[:n], live.session.model.answer_lists.n[:n]
    open_ = reason == 0
    if not open_.any():
        return {"answers_to_come": 0, "cost_to_come": 0.0}
    closed = (reason != 0) & (reason != REASONS.index("gold")) & (had > 0)
    usual = float(had[closed].mean()) if closed.sum() >= 10 else float(live.config.cap or 5)
    most = np.inf if live.config.cap is None else live.config.cap - had[open_]
    left = float(np.minimum(np.maximum(usual - had[open_], 1.0), most).sum())
    mean_cost = live.session.spent / live.n_answers if live.n_answers else live.config.cost
    return {"answers_to_come": round(left), "cost_to_come": round(left * mean_cost, 4)}


def speed(live: Live, now: float) -> dict[str, Any]:
    """Answers in the last minute and the last hour."""
    minute = int(now // 60)
    some = [live.minutes.get(m, 0) for m in range(minute - 59, minute + 1)]
    return {"last_minute": some[-1] + some[-2], "last_hour": sum(some), "by_minute": some}


# ---------------------------------------------------------------- tables
def task_row(live: Live, code: int, beside: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What is believed of a task: live and settled; `beside` is what the last fit says beside its posterior."""
    board, config = live.session.task_index, live.config
    reason = REASONS[board.reason[code]]
    row: dict[str, Any] = {
        "id": live.crowd.tasks[code],
        "answers": int(live.session.model.answer_lists.n[code]),
        "in_hand": int(board.busy[code]),
        "state": _word(reason),
        "why": REASON_TEXTS[reason],
        "gold": live.gold.get(code),
        "drawn": None if code not in live.gold else CHOSEN if live.hides_gold(code) else live.drawn_how(code, RANDOM),
        "live": None,
        "settled": None,
    }
    if config.sure:
        row["live"] = _believed(config.classes, board.posterior[code])
        if live.baseline is not None and code < len(live.baseline["posterior"]):
            p = live.baseline["posterior"][code]
            if not np.isnan(p).any():
                ships = live.baseline.get("ships")
                can_ship = None if ships is None else bool(ships[code])
                row["settled"] = _believed(config.classes, p) | {"can_ship": can_ship}
    else:
        beside = side(live.baseline) if beside is None else beside
        row["settled"] = beside.get("tasks", {}).get(live.crowd.tasks[code])
    return row


def _believed(classes: tuple[str, ...], p: Any) -> dict[str, Any]:
    best = int(np.argmax(p))
    return {
        "label": classes[best],
        "confidence": float(p[best]),
        "posterior": dict(zip(classes, map(float, p), strict=True)),
    }


def tasks_page(live: Live, state: str | None, order: str, after: int, limit: int) -> dict[str, Any]:
    """A page of tasks, in their order or the most contested first."""
    n = len(live.crowd.tasks)
    words = np.array([_word(r) for r in REASONS])
    keep = np.ones(n, bool) if state is None else words[live.session.task_index.reason[:n]] == state
    if order == "contested":
        keep &= live.session.model.answer_lists.n[:n] > 1
        codes = np.flatnonzero(keep)
        codes = codes[np.argsort(live.session.task_index.posterior[codes].max(axis=1, initial=0.0), kind="stable")]
    else:
        codes = np.flatnonzero(keep)
    part = codes[after : after + limit].tolist()
    more = after + limit if after + limit < len(codes) else None
    beside = side(live.baseline)
    return {"tasks": [task_row(live, code, beside) for code in part], "total": len(codes), "next": more}


def worker_rows(live: Live, now: float) -> list[dict[str, Any]]:
    """All workers."""
    stored = side(live.baseline)
    return [worker_row(live, code, now, stored) for code in range(len(live.crowd.workers))]


def worker_row(live: Live, code: int, now: float, stored: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What is known of a worker; `skill` is how often they are right, as the last fit has it. Until then it is how
    often the others confirmed them when they answered, which is too low: the first to answer has nobody to confirm."""
    who, stored = live.crowd.workers[code], side(live.baseline) if stored is None else stored
    low, mean, high = stored.get("skill", {}).get(str(code)) or live.session.record(code)
    return {
        "name": who.name,
        "kind": who.kind,
        "cost": who.cost,
        "answers": who.answers,
        "today": who.today if int(now // 86_400) == who.day else 0,
        "surplus": who.surplus,
        "skips": who.skips,
        "in_hand": len(live.leases.of(code)),
        "skill": {"low": low, "mean": mean, "high": high} if live.config.sure else None,
        "seconds": who.seconds / who.timed if who.timed else None,
        "last": who.last or None,
        "paused": who.paused or None,
        "flags": stored.get("flags", {}).get(str(code), []),
    }
