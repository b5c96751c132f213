"""Decisions of reviewers, answers sent back to workers, and comments on tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

# Reviewers who must agree before a third one decides.
PAIR = 2


@dataclass
class Reviews:
    """`decisions[task]` is a list of [reviewer, answer, accepted] in their order; `returned[task][worker]` the note of
    an answer that was sent back, until the worker answers again; `reports` the numbers of open reports by task."""

    decisions: dict[int, list[list[Any]]] = field(default_factory=dict)
    returned: dict[int, dict[int, str]] = field(default_factory=dict)
    reports: dict[int, int] = field(default_factory=dict)

    # ---------------------------------------------------------------- events
    def decide(self, task: int, payload: dict[str, Any]) -> None:
        """Record a decision; a reviewer's later decision replaces the earlier one, and null withdraws it."""
        before = self.decisions.get(task, [])
        rows = [row for row in before if row[0] != payload["by"]]
        if payload["answer"] is not None:
            rows.append([payload["by"], payload["answer"], payload["accepted"]])
        if rows:
            self.decisions[task] = rows
        else:
            self.decisions.pop(task, None)
        self.reports.pop(task, None)

    def send_back(self, task: int, worker: int, note: str) -> None:
        """Record that a worker's answer was sent back."""
        self.returned.setdefault(task, {})[worker] = note
        self.reports.pop(task, None)

    def answered(self, task: int, worker: int) -> None:
        """Remove the note of an answer that was sent back, because the worker has answered again."""
        notes = self.returned.get(task)
        if notes is not None and notes.pop(worker, None) is not None and not notes:
            del self.returned[task]

    def comment(self, task: int, payload: dict[str, Any]) -> None:
        """Count a report of a worker, or end the reports of a task."""
        if payload["kind"] == "report":
            self.reports[task] = self.reports.get(task, 0) + 1
        elif payload["kind"] == "resolved":
            self.reports.pop(task, None)

    # ---------------------------------------------------------------- reading
    def settled(self, task: int, reviewers: int) -> Any:
        """The answer that the decisions on a task make gold; None while another decision is needed.

        One decision, two equal ones, or, where two reviewers differ, the third one.
        """
        answers = [row[1] for row in self.decisions.get(task, ())]
        if len(answers) < reviewers:
            return None
        if reviewers == 1 or len(answers) > PAIR:
            return answers[-1]
        return answers[0] if answers[0] == answers[1] else None

    def reviewed_by(self, task: int, reviewer: str) -> bool:
        """Whether this reviewer has decided on the task."""
        return any(row[0] == reviewer for row in self.decisions.get(task, ()))

    def of_task(self, task: int) -> dict[str, Any] | None:
        """The decisions and open reports of a task; None if there are none."""
        rows, reports = self.decisions.get(task, []), self.reports.get(task, 0)
        if not rows and not reports and task not in self.returned:
            return None
        decisions = [{"by": by, "answer": answer, "accepted": accepted} for by, answer, accepted in rows]
        return {"decisions": decisions, "reports": reports, "returned": len(self.returned.get(task, ()))}

    def progress(self, reviewers: int) -> dict[str, Any]:
        """Numbers of reviewed tasks and decisions, the share of accepted labels, and the agreement of reviewers on
        tasks that two of them decided on."""
        rows = [row for some in self.decisions.values() for row in some]
        pairs = [some[0][1] == some[1][1] for some in self.decisions.values() if len(some) > 1]
        by: dict[str, int] = {}
        for row in rows:
            by[row[0]] = by.get(row[0], 0) + 1
        done = sum(self.settled(task, reviewers) is not None for task in self.decisions)
        return {
            "tasks": len(self.decisions), "settled": done, "decisions": len(rows), "by": by,
            "accepted": sum(bool(row[2]) for row in rows) / len(rows) if rows else None,
            "pairs": len(pairs), "agreement": sum(pairs) / len(pairs) if pairs else None,
            "reported": len(self.reports),
        }  # fmt: skip

    # ---------------------------------------------------------------- snapshots
    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        returned = [[task, list(notes.items())] for task, notes in self.returned.items()]
        return {"decisions": list(self.decisions.items()), "returned": returned, "reports": list(self.reports.items())}

    @classmethod
    def of(cls, given: dict[str, Any]) -> Reviews:
        """From `to_dict`."""
        given = json.loads(json.dumps(given))
        returned = {task: dict(map(tuple, notes)) for task, notes in given["returned"]}
        return cls(dict(map(tuple, given["decisions"])), returned, dict(map(tuple, given["reports"])))
