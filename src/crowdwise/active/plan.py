"""`plan`: which tasks should get how many more votes, from which workers, with the expected gain and cost.

What each task needs, and the gain of more votes, comes from `scoring.recommendations`, which the report and the summary
of a fit use too. A budget goes where a vote brings most (`allocate.steps`); for each task those workers are chosen who
bring most information per cost, by their confusions, if they have not answered it and have capacity. If more votes of
the same crowd cannot help, an expert is recommended, with the reason. A task that would take too many votes needs an
expert too, unless a budget is better spent on it than elsewhere.

The forecast starts at the known accuracy: measured on checked tasks, else from crowds with known truth. For other
methods the accuracy is unknown, and only the gain is forecast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8
from ..core.errors import DataError, ParameterError
from ..core.method_registry import default_method
from ..core.method_registry import method as make
from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.statement import Trust, trust
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.scoring.recommendations import (
    EXPERT,
    MAX_VOTES,
    NOTHING,
    VOTE,
    Recommendations,
    forecast_gains,
    recommend,
)
from ..kinds.classes.scoring.tasks import contested
from .allocate import steps
from .by_loss import LossPlan
from .records import AvailableWorkers, available_workers, coded, table_of

EVERYBODY = "all available workers have answered it"


@dataclass(frozen=True)
class Plan:
    """Plan for further votes.

    Attributes:
        tasks: A row for each task that needs something, most useful first: task, label, confidence, n_labels, todo
            ("vote", "expert"), votes, gain (in the probability that the label is right), cost, ask (names), why.
        rise: Expected gain in the share of right labels.
        accuracy: That share now and after the votes; None if it is unknown.
        n_votes: Number of votes.
        cost: Their cost.
        budget: The budget, if any.
        n_tasks: Number of tasks.
        n_new: Number of available workers without answers so far.
        need: The recommendations that the plan is based on.
        trust: The trust statement of the labels.
    """

    tasks: pl.DataFrame
    rise: float
    accuracy: tuple[float, float] | None
    n_votes: int
    cost: float
    budget: float | None
    n_tasks: int
    n_new: int
    need: Recommendations
    trust: Trust

    def since(self, level: float) -> Plan:
        """Return the plan with a forecast that starts at this share of right labels."""
        return replace(self, accuracy=(level, min(level + self.rise, 1.0)))

    @property
    def n_vote(self) -> int:
        """Number of tasks that get more votes."""
        return int((self.tasks["votes"] > 0).sum())

    @property
    def n_expert(self) -> int:
        """Number of tasks that more votes of this crowd would not settle."""
        return int((self.tasks["todo"] == "expert").sum())

    @property
    def n_later(self) -> int:
        """Number of tasks that more votes would help but the budget does not reach."""
        return int(((self.tasks["todo"] == "vote") & (self.tasks["votes"] == 0)).sum())

    def sentences(self) -> list[str]:
        """Return the plan in sentences."""
        out = []
        if self.n_votes:
            where = f"{self.n_vote:,} {'task' if self.n_vote == 1 else 'tasks'}"
            out.append(
                f"{self.n_votes:,} more vote{'s' * (self.n_votes > 1)} on {where} at a cost of {self.cost:g}: "
                f"the forecast is a rise {self._forecast()} of the labels right"
            )
        else:
            out.append("no further vote is worth its cost")
        if self.n_later:
            out.append(f"{self.n_later:,} more tasks would gain from votes, but the budget does not reach them")
        if self.n_expert:
            subject = "1 task needs" if self.n_expert == 1 else f"{self.n_expert:,} tasks need"
            out.append(f"{subject} an expert: more votes of this crowd would hardly help")
        if self.n_new:
            out.append(f"{self.n_new:,} of the workers have no answers yet: they count as average workers")
        if self.budget is not None and self.cost < self.budget and not self.n_later:
            out.append(f"{self.budget - self.cost:g} of the budget of {self.budget:g} need not be spent")
        return out

    def _forecast(self) -> str:
        if self.accuracy is None:
            return f"by about {100 * self.rise:.1f} percentage points"
        before, after = (f"{share:.1%}" for share in self.accuracy)
        if before == after:
            return f"by less than 0.1 percentage points from about {before}"
        return f"from about {before} to about {after}"

    def to_table(self) -> pl.DataFrame:
        """Return `tasks` with the workers to ask as one text, for files."""
        return self.tasks.with_columns(pl.col("ask").list.eval(pl.element().cast(pl.String)).list.join("; "))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        names = ("n_votes", "cost", "budget", "n_tasks", "n_vote", "n_expert", "n_later", "n_new")
        before, after = self.accuracy or (None, None)
        level = {"rise": self.rise, "accuracy_now": before, "accuracy_then": after, "trust": self.trust.to_dict()}
        return {name: getattr(self, name) for name in names} | level | {"tasks": self.tasks.to_dicts()}


def plan(
    votes: Votes[Any], *, budget: float | None = None, result: Result | None = None, **options: Any
) -> Plan | LossPlan:
    """Plan which tasks should get more votes, for any kind of answers that supports it (see `plan_classes`).

    Args:
        votes: The votes.
        budget: Budget in the unit of `cost`; None for all votes that are worth their cost.
        result: A result of these votes; by default of the default method.
        **options: Options of the kind.

    Returns:
        The plan; for kinds that are no classes a `LossPlan` by the expected loss under the kind's own distance.

    >>> import crowdwise as cw
    >>> votes = cw.simulate.scenario("one_coin", tasks=50, labels=2).annotations
    >>> cw.active.plan(votes, budget=10).n_votes
    10
    """
    return votes.kind.hooks.plan(votes, budget=budget, result=result, **options)


def plan_classes(
    votes: Annotations,
    *,
    budget: float | None = None,
    result: Result | None = None,
    workers: Sequence[Any] | None = None,
    cost: float | Mapping[Any, float] = 1.0,
    load: int | None = None,
    pairs: Any = None,
    gold: Any = None,
    error: float | None = None,
) -> Plan:
    """Plan which tasks of classes should get more votes.

    Args:
        votes: The votes.
        budget: Budget in the unit of `cost`; None for all votes that are worth their cost.
        result: A result of these votes; by default of the default method.
        workers: Available workers (None: all who answered); a new name counts as an average worker.
        cost: Cost of a vote, or of each worker's votes.
        load: Maximum number of tasks of one worker.
        pairs: Allowed pairs, if not everyone may answer everything: a table with the columns task and worker, or (task,
            worker) tuples.
        gold: Known labels.
        error: Labels that can ship with at most this share of them wrong need nothing.

    Returns:
        The plan.
    """
    if budget is not None and not (budget >= 0 and np.isfinite(budget)):
        raise ParameterError(f"the budget must be 0 or more, got {budget}")
    result = make(default_method(votes, gold)).fit(votes, gold=gold) if result is None else result
    if len(result.tasks) != votes.n_tasks:
        raise DataError(f"the result of {result.method} is from other votes; fit it on these")
    need = recommend(votes, result, error)
    allowed_pairs = None if pairs is None else table_of(pairs)
    anyone = workers is None and allowed_pairs is None
    if allowed_pairs is not None and workers is None:
        workers = allowed_pairs["worker"].unique().sort().to_list()
    pool = available_workers(votes, result, workers, cost, load)
    if allowed_pairs is not None:
        pool.only(*coded(allowed_pairs, votes, pool.names))
    needed = float(np.nan_to_num(need.votes).sum())
    n_votes = needed if budget is None else budget / max(pool.cheapest, 1e-12)
    pool.expect(n_votes)
    # Without a budget and restrictions, the forecast by which tasks were chosen, the same on every page.
    gain = need.gain if anyone and budget is None else forecast_gains(votes, result, need, pool.likely(n_votes))
    n_given, names, spent = _spend(need, gain, pool, votes, budget)
    brings = np.where(n_given > 0, gain[np.arange(len(n_given)), np.clip(n_given, 1, MAX_VOTES) - 1], 0.0)
    table = _table(votes, result, need, pool, n_given, brings, names, spent)
    # The accuracy is that of the labels whose truth was not given.
    others = votes.n_tasks if result.gold is None else int((~np.asarray(result.gold)).sum())
    rise = float(table["gain"].sum()) / max(others, 1)
    level = trust(result, error)
    plan_ = Plan(
        table, rise, None, int(n_given.sum()), float(spent.sum()), budget, votes.n_tasks, pool.n_new, need, level
    )
    return plan_ if level.share is None else plan_.since(level.share[0])


def _spend(
    need: Recommendations, gain: F8, pool: AvailableWorkers, votes: Annotations, budget: float | None
) -> tuple[npt.NDArray[np.int64], dict[int, list[Any]], F8]:
    """Return votes, names and cost of each task: step by step, best first, within the budget."""
    n = votes.n_tasks
    n_given, names, spent = np.zeros(n, np.int64), {}, np.zeros(n)  # type: ignore[var-annotated]
    most = np.minimum(np.where(need.is_stuck, 0, MAX_VOTES), pool.room)
    if budget is None:  # only votes that are worth their cost
        most = np.where(need.kind == VOTE, np.minimum(most, np.nan_to_num(need.votes, nan=0.0)), 0).astype(np.int64)
    task, count, _ = steps(gain, most)
    if budget is None:  # including steps without measurable gain
        task = np.concatenate([task, np.flatnonzero(most)])
        count = np.concatenate([count, most[most > 0]])
    left = np.inf if budget is None else budget
    for t, m in zip(task.tolist(), count.tolist(), strict=True):
        for worker, price in pool.best(t, min(m, int(most[t] - n_given[t])), left):
            names.setdefault(t, []).append(worker)
            n_given[t] += 1
            spent[t] += price
            left -= price
        if left < pool.cheapest:
            break
    return n_given, names, spent


def _table(
    votes: Annotations,
    result: Result,
    need: Recommendations,
    pool: AvailableWorkers,
    n_given: npt.NDArray[np.int64],
    gain: F8,
    names: dict[int, list[Any]],
    spent: F8,
) -> pl.DataFrame:
    stuck = (pool.room == 0) & (need.kind != NOTHING) & ~need.is_stuck
    reasons = contested(votes, result, recommendations=need).select("task", "why")
    todo = np.where(((need.kind == EXPERT) & (n_given == 0)) | stuck, "expert", "vote")
    listed = (need.kind != NOTHING) | (n_given > 0)
    order = np.lexsort((result.confidence, -gain / np.maximum(n_given, 1), todo == "expert"))
    table = pl.DataFrame(
        {
            "task": result.tasks,
            "label": result.classes.gather(result.labels),
            "confidence": result.confidence,
            "n_labels": votes.labels_per_task,
            "todo": todo,
            "votes": n_given,
            "gain": gain,
            "cost": spent,
            "ask": pl.Series([names.get(t, []) for t in range(len(n_given))], dtype=pl.List(votes.workers.dtype)),
        }
    ).join(reasons, on="task", how="left", maintain_order="left")
    why = np.where(stuck, EVERYBODY, table["why"].fill_null("").to_numpy())
    table = table.with_columns(pl.Series("why", why.tolist(), dtype=pl.String))
    return table.select(pl.all().gather(order[listed[order]]))
