"""plan: which tasks deserve how many more votes, from whom, what that should bring and what it costs.

What each task needs and what more votes of it would bring comes from `scoring.needs`, which the report and the
sentences after a fit read too. A budget goes where a vote brings most (`allocate.steps`); of each task those are asked
who would tell most about it per cost, by their confusions, as long as they have not answered it and have room. Where
more votes of the same crowd cannot help, an expert is asked for, with the reason. A task that would take too many votes
to be worth it needs an expert too, unless a budget is better spent on it than elsewhere.

The forecast begins at what is known of the level: measured on checked tasks, else learnt from crowds with known truth.
Of other methods the level is not known, and only the rise is forecast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.method_registry import default_method
from ..core.method_registry import method as make
from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.statement import Trust, trust
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.scoring.needs import EXPERT, MOST, NOTHING, VOTE, Needs, gains, needs
from ..kinds.classes.scoring.tasks import contested
from .allocate import steps
from .records import Askable, askable, coded, table_of

F8 = npt.NDArray[np.float64]
EVERYBODY = "everybody who may be asked has answered it"


@dataclass(frozen=True)
class Plan:
    """`tasks` has a row for each task that needs something, what to do first on top: task, label, confidence, n_labels,
    todo ("vote", "expert"), votes, gain (what they add to the probability that the label is right), cost, ask (names),
    why. `rise` is what the votes add to the share of right labels, `accuracy` that share now and after the votes (None
    where nothing is known of it); `n_new` workers who may be asked have not answered anything yet; `need` is what the
    plan was made from, `trust` what is known of the labels."""

    tasks: pl.DataFrame
    rise: float
    accuracy: tuple[float, float] | None
    n_votes: int
    cost: float
    budget: float | None
    n_tasks: int
    n_new: int
    need: Needs
    trust: Trust

    def since(self, level: float) -> Plan:
        """The same plan with a forecast that begins at a measured share of right labels."""
        return replace(self, accuracy=(level, min(level + self.rise, 1.0)))

    @property
    def n_vote(self) -> int:
        """Tasks that get more votes."""
        return int((self.tasks["votes"] > 0).sum())

    @property
    def n_expert(self) -> int:
        """Tasks that more votes of this crowd would not settle."""
        return int((self.tasks["todo"] == "expert").sum())

    @property
    def n_later(self) -> int:
        """Tasks that more votes would help, for which the budget does not reach."""
        return int(((self.tasks["todo"] == "vote") & (self.tasks["votes"] == 0)).sum())

    def sentences(self) -> list[str]:
        """What to do, for people."""
        out = []
        if self.n_votes:
            where = f"{self.n_vote:,} {'task' if self.n_vote == 1 else 'tasks'}"
            out.append(
                f"{self.n_votes:,} more vote{'s' * (self.n_votes > 1)} on {where} for {self.cost:g}: the forecast is a "
                f"rise {self._forecast()} of the labels right"
            )
        else:
            out.append("no vote is worth asking for")
        if self.n_later:
            out.append(f"{self.n_later:,} more tasks would gain by votes; for these the budget does not reach")
        if self.n_expert:
            who = "1 task needs" if self.n_expert == 1 else f"{self.n_expert:,} tasks need"
            out.append(f"{who} an expert: more votes of this crowd would hardly help")
        if self.n_new:
            out.append(f"{self.n_new:,} of the workers have not answered anything yet: they count as average ones")
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
        """`tasks` with the names to ask in one text each, for files."""
        return self.tasks.with_columns(pl.col("ask").list.eval(pl.element().cast(pl.String)).list.join("; "))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("n_votes", "cost", "budget", "n_tasks", "n_vote", "n_expert", "n_later", "n_new")
        before, after = self.accuracy or (None, None)
        level = {"rise": self.rise, "accuracy_now": before, "accuracy_then": after, "trust": self.trust.to_dict()}
        return {name: getattr(self, name) for name in names} | level | {"tasks": self.tasks.to_dicts()}


def plan(votes: Votes[Any], *, budget: float | None = None, result: Result | None = None, **options: Any) -> Plan:
    """What to ask next, for any kind that knows how (see `plan_classes`).

    >>> import crowdwise as cw
    >>> votes = cw.simulate.scenario("one_coin", tasks=50, labels=2).annotations
    >>> cw.active.plan(votes, budget=10).n_votes
    10
    """
    found: Plan = votes.kind.hooks.plan(votes, budget=budget, result=result, **options)
    return found


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
    """`budget` in the unit of `cost` (None: all votes that are worth asking for); `workers` who may be asked (None: all
    who answered; a new name counts as an average worker), `load` the most that one of them gets. `pairs` if not
    everybody may be asked everything: a table with the columns task and worker, or (task, worker) tuples. Labels that
    can ship with at most a share `error` of them wrong need nothing."""
    if budget is not None and not (budget >= 0 and np.isfinite(budget)):
        raise ParameterError(f"the budget must be 0 or more, got {budget}")
    result = make(default_method(votes, gold)).fit(votes, gold=gold) if result is None else result
    if len(result.tasks) != votes.n_tasks:
        raise DataError(f"the result of {result.method} is of other annotations; fit it on these votes")
    need = needs(votes, result, error)
    may = None if pairs is None else table_of(pairs)
    anybody = workers is None and may is None
    if may is not None and workers is None:
        workers = may["worker"].unique().sort().to_list()
    free = askable(votes, result, workers, cost, load)
    if may is not None:
        free.only(*coded(may, votes, free.names))
    wanted = float(np.nan_to_num(need.votes).sum())
    n_votes = wanted if budget is None else budget / max(free.cheapest, 1e-12)
    free.expect(n_votes)
    # Without a budget, votes of anybody: the forecast by which tasks were chosen, the same on every page.
    gain = need.gain if anybody and budget is None else gains(votes, result, need, free.likely(n_votes))
    given, names, spent = _spend(need, gain, free, votes, budget)
    brings = np.where(given > 0, gain[np.arange(len(given)), np.clip(given, 1, MOST) - 1], 0.0)
    table = _table(votes, result, need, free, given, brings, names, spent)
    # The level is that of the labels whose truth was not given.
    others = votes.n_tasks if result.gold is None else int((~np.asarray(result.gold)).sum())
    rise = float(table["gain"].sum()) / max(others, 1)
    level = trust(result, error)
    made = Plan(table, rise, None, int(given.sum()), float(spent.sum()), budget, votes.n_tasks, free.n_new, need, level)
    return made if level.share is None else made.since(level.share[0])


def _spend(
    need: Needs, gain: F8, free: Askable, votes: Annotations, budget: float | None
) -> tuple[npt.NDArray[np.int64], dict[int, list[Any]], F8]:
    """Votes, names and cost of each task: step by step, the best first, while the budget lasts."""
    n = votes.n_tasks
    given, names, spent = np.zeros(n, np.int64), {}, np.zeros(n)  # type: ignore[var-annotated]
    most = np.minimum(np.where(need.stuck, 0, MOST), free.room)
    if budget is None:  # what is worth asking for, no more
        most = np.where(need.kind == VOTE, np.minimum(most, np.nan_to_num(need.votes, nan=0.0)), 0).astype(np.int64)
    task, count, _ = steps(gain, most)
    if budget is None:  # steps of no measurable gain included
        task = np.concatenate([task, np.flatnonzero(most)])
        count = np.concatenate([count, most[most > 0]])
    left = np.inf if budget is None else budget
    for t, m in zip(task.tolist(), count.tolist(), strict=True):
        for worker, price in free.best(t, min(m, int(most[t] - given[t])), left):
            names.setdefault(t, []).append(worker)
            given[t] += 1
            spent[t] += price
            left -= price
        if left < free.cheapest:
            break
    return given, names, spent


def _table(
    votes: Annotations,
    result: Result,
    need: Needs,
    free: Askable,
    given: npt.NDArray[np.int64],
    gain: F8,
    names: dict[int, list[Any]],
    spent: F8,
) -> pl.DataFrame:
    stuck = (free.room == 0) & (need.kind != NOTHING) & ~need.stuck
    every = contested(votes, result, need=need).select("task", "why")
    todo = np.where(((need.kind == EXPERT) & (given == 0)) | stuck, "expert", "vote")
    listed = (need.kind != NOTHING) | (given > 0)
    order = np.lexsort((result.confidence, -gain / np.maximum(given, 1), todo == "expert"))
    table = pl.DataFrame(
        {
            "task": result.tasks,
            "label": result.classes.gather(result.labels),
            "confidence": result.confidence,
            "n_labels": votes.labels_per_task,
            "todo": todo,
            "votes": given,
            "gain": gain,
            "cost": spent,
            "ask": pl.Series([names.get(t, []) for t in range(len(given))], dtype=pl.List(votes.workers.dtype)),
        }
    ).join(every, on="task", how="left", maintain_order="left")
    why = np.where(stuck, EVERYBODY, table["why"].fill_null("").to_numpy())
    table = table.with_columns(pl.Series("why", why.tolist(), dtype=pl.String))
    return table.select(pl.all().gather(order[listed[order]]))
