"""`gate`: does a certificate of a judge still hold? Two tests that may be repeated at every look.

- Promise: the mean agreement with people on the anchors, over all passes, is at least the certified floor.
- Drift: on anchors judged again for the first time, agreement has not become rarer than when the judge was certified.

Both bet against their hypothesis (stats/betting.py) and share the risk of a false alarm. The drift test uses an anchor
once: the old verdict is a single draw, and comparing it again with every later one would take its luck for a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.errors import DataError
from ...core.votes import Votes
from ...stats.betting import capital, confidence_sequence
from .judge_certificate import JudgeCertificate, prompt_hash

HOLDS, BROKEN, EXPIRED, UNCLEAR = "holds", "broken", "expired", "cannot tell"
EXIT = {HOLDS: 0, BROKEN: 3, EXPIRED: 4, UNCLEAR: 4}


@dataclass(frozen=True)
class Gate:
    """The answer of `gate`.

    Attributes:
        status: "holds", "broken", "expired" or "cannot tell".
        reason: The reason, as a sentence.
        promise: The certified promise.
        looks: Number of logs with anchors.
        judged_again: Number of anchors judged again.
        n_anchors: Number of anchors of the certificate.
        needed: Anchors to be judged again before the gate answers "holds".
        verdicts: Number of verdicts on anchors over all looks.
        agreement: Share of these verdicts that agree with people; None without any.
        low: Low end of an interval of it that holds at all looks together.
        high: High end of that interval.
        before: Agreement on the anchors that were judged again, when the judge was certified.
        after: Agreement of their first new verdict.
        e_promise: Evidence (e-value) against the promise.
        e_drift: Evidence against "no drop".
        limit: The evidence that breaks the certificate.
        other_tasks: Number of rows about tasks that are no anchors.
    """

    status: str
    reason: str
    promise: str
    looks: int
    judged_again: int
    n_anchors: int
    needed: int
    verdicts: int
    agreement: float | None
    low: float
    high: float
    before: float | None
    after: float | None
    e_promise: float
    e_drift: float
    limit: float
    other_tasks: int

    @property
    def exit_code(self) -> int:
        """0 if the certificate holds, 3 if it is broken, 4 if it has expired or the log cannot tell."""
        return EXIT[self.status]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"exit_code": self.exit_code}

    def markdown(self) -> str:
        """Return a summary for the job page of a CI system."""
        mark = {HOLDS: "✅", BROKEN: "❌"}.get(self.status, "⚠️")
        rows = [("promise", self.promise), ("anchors judged again", f"{self.judged_again:,} of {self.n_anchors:,}")]
        if self.agreement is not None:
            rows.append(("agreement now", f"{self.agreement:.3f} [{self.low:.3f}, {self.high:.3f}]"))
            rows.append(("the same anchors, when certified → now", f"{self.before:.3f} → {self.after:.3f}"))
        limit = f"(broken at {self.limit:g})"
        rows.append(("evidence against the promise", f"{self.e_promise:.3g} {limit}"))
        rows.append(("evidence of a drop", f"{self.e_drift:.3g} {limit}"))
        table = "\n".join(f"| {name} | {text} |" for name, text in rows)
        return f"### {mark} Judge certificate: {self.status}\n\n{self.reason}\n\n| | |\n|---|---|\n{table}\n"


def gate(
    certificate: JudgeCertificate,
    logs: Iterable[Any],
    *,
    prompt: str | None = None,
    judge: str | None = None,
    today: date | None = None,
) -> Gate:
    """Test a certificate with the anchors judged again.

    Args:
        certificate: The certificate.
        logs: Votes, or mappings or tables task, label, of every look since the certificate was made, oldest first.
            All anchors, or a random part of them, must have been judged at each look.
        prompt: Text of the prompt that is in use.
        judge: Name of the judge in the logs, if it is not the certified one.
        today: Date of the look.

    Returns:
        A `Gate`.
    """
    anchors = {anchor.task: anchor for anchor in certificate.anchors}
    name = str(certificate.judge["worker"]) if judge is None else judge
    passes, other_tasks = [], 0
    for log in logs:
        labels = log_labels(log, name)
        passes.append({task: label for task, label in labels.items() if task in anchors})
        other_tasks += len(labels) - len(passes[-1])
    passes = [labels for labels in passes if labels]
    right = np.array([float(label == anchors[task].label) for labels in passes for task, label in labels.items()])
    first: dict[str, str] = {}
    for labels in passes:
        first = labels | first
    before = np.array([float(anchors[task].verdict == anchors[task].label) for task in first])
    after = np.array([float(label == anchors[task].label) for task, label in first.items()])
    limit = 2 / certificate.alpha
    e_promise, e_drift = (_e_value(*bet) for bet in ((right, certificate.floor), ((after - before + 1) / 2, 0.5)))
    low, high = confidence_sequence(right, certificate.alpha)
    needed = min(certificate.anchors_needed, len(anchors))
    facts: dict[str, Any] = {
        "promise": certificate.promise, "looks": len(passes), "judged_again": len(first), "n_anchors": len(anchors),
        "needed": needed, "verdicts": len(right), "agreement": _mean(right), "low": low, "high": high,
        "before": _mean(before), "after": _mean(after), "e_promise": e_promise, "e_drift": e_drift, "limit": limit,
        "other_tasks": other_tasks,
    }  # fmt: skip
    day = datetime.now(UTC).date() if today is None else today
    status, reason = _status(certificate, facts, prompt, day)
    return Gate(status, reason, **facts)


def _e_value(x: F8, floor: float) -> float:
    return float(np.exp(min(capital(x, floor), 700.0)))


def _mean(x: F8) -> float | None:
    return float(x.mean()) if len(x) else None


def _status(certificate: JudgeCertificate, facts: Mapping[str, Any], prompt: str | None, day: date) -> tuple[str, str]:
    """Return the status and its reason; a broken promise counts even after the certificate has expired."""
    stated = certificate.judge.get("prompt_hash")
    if prompt is not None and prompt_hash(prompt) != stated:
        certified = "no prompt was certified" if stated is None else f"the certified one has the hash {stated}"
        return UNCLEAR, f"The prompt is another one ({prompt_hash(prompt)}; {certified}): certify it."
    limit = facts["limit"]
    if facts["e_promise"] >= limit:
        return BROKEN, (
            f"The judge agrees with people on {facts['agreement']:.3f} of {facts['verdicts']:,} verdicts on anchors "
            f"(at most {facts['high']:.3f}), less than the {certificate.floor:.3f} that were promised."
        )
    if facts["e_drift"] >= limit:
        return BROKEN, (
            f"On the same {facts['judged_again']:,} anchors the agreement with people fell from {facts['before']:.3f} "
            f"to {facts['after']:.3f}."
        )
    if day > date.fromisoformat(certificate.expires):
        return EXPIRED, f"The certificate of {certificate.made} expired on {certificate.expires}: certify again."
    if facts["judged_again"] < facts["needed"] or len(certificate.anchors) < certificate.anchors_needed:
        return UNCLEAR, (
            f"{facts['judged_again']:,} anchors were judged again; a drop of {100 * certificate.drop:g} points takes "
            f"{certificate.anchors_needed:,} to be found."
        )
    return HOLDS, (
        f"{facts['judged_again']:,} anchors were judged again and show no drop; with {100 * (1 - certificate.alpha):g} "
        f"% confidence over all looks the agreement is between {facts['low']:.3f} and {facts['high']:.3f}."
    )


def log_labels(log: Any, judge: str | None = None) -> dict[str, str]:
    """Return label[task] of one judge in a log: votes, or a mapping or table task, label.

    Raises:
        DataError: If the judge is not in the log, or judged a task twice with different labels.
    """
    if isinstance(log, Mapping):
        return {str(task): str(label) for task, label in log.items()}
    frame = log.to_frame() if isinstance(log, Votes) else log
    if not {"task", "label"} <= set(frame.columns):
        raise DataError(f"a log needs the columns task and label; it has {', '.join(frame.columns)}")
    frame = frame.with_columns(pl.col("task", "label").cast(pl.String))
    if "worker" in frame.columns and judge is not None:
        workers = frame["worker"].cast(pl.String)
        if not (workers == judge).any():
            raise DataError(
                f"the log has no verdicts of {judge}, the certified judge; it has those of "
                f"{', '.join(workers.unique().sort().head(5).to_list())}: name the one to test with --judge"
            )
        frame = frame.filter(workers == judge)
    frame = frame.drop_nulls("label").unique(["task", "label"], maintain_order=True)
    if frame["task"].is_duplicated().any():
        task = frame["task"].filter(frame["task"].is_duplicated())[0]
        raise DataError(f"task {task!r} has two labels in one log; give each pass as a log of its own")
    return dict(zip(frame["task"].to_list(), frame["label"].to_list(), strict=True))
