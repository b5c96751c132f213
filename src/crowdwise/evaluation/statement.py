"""How far labels can be trusted, as one statement that terminal, report and advice share.

With gold the share of right labels is measured, with an interval, and the labels that can ship with at most a share
`error` of them wrong are counted: by the promise of `accept` where enough tasks were checked and it accepts anything,
else as an estimate. Where both can be had, both are stated.
Without gold nothing is measured: what similar crowds had is stated, and how many tasks to check. Labels are counted by
their own confidence only where the method's confidence was measured on crowds with known truth (`expected_accuracy`);
of every other method's labels it is unknown which can ship.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.kind import KindHooks
from ..core.result import Result
from ..stats.gold_calibration import GoldCalibration, shippable
from .guarantee import sequential as walks

if TYPE_CHECKING:
    from ..core.result import Result
    from ..out_of_core.shipping import Choice

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

ERROR = 0.05
# From so many checked tasks on a promise is tried; how often it may fail.
PROMISE, RISK = 50, 0.1
# Tasks to check before anything is known.
TO_CHECK = 60
# By what labels ship; without gold by the method's own confidence, or nobody knows.
ACCEPT, ESTIMATE, OWN, UNKNOWN = "accept", "an estimate", "by its own confidence, unchecked", "unknown"


@dataclass(frozen=True)
class Trust:
    """`share` of right labels among tasks without gold, as (mean, low, high); `ships[task]` labels that can ship at
    `error`, by `rule` (where it is unknown, only those whose truth was given); `n_checked` tasks measured it (0:
    nothing was). `estimate`: how many ship by the estimate, where the rule is accept. `reason`: why gold was not used.

    Of other kinds `ships` has an entry for each decision (spans, boxes, ...), which are called `words`; `meaning` says
    what makes one right."""

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
    count: int | None = None  # of a result in parts, which has no `ships`

    @property
    def n_ship(self) -> int:
        """How many labels can ship; checked tasks, whose truth is known, count."""
        return int(self.ships.sum()) if self.count is None else self.count

    @property
    def n_decisions(self) -> int:
        """How many labels, or other decisions, there are."""
        return self.n_tasks if self.words == "labels" else len(self.ships)

    @property
    def measured(self) -> bool:
        """Whether the share rests on checked tasks."""
        return self.n_checked > 0

    @property
    def n_to_check(self) -> int:
        """How many tasks to check first."""
        return min(TO_CHECK, self.n_tasks)

    @property
    def level(self) -> float:
        """The confidence from which on a label counts as settled: none below it ships by its own confidence."""
        return settled_at(self.error)

    @property
    def counted(self) -> bool:
        """Whether it is known, or at least estimated, which labels can ship."""
        return self.rule != UNKNOWN

    def sentence(self, written: str = "") -> str:
        """The statement, without a full stop; `written` names a file with tasks to check."""
        if self.measured and self.share is not None:
            mean, low, high = self.share
            meaning = f" ({self.meaning})" if self.meaning else ""
            return (
                f"about {100 * mean:.0f} % ({100 * low:.0f}-{100 * high:.0f}) of the {self.words} are right{meaning}, "
                f"measured on {self.n_checked:,} checked tasks; {self.shipping()}"
            )
        unknown = self.reason or "no task has been checked"
        ship = f"; {self.shipping()}" if self.counted and self.n_ship else ""
        if self.share is None:
            return f"{unknown}; {self._advice(written)}{ship}"
        _, low, high = self.share
        similar = f"similar crowds were {100 * low:.0f}-{100 * high:.0f} % right"
        return f"{unknown}: {similar}; {self._advice(written)}{ship}"

    def shipping(self) -> str:
        """How many can ship, by which rule."""
        out = (
            f"{self.n_ship:,} of {self.n_decisions:,} can ship with at most {100 * self.error:g} % wrong ({self.rule})"
        )
        other = self.estimate is not None and self.estimate != self.n_ship
        return f"{out}; about {self.estimate:,} by an estimate" if other else out

    def _advice(self, written: str) -> str:
        if written:
            return f"label these {self.n_to_check:,} to know ({written})"
        return f"label {self.n_to_check:,} tasks at random to know"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        mean, low, high = self.share if self.share is not None else (None, None, None)
        return {
            "checked": self.n_checked, "right": mean, "low": low, "high": high, "error": self.error,
            "ship": self.n_ship if self.counted else None, "ship_estimate": self.estimate, "rule": self.rule,
            "reason": self.reason or None,
        }  # fmt: skip


def settled_at(error: float) -> float:
    """The lowest confidence of a label that ships by its own confidence, where shipped labels err so often at most."""
    return 1 - 2 * error


def error_of(result: Result, error: float | None = None) -> float:
    """The share of wrong labels that may ship: as asked for, else as recorded with the result, else ERROR."""
    return float(result.extra.get("error", ERROR)) if error is None else error


def at_error(result: Result, error: float) -> Result:
    """The result with this error recorded, and of classes which labels can ship at it (`extra["can_ship"]`: 1 or 0 for
    each task, NaN where nobody knows), which `to_table` shows."""
    extra = {**result.extra, "error": float(error)}
    if result.kind.name == "classes" and not result.in_parts:
        level = trust(result, error)
        extra["can_ship"] = np.where(level.ships, 1.0, 0.0 if level.counted else np.nan)
    return replace(result, extra=extra)


def trust(result: Result, error: float | None = None) -> Trust:
    """What can be stated of a result of classes, at most a share `error` of shipped labels wrong."""
    n, error = result.n_tasks, error_of(result, error)
    check = result.extra.get("gold_check") or {}
    reason = str(check.get("reason", ""))
    share = result.expected_accuracy
    if result.in_parts:
        return in_parts(result, error)[0]
    gold = np.zeros(n, dtype=bool) if result.gold is None else np.asarray(result.gold)
    tasks = (np.asarray(result.labels_per_task) > 0) & ~gold
    known = gold & (result.confidence >= 1 - 1e-9)  # the truth that the fit was given; other gold only judged it
    if check and not reason:
        return _measured(result, check, tasks, known, error)
    if share is None:
        return Trust(n, 0, None, known, UNKNOWN, error, reason)
    ships = known | surest(result.confidence, tasks, own_count(result.confidence[tasks], error))
    return Trust(n, 0, share, ships, OWN, error, reason)


def _measured(result: Result, check: dict[str, Any], tasks: Mask, known: Mask, error: float) -> Trust:
    """The statement where the fit without gold was judged by gold. What ships is decided on that fit, in the order of
    `accept`; a label that the gold has changed since does not ship."""
    blind, same, right = (np.asarray(result.extra[f"blind_{name}"]) for name in ("confidence", "same", "right"))
    # Runs of earlier versions have no order and no hits.
    order, hit = (
        np.asarray(result.extra.get(name, past)) for name, past in (("blind_order", blind), ("blind_hit", right))
    )
    checked = ~np.isnan(right)
    known = known | (checked & (same > 0) & (hit > 0))
    learnt = GoldCalibration(check["slope"], check["shift"], check["centre"])
    count = shippable(blind[tasks], blind[checked], right[checked], learnt, error)
    by_estimate = known | (surest(blind, tasks, count) & (same > 0))
    made = Trust(result.n_tasks, int(check["n"]), result.expected_accuracy, by_estimate, ESTIMATE, error)
    if checked.sum() < PROMISE:
        return made
    promised = walks.accepted(order, tasks | checked, checked, hit == 0, error, RISK)
    if promised is None:
        return made
    ships = known | (promised & tasks & (same > 0))
    return replace(made, ships=ships, rule=ACCEPT, estimate=made.n_ship)


def in_parts(result: Result, error: float) -> tuple[Trust, Choice]:
    """The same of a result in parts, counted part by part, and by what its labels are chosen."""
    from ..out_of_core.found import FoundInParts
    from ..out_of_core.shipping import GIVEN, Shipping

    assert isinstance(result, FoundInParts)
    check, shipping = result.extra.get("gold_check") or {}, Shipping(result)
    nothing, reason = np.zeros(0, dtype=bool), str(check.get("reason", ""))
    made = Trust(result.n_tasks, 0, result.expected_accuracy, nothing, UNKNOWN, error, reason)
    if not check or reason:
        known = made.share is not None
        choice = shipping.by_own_confidence(error, settled_at(error)) if known else GIVEN
        return replace(made, rule=OWN if known else UNKNOWN, count=shipping.count(choice)), choice
    learnt = GoldCalibration(check["slope"], check["shift"], check["centre"])
    choice = shipping.by_estimate(learnt, error)
    made = replace(made, n_checked=int(check["n"]), rule=ESTIMATE, count=shipping.count(choice))
    promised = shipping.by_promise(error, RISK) if shipping.n_checked >= PROMISE else None
    if promised is None:
        return made, choice
    return replace(made, rule=ACCEPT, estimate=made.count, count=shipping.count(promised)), promised


def mark_parts(result: Result, error: float) -> Trust:
    """Write which labels can ship into the table of a result in parts, as `at_error` does in memory."""
    from ..out_of_core.found import FoundInParts

    assert isinstance(result, FoundInParts)
    level, choice = in_parts(result, error)

    def marked(part: dict[str, Any]) -> pl.Series:
        ships = pl.Series(choice.of(part))
        return ships if level.counted else ships.set(~ships, None)  # null where nobody knows

    result.add_column("can_ship", marked, *choice.columns)
    return level


def own_count(confidence: F8, error: float) -> int:
    """How many of the surest have a mean error of at most `error` by their own confidence, none above twice that."""
    doubt = np.sort(1 - confidence)
    mean = np.cumsum(doubt) / np.arange(1, len(doubt) + 1)
    kept = np.flatnonzero((mean <= error) & (doubt <= 1 - settled_at(error) + 1e-12))
    return int(kept[-1]) + 1 if len(kept) else 0


def surest(confidence: F8, among: Mask, count: int) -> Mask:
    """The `count` surest tasks; tasks as sure as the last one go with it or stay out together."""
    out = np.zeros(len(confidence), dtype=bool)
    if not count:
        return out
    values = np.sort(confidence[among])[::-1]
    last = values[count - 1]
    whole = count >= len(values) or values[count] < last - 1e-12
    return np.asarray(among & (confidence >= last - 1e-12 if whole else confidence > last + 1e-12))


# ----------------------------------------------------------------
# How right a result is, in words: the one sentence that terminal and report begin with, for every kind of answer.


class Statement(Protocol):
    """What the door "trust" of a kind gives."""

    def sentence(self, written: str = "") -> str:
        """The statement, without a full stop; `written` names a file with tasks to check."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""


def statement(result: Result, error: float | None = None) -> Statement | None:
    """What is known of how right a result is; None where its kind has no such statement."""
    if not result.kind.hooks.supports(KindHooks.statement):
        return None
    made: Statement = result.kind.hooks.statement(result, error_of(result, error))
    return made


def outlook(result: Result, error: float | None = None, written: str = "") -> str:
    """One sentence without a full stop: what was measured on checked tasks, or that nothing was."""
    made = statement(result, error)
    if made is None:
        return f"how right {result.kind.people} are, only known answers can show (crowdwise evaluate)"
    return made.sentence(written)
