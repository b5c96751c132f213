"""Status of a project: counts, expected accuracy, cost, speed; tables of tasks and workers for the lead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...active.stopping import REASON_TEXTS, REASONS
from .baseline import summary_of
from .checks import CHOSEN, RANDOM
from .gold import use_of
from .state import Live


def status(live: Live, now: float) -> dict[str, Any]:
    """The numbers of the lead's page."""
    index, session = live.session.task_index, live.session
    counts = np.bincount(index.reason[: len(live.crowd.tasks)], minlength=len(REASONS))
    mean, low, high = index.progress.accuracy
    sure = bool(live.crowd.tasks) and (live.config.sure or index.doubt is not None)
    unmeasured = use_of(live.config.kind).unmeasured
    summary = summary_of(live.baseline)
    return {
        "project": {"kind": live.config.kind, "question": live.config.question, "paused": live.config.paused},
        "tasks": {"all": len(live.crowd.tasks)} | {state_of(r): int(counts[i]) for i, r in enumerate(REASONS)},
        "answers": {"counted": live.n_answers, "surplus": live.surplus, "skips": live.skips},
        "in_hand": len(live.leases.held),
        "workers": {"all": len(live.crowd.workers), "paused": sum(bool(w.paused) for w in live.crowd.workers)},
        "expected_accuracy": {"mean": mean, "low": low, "high": high} if sure else None,
        "target": live.config.target if live.config.stops_sure else None,
        "cap": live.config.cap,
        "cost": {"spent": session.spent, "in_hand": max(session.pending_cost, 0.0), "budget": live.config.budget}
        | forecast(live),
        "speed": speed(live, now),
        "trust": summary.get("trust"),
        "need": summary.get("need"),
        "advice": summary.get("advice"),
        "checks": None if unmeasured else live.checks.progress,
        "unmeasured": unmeasured or None,
        "reviews": live.reviews.progress(live.config.reviewers) | {"waiting": live.columns.n_queued(live)},
        "agreement": summary.get("agreement"),
        "groups": summary.get("groups", []),
        "settled": {"event": live.based, "answers": live.refit_n if live.based else 0},
        "stopped": live.stopped or None,
        "event": live.last,
        "at": now,
    }


def state_of(reason: str) -> str:
    """The name of a state in responses."""
    return {"": "open", "cap": "capped", "not worth it": "not_worth_it", "nobody left to ask": "nobody_left"}.get(
        reason, reason
    )


def forecast(live: Live) -> dict[str, Any]:
    """Forecast of further answers and their cost, if open tasks need as many as closed ones."""
    n = len(live.crowd.tasks)
    reason, n_answers = live.session.task_index.reason[:n], live.session.model.answer_lists.n[:n]
    open_ = reason == 0
    if not open_.any():
        return {"answers_to_come": 0, "cost_to_come": 0.0}
    closed = (reason != 0) & (reason != REASONS.index("gold")) & (n_answers > 0)
    usual = float(n_answers[closed].mean()) if closed.sum() >= 10 else float(live.config.cap or 5)
    most = np.inf if live.config.cap is None else live.config.cap - n_answers[open_]
    left = float(np.minimum(np.maximum(usual - n_answers[open_], 1.0), most).sum())
    mean_cost = live.session.spent / live.n_answers if live.n_answers else live.config.cost
    return {"answers_to_come": round(left), "cost_to_come": round(left * mean_cost, 4)}


def speed(live: Live, now: float) -> dict[str, Any]:
    """Answers in the last minute and the last hour."""
    minute = int(now // 60)
    some = [live.minutes.get(m, 0) for m in range(minute - 59, minute + 1)]
    return {"last_minute": some[-1] + some[-2], "last_hour": sum(some), "by_minute": some}


# ---------------------------------------------------------------- tables
def task_row(live: Live, code: int, summary: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The state and the estimates of a task: live, and settled by the last fit, whose summary is `summary`."""
    index, config = live.session.task_index, live.config
    reason = REASONS[index.reason[code]]
    row: dict[str, Any] = {
        "id": live.crowd.tasks[code],
        "answers": int(live.session.model.answer_lists.n[code]),
        "in_hand": int(index.busy[code]),
        "state": state_of(reason),
        "why": REASON_TEXTS[reason],
        "gold": live.gold.get(code),
        "review": live.reviews.of_task(code),
        "drawn": None if code not in live.gold else CHOSEN if live.hides_gold(code) else live.drawn_how(code, RANDOM),
        "live": None,
        "settled": None,
    }
    if config.sure:
        row["live"] = _estimate(config.classes, index.posterior[code])
        if live.baseline is not None and code < len(live.baseline["posterior"]):
            p = live.baseline["posterior"][code]
            if not np.isnan(p).any():
                ships = live.baseline.get("ships")
                can_ship = None if ships is None else bool(ships[code])
                row["settled"] = _estimate(config.classes, p) | {"can_ship": can_ship}
    else:
        summary = summary_of(live.baseline) if summary is None else summary
        row["settled"] = summary.get("tasks", {}).get(live.crowd.tasks[code])
    return row


def _estimate(classes: tuple[str, ...], p: Any) -> dict[str, Any]:
    best = int(np.argmax(p))
    return {
        "label": classes[best],
        "confidence": float(p[best]),
        "posterior": dict(zip(classes, map(float, p), strict=True)),
    }


def tasks_page(live: Live, state: str | None, order: str, after: int, limit: int) -> dict[str, Any]:
    """A page of tasks, in their order or the most contested first."""
    n = len(live.crowd.tasks)
    states = np.array([state_of(r) for r in REASONS])
    keep = np.ones(n, bool) if state is None else states[live.session.task_index.reason[:n]] == state
    if order == "contested":
        keep &= live.session.model.answer_lists.n[:n] > 1
        codes = np.flatnonzero(keep)
        codes = codes[np.argsort(live.session.task_index.posterior[codes].max(axis=1, initial=0.0), kind="stable")]
    else:
        codes = np.flatnonzero(keep)
    part = codes[after : after + limit].tolist()
    more = after + limit if after + limit < len(codes) else None
    summary = summary_of(live.baseline)
    return {"tasks": [task_row(live, code, summary) for code in part], "total": len(codes), "next": more}


def worker_rows(live: Live, now: float) -> list[dict[str, Any]]:
    """All workers."""
    summary = summary_of(live.baseline)
    return [worker_row(live, code, now, summary) for code in range(len(live.crowd.workers))]


def worker_row(live: Live, code: int, now: float, summary: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Counts and quality of a worker. `skill` is the accuracy by the last fit; before the first fit it is the share of
    answers that agree with earlier ones, which is too low because the first answer to a task has none to agree with."""
    worker = live.crowd.workers[code]
    summary = summary_of(live.baseline) if summary is None else summary
    low, mean, high = summary.get("skill", {}).get(str(code)) or live.session.record(code)
    return {
        "name": worker.name,
        "kind": worker.kind,
        "cost": worker.cost,
        "answers": worker.answers,
        "today": worker.today if int(now // 86_400) == worker.day else 0,
        "surplus": worker.surplus,
        "skips": worker.skips,
        "in_hand": len(live.leases.of(code)),
        "skill": {"low": low, "mean": mean, "high": high} if live.config.sure else None,
        "seconds": worker.seconds / worker.timed if worker.timed else None,
        "last": worker.last or None,
        "paused": worker.paused or None,
        "flags": summary.get("flags", {}).get(str(code), []),
    }
