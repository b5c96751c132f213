"""How far intervals of numbers can be trusted: measured on checked tasks, or that nothing is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.result import Result
from ...kinds.numbers.estimate import NumberEstimate
from ..trust import ERROR, TO_CHECK


@dataclass(frozen=True)
class NumberTrust:
    """Half the mean width of the intervals of tasks without gold, a part each (NaN: the method has none). With gold,
    `held` of the `n_checked` checked tasks lay in the intervals of the fits that had not seen them, of half-width
    `before`, and the intervals now hold the truth on `low` to `high` of the other tasks (90 % interval)."""

    n_tasks: int
    level: float
    parts: tuple[str, ...]
    half: tuple[float, ...]
    n_checked: int = 0
    held: tuple[int, ...] = ()
    before: tuple[float | None, ...] = ()
    low: float = 0.0
    high: float = 1.0
    reason: str = ""

    def sentence(self, written: str = "") -> str:
        """The statement, without a full stop; `written` names a file with tasks to check."""
        if all(np.isnan(half) for half in self.half):
            return f"this method has no intervals; {self._advice(written)}"
        widths = self._each(tuple(f"± {half:.3g}" for half in self.half))
        if not self.n_checked:
            unknown = self.reason or "no task has been checked"
            return (
                f"{unknown}: {100 * self.level:g} % intervals of {widths} on average say how far this crowd settles "
                f"the answer, not how often they hold the truth; {self._advice(written)}"
            )
        before = self._each(
            tuple(
                "none" if b is None else f"± {b:.3g}, {n} of {self.n_checked} held"
                for b, n in zip(self.before, self.held, strict=True)
            )
        )
        return (
            f"{100 * self.level:g} % intervals of {widths} on average hold the truth on "
            f"{100 * self.low:.0f}-{100 * self.high:.0f} % of the other tasks, measured on {self.n_checked:,} checked "
            f"tasks (before gold: {before})"
        )

    def _each(self, texts: tuple[str, ...]) -> str:
        if len(texts) == 1:
            return texts[0]
        return "; ".join(f"{part}: {text}" for part, text in zip(self.parts, texts, strict=True))

    def _advice(self, written: str) -> str:
        n = min(TO_CHECK, self.n_tasks)
        return f"label these {n:,} to know ({written})" if written else f"label {n:,} tasks at random to know"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "checked": self.n_checked,
            "level": self.level,
            "half_width": [None if np.isnan(half) else half for half in self.half],
            "held": list(self.held),
            "half_width_before": list(self.before),
            "low": self.low if self.n_checked else None,
            "high": self.high if self.n_checked else None,
            "reason": self.reason or None,
        }


def trust(result: Result, error: float = ERROR) -> NumberTrust:
    """What can be said of a result of numbers; a number is not right or wrong, so no share `error` ships."""
    del error
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    free = np.asarray(result.labels_per_task) > 0
    if result.gold is not None:
        free &= ~np.asarray(result.gold)
    half = [_mean((estimate.high - estimate.low)[free, j] / 2) for j in range(len(estimate.parts))]
    level, parts = float(result.params.get("level", 0.9)), tuple(str(part) for part in estimate.parts.to_list())
    check = result.extra.get("gold_check") or {}
    if "held" not in check:
        return NumberTrust(result.n_tasks, level, parts, tuple(half), reason=str(check.get("reason", "")))
    return NumberTrust(
        result.n_tasks, level, parts, tuple(half), int(check["n"]), tuple(check["held"]), tuple(check["before"]),
        float(check["low"]), float(check["high"]),
    )  # fmt: skip


def _mean(values: Any) -> float:
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("nan")
