"""Choose the labels that can ship over tasks in parts, as evaluation/statement.py does in memory.

Columns are read part by part, once for each question; memory does not grow with the number of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, Mask
from ..evaluation.guarantee import sequential
from ..evaluation.statement import (
    ACCEPT,
    ESTIMATE,
    MIN_CHECKED,
    OWN,
    RISK,
    UNKNOWN,
    Trust,
    settled_at,
    stored_calibration,
)
from ..stats.gold_calibration import GoldCalibration, shippable
from .ranked import BLOCK, UNITS, Ranked, units

if TYPE_CHECKING:
    from .partitioned_result import PartitionedResult

Columns = dict[str, npt.NDArray[Any]]
# The confidence of a label that is certain.
SURE = 1 - 1e-9


@dataclass(frozen=True)
class ShippingRule:
    """Labels that can ship: those confirmed by gold, and open ones with at least `least` units in `column`."""

    column: str = "confidence"
    least: int = UNITS + 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `of` reads."""
        more = ("blind_same", "blind_hit") if self.column.startswith("blind_") else ()
        return (*dict.fromkeys(["n_labels", "gold", "confidence", self.column]), *more)

    def of(self, part: Columns) -> Mask:
        """Return which labels of a part ship. A label that gold changed does not, if the fit was checked."""
        open_tasks = (part["n_labels"] > 0) & ~part["gold"]
        chosen = open_tasks & (units(part[self.column]) >= self.least)
        is_right = part["gold"] & (part["confidence"] >= SURE)
        if "blind_same" in part:
            same = part["blind_same"] > 0
            chosen, is_right = chosen & same, is_right | (same & (part["blind_hit"] > 0))
        return np.asarray(chosen | is_right)


# Only labels of gold tasks.
GIVEN = ShippingRule()


@dataclass(frozen=True)
class Shipping:
    """Rules for the labels of a result in parts that can ship."""

    result: PartitionedResult

    def count(self, choice: ShippingRule) -> int:
        """Return the number of labels that ship."""
        return sum(int(choice.of(part).sum()) for part in self.result.columns(*choice.columns))

    def by_own_confidence(self, error: float, lowest: float) -> ShippingRule:
        """Return the rule by the result's own confidence, not below `lowest`, with a mean error of at most `error`."""
        least = _lowest_unit(Ranked(partial(self._values, "confidence")), error, lowest)
        return GIVEN if least is None else ShippingRule("confidence", least)

    def by_estimate(self, learnt: GoldCalibration, error: float) -> ShippingRule:
        """Return the rule by the estimate of `shippable` from the fit without gold."""
        ranked = Ranked(partial(self._values, "blind_confidence"))
        some = np.flatnonzero(ranked.count)
        times = ranked.count[some]
        checked = self._checked["blind_confidence"], self._checked["blind_right"]
        count = shippable(ranked.total[some] / times, *checked, learnt, error, times=times)
        if not count:
            return ShippingRule("blind_confidence")
        ends = np.array([ranked.n - count, max(ranked.n - count - 1, 0)])
        last, following = units(ranked.at(ends))
        # Tasks with the confidence of the last one ship together or not at all.
        includes_ties = count >= ranked.n or following < last
        return ShippingRule("blind_confidence", int(last) if includes_ties else int(last) + 1)

    def by_promise(self, error: float, risk: float) -> ShippingRule | None:
        """Return the rule by the guarantee of `accept`, in its order; None if it accepts nothing."""
        threshold, size = sequential.ladder_of(Ranked(partial(self._values, "blind_order", with_checked=True)))
        m, e = sequential.counts_per_step(threshold, self._checked["blind_order"], self._checked["blind_hit"] == 0)
        last = sequential.fixed_sequence(size, m, e, error, risk).last
        if last < 0:
            return None
        return ShippingRule("blind_order", int(units(threshold[last : last + 1])[0]))

    @property
    def n_checked(self) -> int:
        """Number of gold tasks that checked the fit without gold."""
        return len(self._checked["blind_hit"])

    @cached_property
    def _checked(self) -> Columns:
        names = ("blind_confidence", "blind_order", "blind_right", "blind_hit")
        parts = [(part, ~np.isnan(part["blind_right"])) for part in self.result.columns(*names)]
        return {name: np.concatenate([part[name][checked] for part, checked in parts]) for name in names}

    def _values(self, name: str, with_checked: bool = False) -> Iterator[F8]:
        """Yield a column of the open tasks, optionally with the checked ones."""
        more = ("blind_right",) if with_checked else ()
        for part in self.result.columns("n_labels", "gold", name, *more):
            chosen = (part["n_labels"] > 0) & ~part["gold"]
            yield part[name][chosen | ~np.isnan(part["blind_right"]) if with_checked else chosen]


def partitioned_trust(result: PartitionedResult, error: float) -> tuple[Trust, ShippingRule]:
    """Return the statement of a partitioned result, counted part by part, and the rule of the labels that ship."""
    check, shipping = result.extra.get("gold_check") or {}, Shipping(result)
    nothing, reason = np.zeros(0, dtype=bool), str(check.get("reason", ""))
    statement = Trust(result.n_tasks, 0, result.expected_accuracy, nothing, UNKNOWN, error, reason)
    if not check or reason:
        has_estimate = statement.share is not None
        choice = shipping.by_own_confidence(error, settled_at(error)) if has_estimate else GIVEN
        return replace(statement, rule=OWN if has_estimate else UNKNOWN, count=shipping.count(choice)), choice
    calibration = stored_calibration(check)
    choice = shipping.by_estimate(calibration, error)
    statement = replace(statement, n_checked=int(check["n"]), rule=ESTIMATE, count=shipping.count(choice))
    accepted = shipping.by_promise(error, RISK) if shipping.n_checked >= MIN_CHECKED else None
    if accepted is None:
        return statement, choice
    return replace(statement, rule=ACCEPT, estimate=statement.count, count=shipping.count(accepted)), accepted


def mark_parts(result: PartitionedResult, error: float) -> Trust:
    """Write the column "can_ship" into the table of a partitioned result, as `at_error` does in memory."""
    level, choice = partitioned_trust(result, error)

    def marked(part: dict[str, Any]) -> pl.Series:
        ships = pl.Series(choice.of(part))
        return ships if level.counted else ships.set(~ships, None)  # null: unknown

    result.add_column("can_ship", marked, *choice.columns)
    return level


def _lowest_unit(ranked: Ranked, error: float, lowest: float) -> int | None:
    """Return the lowest number, in units, down to which the mean of 1 - number is at most `error`, or `lowest`."""
    count, doubt = ranked.count[::-1], (ranked.count - ranked.total)[::-1]
    n, wrong = np.cumsum(count), np.cumsum(doubt)
    # The mean increases with falling confidence, so it crosses `error` in one block.
    n_blocks = int(((wrong <= error * n) & (n > 0)).sum() + (n == 0).sum())
    least = units(np.array([lowest - 1e-12]))[0]
    block = len(count) - 1 - n_blocks  # the block of the crossing; -1 if there is none
    lowest_unit = (block + 1) * BLOCK if n_blocks and n[n_blocks - 1] else None
    if block >= 0:
        inside = ranked.within(np.array([block]))[0][::-1]
        number = (block * BLOCK + np.arange(BLOCK))[::-1]
        before = (n[n_blocks - 1], wrong[n_blocks - 1]) if n_blocks else (0, 0.0)
        total = before[0] + np.cumsum(inside)
        mean = (before[1] + np.cumsum(inside * (1 - number / UNITS))) / np.maximum(total, 1)
        within = np.flatnonzero((mean <= error) & (inside > 0))
        if len(within):
            lowest_unit = int(number[within[-1]])
    return None if lowest_unit is None else max(lowest_unit, int(least))
