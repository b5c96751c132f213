"""Plans of further votes for kinds of answers that are no classes: votes go where the expected loss falls most.

The loss of a task is the kind's own distance between its estimate and the truth. It is unknown, and forecast from the
disagreement of the task's answers: as the standard error of a mean, the loss of the estimate of n answers is about the
distance between two answers divided by sqrt(2 n). The distance of each task is shrunk to the mean of all. Kinds with a
model of their estimates (numbers, comparisons, triplets) state their expected losses themselves (the hook
`expected_loss`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.arrays import F8, I8
from ..core.errors import DataError, ParameterError
from ..core.method_registry import default_method
from ..core.method_registry import method as make
from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.statement import outlook
from ..stats.ragged import spread, sums
from .allocate import steps
from .records import coded, equal_workers, table_of

# Maximum number of further votes of a task.
MOST = 5
# Number of pairs of answers by which the disagreement of a task is shrunk to that of all tasks.
STRENGTH = 3.0
# A task without answers counts as one with this number of them.
NONE = 0.25
# Without a budget a vote is worth its cost if it lowers the loss by this share of the mean loss of all tasks.
WORTH = 0.1


@dataclass(frozen=True)
class LossPlan:
    """Plan for further votes.

    Attributes:
        tasks: A row for each task that gets votes, most useful first: task, label (the estimate as text), loss
            (expected now), n_labels, todo ("vote"), votes, gain (in the loss), cost, ask (names), why.
        loss: Expected mean loss of all tasks now and after the votes.
        measure: What the loss is.
        n_votes: Number of votes.
        cost: Their cost.
        budget: The budget, if any.
        n_tasks: Number of tasks.
        n_new: Number of available workers without answers so far.
        level: What is known about the accuracy, as a sentence.
    """

    tasks: pl.DataFrame
    loss: tuple[float, float]
    measure: str
    n_votes: int
    cost: float
    budget: float | None
    n_tasks: int
    n_new: int
    level: str

    def sentences(self) -> list[str]:
        """Return the plan in sentences."""
        before, after = self.loss
        if not self.n_votes:
            return ["no further vote is worth its cost"]
        where = f"{len(self.tasks):,} {'task' if len(self.tasks) == 1 else 'tasks'}"
        out = [
            f"{self.n_votes:,} more vote{'s' * (self.n_votes > 1)} on {where} at a cost of {self.cost:g}: the mean "
            f"{self.measure} is forecast to fall from about {before:.3g} to about {after:.3g}"
        ]
        if self.n_new:
            out.append(f"{self.n_new:,} of the workers have no answers yet")
        if self.budget is not None and self.cost < self.budget:
            out.append(f"{self.budget - self.cost:g} of the budget of {self.budget:g} need not be spent")
        return out

    def to_table(self) -> pl.DataFrame:
        """Return `tasks` with the workers to ask as one text, for files."""
        return self.tasks.with_columns(pl.col("ask").list.eval(pl.element().cast(pl.String)).list.join("; "))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("n_votes", "cost", "budget", "n_tasks", "n_new", "measure")
        before, after = self.loss
        level = {"loss_now": before, "loss_then": after}
        return {name: getattr(self, name) for name in names} | level | {"tasks": self.tasks.to_dicts()}


def plan_by_loss(
    votes: Votes[Any],
    *,
    budget: float | None = None,
    result: Result | None = None,
    workers: Sequence[Any] | None = None,
    cost: float | Mapping[Any, float] = 1.0,
    load: int | None = None,
    pairs: Any = None,
    gold: Any = None,
    error: float | None = None,
) -> LossPlan:
    """Plan which tasks should get more votes. The arguments are those of `plan_classes`."""
    if budget is not None and not (budget >= 0 and np.isfinite(budget)):
        raise ParameterError(f"the budget must be 0 or more, got {budget}")
    result = make(default_method(votes, gold)).fit(votes, gold=gold) if result is None else result
    if len(result.tasks) != votes.n_tasks:
        raise DataError(f"the result of {result.method} is from other votes; fit it on these")
    allowed = None if pairs is None else table_of(pairs)
    if allowed is not None and workers is None:
        workers = allowed["worker"].unique().sort().to_list()
    pool = equal_workers(votes, workers, cost, load)
    if allowed is not None:
        pool.only(*coded(allowed, votes, pool.names))
    loss = votes.kind.hooks.expected_loss(votes, result)
    if result.gold is not None:
        loss = np.where(np.asarray(result.gold), 0.0, loss)
    gain = gains(loss, votes.labels_per_task)
    most = np.minimum(MOST, pool.room)
    pool.expect(float(most.sum()) if budget is None else budget / max(pool.cheapest, 1e-12))
    task, count, brings = steps(gain, most)
    if budget is None:
        worth = brings >= WORTH * float(loss.mean())
        task, count = task[worth], count[worth]
    given = np.zeros(votes.n_tasks, np.int64)
    spent, left = np.zeros(votes.n_tasks), np.inf if budget is None else budget
    names: dict[int, list[Any]] = {}
    for t, m in zip(task.tolist(), count.tolist(), strict=True):
        for worker, price in pool.best(t, m, left):
            names.setdefault(t, []).append(worker)
            given[t] += 1
            spent[t] += price
            left -= price
        if left < pool.cheapest:
            break
    change = np.where(given > 0, gain[np.arange(len(given)), np.clip(given, 1, MOST) - 1], 0.0)
    table = _table(votes, result, loss, given, change, spent, names)
    now = float(loss.mean()) if len(loss) else 0.0
    then = now - float(change.sum()) / max(votes.n_tasks, 1)
    return LossPlan(
        table, (now, then), votes.kind.hooks.loss_name, int(given.sum()), float(spent.sum()), budget, votes.n_tasks,
        pool.n_new, outlook(result, error),
    )  # fmt: skip


def gains(loss: F8, n: I8) -> F8:
    """Return gain[task, m - 1], by which m further votes lower the expected loss; a loss falls as 1 / sqrt(n)."""
    more = np.arange(1, MOST + 1)
    had = np.where(n > 0, n, NONE)[:, None]
    return np.asarray(loss[:, None] * (1 - np.sqrt(had / (n[:, None] + more))))


def loss_of_disagreement(votes: Votes[Any]) -> F8:
    """Return the expected loss of each task's estimate from the mean distance between its answers."""
    begin, size = votes.task_offsets[:-1], votes.labels_per_task
    # Each answer with all later ones of its task.
    row = np.arange(len(votes))
    after = (begin + size)[votes.task] - row - 1
    first, second = spread(row + 1, after)
    total, pairs = np.zeros(votes.n_tasks), np.zeros(votes.n_tasks)
    if len(first):
        distance = votes.kind.hooks.distance(votes.answers, first, second)
        total = sums(distance, votes.task[first], votes.n_tasks)
        pairs = sums(np.ones(len(first)), votes.task[first], votes.n_tasks)
    mean = float(total.sum() / pairs.sum()) if pairs.any() else 0.5
    shrunk = (total + STRENGTH * mean) / (pairs + STRENGTH)
    loss: F8 = np.minimum(shrunk / np.sqrt(2 * np.where(size > 0, size, NONE)), 1.0)
    return loss


def _table(
    votes: Votes[Any], result: Result, loss: F8, given: I8, change: F8, spent: F8, names: dict[int, list[Any]]
) -> pl.DataFrame:
    written = result.to_table()
    column = next((name for name in votes.kind.columns if name in written.columns), None)
    shown = pl.Series("label", [""] * votes.n_tasks) if column is None else written[column].cast(pl.String)
    if len(shown) != votes.n_tasks:
        shown = pl.Series("label", [""] * votes.n_tasks)
    order = np.lexsort((-loss, -change / np.maximum(given, 1)))
    usual = float(np.median(loss)) if len(loss) else 0.0
    why = ["no answers yet" if n == 0 else "a single answer" if n == 1 else "its answers differ" if x > usual
           else "few answers" for n, x in zip(votes.labels_per_task.tolist(), loss.tolist(), strict=True)]  # fmt: skip
    table = pl.DataFrame(
        {
            "task": result.tasks, "label": shown.alias("label"), "loss": loss, "n_labels": votes.labels_per_task,
            "todo": "vote", "votes": given, "gain": change, "cost": spent,
            "ask": pl.Series([names.get(t, []) for t in range(len(given))], dtype=pl.List(votes.workers.dtype)),
            "why": why,
        }
    )  # fmt: skip
    return table.select(pl.all().gather(order[given[order] > 0]))
