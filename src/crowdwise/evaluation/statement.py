"""Trust statement: how many labels are right and how many can ship, shared by terminal, report and advice.

With gold the share of right labels is measured, with an interval, and the labels that can ship with at most a share
`error` of them wrong are counted: by the guarantee of `accept` if enough tasks were checked and it accepts anything,
else by an estimate. If both exist, both are stated.

Without gold nothing is measured: the statement gives the accuracy of similar crowds and how many tasks to check. Labels
are counted by their own confidence only if the method's confidence was validated on crowds with known truth
(`expected_accuracy`); for every other method it is unknown which labels can ship.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from ..core.arrays import F8, Mask
from ..core.kind import KindHooks
from ..core.result import Result
from ..stats.gold_calibration import GoldCalibration, shippable
from .guarantee import sequential

if TYPE_CHECKING:
    from ..out_of_core.partitioned_result import PartitionedResult


ERROR = 0.05
# Checked tasks from which on a guarantee is tried, and the probability with which it may fail.
MIN_CHECKED, RISK = 50, 0.1
# Number of tasks to check first.
TO_CHECK = 60
# The rule by which labels ship.
ACCEPT, ESTIMATE, OWN, UNKNOWN = "accept", "an estimate", "by its own confidence, unchecked", "unknown"


@dataclass(frozen=True)
class Trust:
    """How many labels are right, and which can ship.

    Attributes:
        n_tasks: Number of tasks.
        n_checked: Number of checked tasks that the share was measured on; 0 if nothing was measured.
        share: Share of right labels among the tasks without gold as (mean, low, high).
        ships: Mask of the labels that can ship at `error` by `rule`; if the rule is unknown, only those whose truth was
            given. For other kinds it has an entry for each decision.
        rule: ACCEPT, ESTIMATE, OWN or UNKNOWN.
        error: Highest share of wrong labels among those that ship.
        reason: Why gold was not used.
        words: What the decisions are called in messages.
        meaning: What makes a decision right.
        estimate: How many ship by the estimate, if the rule is ACCEPT.
        count: How many ship, of a partitioned result, which has no `ships`.
    """

    n_tasks: int
    n_checked: int
    share: tuple[float, float, float] | None
    ships: Mask
    rule: str
    error: float
    reason: str = ""
    words: str = "labels"
    meaning: str = ""
    estimate: int | None = None
    count: int | None = None

    @property
    def n_ship(self) -> int:
        """How many labels can ship, checked tasks included."""
        return int(self.ships.sum()) if self.count is None else self.count

    @property
    def n_decisions(self) -> int:
        """How many labels (or other decisions) there are."""
        return self.n_tasks if self.words == "labels" else len(self.ships)

    @property
    def measured(self) -> bool:
        """Whether the share was measured on checked tasks."""
        return self.n_checked > 0

    @property
    def n_to_check(self) -> int:
        """How many tasks to check first."""
        return min(TO_CHECK, self.n_tasks)

    @property
    def level(self) -> float:
        """The confidence from which on a label counts as settled; none below it ships by its own confidence."""
        return settled_at(self.error)

    @property
    def counted(self) -> bool:
        """Whether it is known, or at least estimated, which labels can ship."""
        return self.rule != UNKNOWN

    def sentence(self, written: str = "") -> str:
        """Return the statement without a full stop; `written` names a file with tasks to check."""
        if self.measured and self.share is not None:
            mean, low, high = self.share
            meaning = f" ({self.meaning})" if self.meaning else ""
            return (
                f"about {100 * mean:.0f} % ({100 * low:.0f}-{100 * high:.0f}) of the {self.words} are right{meaning}, "
                f"measured on {self.n_checked:,} checked tasks; {self.shipping()}"
            )
        reason = self.reason or "no task has been checked"
        ship = f"; {self.shipping()}" if self.counted and self.n_ship else ""
        if self.share is None:
            return f"{reason}; {self._advice(written)}{ship}"
        _, low, high = self.share
        similar = f"similar crowds were {100 * low:.0f}-{100 * high:.0f} % right"
        return f"{reason}: {similar}; {self._advice(written)}{ship}"

    def shipping(self) -> str:
        """Return how many can ship, and by which rule."""
        out = (
            f"{self.n_ship:,} of {self.n_decisions:,} can ship with at most {100 * self.error:g} % wrong ({self.rule})"
        )
        differs = self.estimate is not None and self.estimate != self.n_ship
        return f"{out}; about {self.estimate:,} by an estimate" if differs else out

    def _advice(self, written: str) -> str:
        if written:
            return f"label these {self.n_to_check:,} to know ({written})"
        return f"label {self.n_to_check:,} tasks at random to know"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        mean, low, high = self.share if self.share is not None else (None, None, None)
        return {
            "checked": self.n_checked, "right": mean, "low": low, "high": high, "error": self.error,
            "ship": self.n_ship if self.counted else None, "ship_estimate": self.estimate, "rule": self.rule,
            "reason": self.reason or None,
        }  # fmt: skip


def settled_at(error: float) -> float:
    """Return the lowest confidence at which a label ships by its own confidence, for at most this share of errors."""
    return 1 - 2 * error


def error_of(result: Result, error: float | None = None) -> float:
    """Return the share of wrong labels that may ship: as given, else as recorded with the result, else ERROR."""
    return float(result.extra.get("error", ERROR)) if error is None else error


def at_error(result: Result, error: float) -> Result:
    """Return the result with this error recorded.

    For classes `extra["can_ship"]` marks the labels that can ship (1 or 0 for each task, NaN if unknown), which
    `to_table` shows.
    """
    extra = {**result.extra, "error": float(error)}
    if result.kind.name == "classes" and not result.in_parts:
        level = trust(result, error)
        extra["can_ship"] = np.where(level.ships, 1.0, 0.0 if level.counted else np.nan)
    return replace(result, extra=extra)


def trust(result: Result, error: float | None = None) -> Trust:
    """Return the trust statement of a result of classes, for at most a share `error` of wrong labels among those that
    ship.
    """
    n, error = result.n_tasks, error_of(result, error)
    check = result.extra.get("gold_check") or {}
    reason = str(check.get("reason", ""))
    expected = result.expected_accuracy
    if result.in_parts:
        return cast("PartitionedResult", result).trust(error)
    gold = np.zeros(n, dtype=bool) if result.gold is None else np.asarray(result.gold)
    open_tasks = (np.asarray(result.labels_per_task) > 0) & ~gold
    is_given = gold & (result.confidence >= 1 - 1e-9)  # the truth that the fit was given; other gold only judged it
    if check and not reason:
        return _measured(result, check, open_tasks, is_given, error)
    if expected is None:
        return Trust(n, 0, None, is_given, UNKNOWN, error, reason)
    ships = is_given | most_confident(result.confidence, open_tasks, own_count(result.confidence[open_tasks], error))
    return Trust(n, 0, expected, ships, OWN, error, reason)


def stored_calibration(check: dict[str, Any]) -> GoldCalibration:
    """Return the calibration stored in extra["gold_check"] of a result."""
    return GoldCalibration(check["slope"], check["shift"], check["centre"])


def _measured(result: Result, check: dict[str, Any], tasks: Mask, is_given: Mask, error: float) -> Trust:
    """Return the statement of a calibrated result.

    What ships is decided on the fit without gold, in the order of `accept`; a label that changed with the gold does not
    ship.
    """
    blind, same, right = (np.asarray(result.extra[f"blind_{name}"]) for name in ("confidence", "same", "right"))
    # Results of earlier versions have no order and no hits.
    order, hit = (
        np.asarray(result.extra.get(name, past)) for name, past in (("blind_order", blind), ("blind_hit", right))
    )
    checked = ~np.isnan(right)
    is_given = is_given | (checked & (same > 0) & (hit > 0))
    calibration = stored_calibration(check)
    count = shippable(blind[tasks], blind[checked], right[checked], calibration, error)
    by_estimate = is_given | (most_confident(blind, tasks, count) & (same > 0))
    statement = Trust(result.n_tasks, int(check["n"]), result.expected_accuracy, by_estimate, ESTIMATE, error)
    if checked.sum() < MIN_CHECKED:
        return statement
    accepted = sequential.accepted(order, tasks | checked, checked, hit == 0, error, RISK)
    if accepted is None:
        return statement
    ships = is_given | (accepted & tasks & (same > 0))
    return replace(statement, ships=ships, rule=ACCEPT, estimate=statement.n_ship)


def own_count(confidence: F8, error: float) -> int:
    """Return how many of the most confident labels have a mean error of at most `error` by their own confidence.

    No label counts whose error exceeds twice that.
    """
    doubt = np.sort(1 - confidence)
    mean = np.cumsum(doubt) / np.arange(1, len(doubt) + 1)
    passing = np.flatnonzero((mean <= error) & (doubt <= 1 - settled_at(error) + 1e-12))
    return int(passing[-1]) + 1 if len(passing) else 0


def most_confident(confidence: F8, among: Mask, count: int) -> Mask:
    """Return the mask of the `count` most confident tasks; ties at the end are included or excluded together."""
    out = np.zeros(len(confidence), dtype=bool)
    if not count:
        return out
    values = np.sort(confidence[among])[::-1]
    last = values[count - 1]
    includes_ties = count >= len(values) or values[count] < last - 1e-12
    return np.asarray(among & (confidence >= last - 1e-12 if includes_ties else confidence > last + 1e-12))


# ----------------------------------------------------------------
# The statement in words, with which terminal and report begin, for every kind of answer.


class Statement(Protocol):
    """What the hook `statement` of a kind returns."""

    def sentence(self, written: str = "") -> str:
        """Return the statement without a full stop; `written` names a file with tasks to check."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""


def statement(result: Result, error: float | None = None) -> Statement | None:
    """Return the trust statement of a result; None if its kind has none."""
    if not result.kind.hooks.supports(KindHooks.statement):
        return None
    result_statement: Statement = result.kind.hooks.statement(result, error_of(result, error))
    return result_statement


def outlook(result: Result, error: float | None = None, written: str = "") -> str:
    """Return one sentence without a full stop: what was measured on checked tasks, or that nothing was."""
    statement_ = statement(result, error)
    if statement_ is None:
        return (
            f"the accuracy of {result.kind.display_name} can only be measured with known answers (crowdwise evaluate)"
        )
    return statement_.sentence(written)
