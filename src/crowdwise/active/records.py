"""What a session is told about how to ask, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.intake.frames import to_polars
from ..core.params import AtLeast, Count, Positive, Share, Whole, check
from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.scoring.needs import confusions
from ..stats.information import expected_gain
from .answer_lists import Chains

# ----------------------------------------------------------------
# Whom a plan may ask: who has not answered the task, has room, and tells most per cost.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Cells of the workers' confusions at most; above, nobody is told from anybody.
_CELLS = 20_000_000
# Unless a load is given, nobody gets more than so many times an even share, or so many tasks.
SHARES, FEWEST = 3.0, 5
# Tasks by which workers are told apart before any is chosen.
_LOOKED_AT = 200


class Askable:
    """`names[worker]` with their confusions, cost and room; `room[task]` says how many have not answered it."""

    def __init__(self, votes: Annotations, names: pl.Series, known: I8, theta: F8 | None, cost: F8, q: F8) -> None:
        self.names, self.theta, self.cost, self.q = names.to_list(), theta, cost, q
        place = np.full(votes.n_workers, -1)
        place[known[known >= 0]] = np.flatnonzero(known >= 0)
        self._who, self._offsets = place[votes.worker], votes.task_offsets
        answered = np.bincount(votes.task, weights=self._who >= 0, minlength=votes.n_tasks)
        self.room = np.maximum(len(self.names) - answered, 0).astype(np.int64)
        self.left = np.full(len(self.names), np.iinfo(np.int64).max)
        self.cheapest = float(cost.min(initial=np.inf))
        self.n_new = int((known < 0).sum())
        self._load: int | None = None
        self._asked: dict[int, list[int]] = {}
        self._may: tuple[I8, I8] | None = None

    def limit(self, load: int | None) -> None:
        """The most that one worker gets."""
        self._load = load

    def only(self, task: I8, worker: I8) -> None:
        """Only these pairs may be asked."""
        n = len(self.room)
        order = np.lexsort((worker, task))
        task, worker = task[order], worker[order]
        self._may = np.searchsorted(task, np.arange(n + 1)), worker
        pair, width = task * len(self.names) + worker, len(self.names)
        answered = np.repeat(np.arange(n), np.diff(self._offsets)) * width + self._who
        new = ~np.isin(pair, answered[self._who >= 0])
        self.room = np.bincount(task[new], minlength=n)

    def expect(self, n_votes: float) -> None:
        """About so many votes are to be given out: nobody gets much more than their share."""
        even = n_votes / max(len(self.names), 1)
        load = self._load if self._load is not None else max(FEWEST, int(np.ceil(SHARES * min(even, 1e15))))
        self.left[:] = load

    def likely(self, n_votes: float) -> tuple[F8, F8] | None:
        """Confusions and weights of those who will give about so many votes: who tell most per cost come first, each
        as far as they have room. None where nobody is told from anybody."""
        if self.theta is None or not self.names:
            return None
        open_ = np.flatnonzero(self.room > 0)
        n = min(_LOOKED_AT, max(_CELLS // self.theta.size, 1), len(open_))
        some = open_[np.linspace(0, len(open_) - 1, n).astype(np.int64)]
        told = expected_gain(self.q[some], self.theta).sum(axis=0) / self.cost
        order = np.argsort(-told, kind="stable")
        room = self.left if self._may is None else np.minimum(self.left, np.bincount(self._may[1], minlength=len(told)))
        before = np.cumsum(room[order].astype(np.float64)) - room[order]
        weight = np.zeros(len(told))
        weight[order] = np.clip(max(n_votes, 1.0) - before, 0.0, room[order])
        asked = np.flatnonzero(weight)
        return (self.theta[asked], weight[asked] / weight.sum()) if len(asked) else None

    def best(self, task: int, n: int, budget: float) -> Iterator[tuple[Any, float]]:
        """Up to n workers for a task with what each costs, who tell most about it per cost first."""
        if n <= 0 or not self.names:
            return
        free = self.left > 0
        who = self._who[self._offsets[task] : self._offsets[task + 1]]
        free[who[who >= 0]] = False
        free[self._asked.get(task, [])] = False
        may = slice(None) if self._may is None else self._may[1][self._may[0][task] : self._may[0][task + 1]]
        able = np.arange(len(free))[may]
        if self.theta is None:
            score = self.left[may] / self.cost[may]
        else:
            score = expected_gain(self.q[task : task + 1], self.theta[may])[0] / self.cost[may]
        order = np.argsort(-np.where(free[may], score, -1.0), kind="stable")[: min(n, int(free[may].sum()))]
        for worker in able[order].tolist():
            price = float(self.cost[worker])
            if price <= budget + 1e-9:
                budget -= price
                self.left[worker] -= 1
                self._asked.setdefault(task, []).append(worker)
                yield self.names[worker], price


def askable(
    votes: Annotations,
    result: Result,
    workers: Sequence[Any] | None,
    cost: float | Mapping[Any, float],
    load: int | None,
) -> Askable:
    """Who may be asked; names that have never answered are average workers."""
    if load is not None and load < 1:
        raise ParameterError(f"load must be at least 1 task a worker, got {load}")
    names = votes.workers if workers is None else _names(votes, workers)
    spot = {name: i for i, name in enumerate(votes.workers.to_list())}
    known = np.array([spot.get(name, -1) for name in names.to_list()], dtype=np.int64)
    prices = np.array([_price(cost, name) for name in names.to_list()], dtype=np.float64)
    theta, k = None, votes.n_classes
    if k > 1 and max(votes.n_workers, len(names)) * k * k <= _CELLS and len(votes):
        every = confusions(votes, result)
        weight = votes.labels_per_worker / max(len(votes), 1)
        average = np.einsum("w,wkl->kl", weight, every)
        theta = np.concatenate([every, average[None]])[known]
    found = Askable(votes, names, known, theta, prices, result.posterior)
    found.limit(load)
    return found


def _names(votes: Annotations, workers: Sequence[Any]) -> pl.Series:
    """The given names in the type of the votes' own."""
    given = list(dict.fromkeys(str(name) for name in workers))
    if not given:
        raise ParameterError("workers is empty; name at least one, or leave it out to ask everybody")
    try:
        return pl.Series("worker", given, dtype=pl.String).cast(votes.workers.dtype)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"workers are {votes.workers.dtype} in the votes, but the list has others: {', '.join(given[:3])}"
        ) from error


def _price(cost: float | Mapping[Any, float], name: Any) -> float:
    if isinstance(cost, Mapping):
        if name not in cost and str(name) not in cost:
            raise DataError(f"worker {name!r} has no cost; give one, or leave them out of the workers")
        cost = cost.get(name, cost.get(str(name), 0.0))
    if not (np.isfinite(cost) and cost > 0):
        raise ParameterError(f"the cost of a vote must be above 0, got {cost}")
    return float(cost)


# ---------------------------------------------------------------- Pairs of task and worker that may be asked, as codes


def table_of(pairs: Any) -> pl.DataFrame:
    """task and worker as texts, each pair once, of a table with these columns or of (task, worker) tuples."""
    if isinstance(pairs, list | tuple | set | frozenset):
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise DataError("pairs must be (task, worker) tuples, or a table with the columns task and worker")
        told = [(str(task), str(worker)) for task, worker in pairs]
        table = pl.DataFrame(told, schema={"task": pl.String, "worker": pl.String}, orient="row")
    else:
        table = to_polars(pairs)
    for name in ("task", "worker"):
        if name not in table.columns:
            raise DataError(f"pairs: there is no column {name}; it has {', '.join(table.columns)}")
    found = table.select(pl.col("task", "worker").cast(pl.String)).unique().sort("task", "worker")
    if found.null_count().sum_horizontal().sum():
        raise DataError("pairs: a row lacks its task or its worker; fill it in, or leave it out")
    return found


def coded(table: pl.DataFrame, votes: Annotations, workers: list[Any]) -> tuple[I8, I8]:
    """(task, place in `workers`) of each pair; pairs of others than these workers are left out."""
    tasks = pl.DataFrame({"task": votes.tasks.cast(pl.String), "t": np.arange(votes.n_tasks)})
    names = pl.Series("worker", [str(name) for name in workers], dtype=pl.String)
    crew = pl.DataFrame({"worker": names, "w": np.arange(len(workers))})
    found = table.join(tasks, on="task", how="left")
    lost = found.filter(pl.col("t").is_null())
    if len(lost):
        rows = f"{len(lost):,} rows name tasks" if len(lost) > 1 else "a row names a task"
        raise DataError(f"pairs: {rows} without a place among the votes (first: {lost['task'][0]!r}); leave them out")
    kept = found.join(crew, on="worker", how="inner")
    if not len(kept):
        raise DataError("pairs: none of them has a worker who may be asked; name others, or leave pairs out")
    return kept["t"].to_numpy().astype(np.int64), kept["w"].to_numpy().astype(np.int64)


# ----------------------------------------------------------------
# Who may still be asked about a task: everybody (live), or those who once answered it (a replay).


class Pool(Protocol):
    """What a session asks before it chooses a worker."""

    def who(self, task: int, chains: Chains) -> I8:
        """Workers who have not answered this task and could."""


class Everybody:
    """All workers seen or announced so far."""

    def who(self, task: int, chains: Chains) -> I8:
        """Everybody who has not answered."""
        free = np.ones(chains.n_workers, dtype=bool)
        free[chains.workers_of(task)] = False
        return np.flatnonzero(free)


class Recorded:
    """The rows of recorded votes: only what was once answered can be asked."""

    def __init__(self, votes: Annotations) -> None:
        bounds = votes.task_offsets.tolist()
        worker, label = votes.worker.tolist(), votes.label.tolist()
        self.label = {(t, worker[i]): label[i] for t in range(votes.n_tasks) for i in range(bounds[t], bounds[t + 1])}
        self.left = [set(worker[bounds[t] : bounds[t + 1]]) for t in range(votes.n_tasks)]

    def who(self, task: int, chains: Chains) -> I8:  # noqa: ARG002
        """Whose recorded answer has not been asked for."""
        return np.array(sorted(self.left[task]), dtype=np.int64)

    def take(self, task: int, worker: int) -> int:
        """The recorded answer, which is then used up."""
        self.left[task].discard(worker)
        return int(self.label[task, worker])


@dataclass(frozen=True)
class Settings:
    """How a session asks. `explore`: share of tasks drawn at random; `warm`: first tasks of a worker that others have
    answered, so that they can be judged; `load`: answers a worker gives at most; `gold_rate`: share of gold among the
    tasks; `qualify`: gold tasks that come first; `floor`: who is surely less often right than this is asked no more;
    `sweep_at`: growth of the answers after which all tasks are looked at again (0: the caller sweeps), by `rounds` of
    EM from the vote shares, one while tasks have few answers: the first round is most of what matrices know, and the
    later ones may drift away from what the labels mean (on web from .49 right to .38 at a fifth of the answers)."""

    explore: Share = 0.0
    warm: Whole = 3
    load: Count | None = None
    gold_rate: Share = 0.0
    qualify: Whole = 0
    floor: Share = 0.0
    sweep_at: Annotated[float, AtLeast(0)] = 0.1
    rounds: Count = 2
    candidates: Count = 64
    cost: Positive = 1.0
    seed: Whole = 0

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Asked:
    """A task for a worker, in their hands until `tell` or `release`; `gold` is for the lead's eyes only."""

    task: int
    worker: int
    gold: bool = False


@dataclass(frozen=True)
class Stopped:
    """Why there is no task: of this worker, or (`final`) of the project."""

    reason: str
    final: bool = False
