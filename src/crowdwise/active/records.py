"""Settings and replies of a session, and the workers that may be chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
import polars as pl

from ..core.arrays import F8, I8
from ..core.errors import DataError, ParameterError
from ..core.intake.frames import to_polars
from ..core.params import AtLeast, Count, Positive, Share, Whole, check
from ..core.result import Result
from ..core.votes import Votes
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.scoring.recommendations import confusions
from ..stats.information import expected_gain
from .answer_lists import AnswerLists

# ----------------------------------------------------------------
# Workers available for a plan: they have not answered the task, have capacity, and are ranked by information per cost.

# Maximum size of the workers' confusions; above it all workers count as equal.
_CELLS = 20_000_000
# Without a load a worker gets at most this many times an even share, or this many tasks.
SHARES, FEWEST = 3.0, 5
# Number of tasks on which workers are compared.
_LOOKED_AT = 200


class AvailableWorkers:
    """`names[worker]` with confusions, cost and capacity; `room[task]` is the number of workers who have not answered
    it.
    """

    def __init__(
        self,
        votes: Votes[Any],
        names: pl.Series,
        vote_code: I8,
        cost: F8,
        theta: F8 | None = None,
        q: F8 | None = None,
    ) -> None:
        self.names, self.theta, self.cost = names.to_list(), theta, cost
        self.q: F8 = np.empty((votes.n_tasks, 0)) if q is None else q
        place = np.full(votes.n_workers, -1)
        place[vote_code[vote_code >= 0]] = np.flatnonzero(vote_code >= 0)
        self._who, self._offsets = place[votes.worker], votes.task_offsets
        answered = np.bincount(votes.task, weights=self._who >= 0, minlength=votes.n_tasks)
        self.room = np.maximum(len(self.names) - answered, 0).astype(np.int64)
        self.left = np.full(len(self.names), np.iinfo(np.int64).max)
        self.cheapest = float(cost.min(initial=np.inf))
        self.n_new = int((vote_code < 0).sum())
        self._load: int | None = None
        self._asked: dict[int, list[int]] = {}
        self._may: tuple[I8, I8] | None = None

    def limit(self, load: int | None) -> None:
        """Set the maximum number of tasks of a worker."""
        self._load = load

    def only(self, task: I8, worker: I8) -> None:
        """Allow only these pairs."""
        n = len(self.room)
        order = np.lexsort((worker, task))
        task, worker = task[order], worker[order]
        self._may = np.searchsorted(task, np.arange(n + 1)), worker
        pair, width = task * len(self.names) + worker, len(self.names)
        answered = np.repeat(np.arange(n), np.diff(self._offsets)) * width + self._who
        new = ~np.isin(pair, answered[self._who >= 0])
        self.room = np.bincount(task[new], minlength=n)

    def expect(self, n_votes: float) -> None:
        """Set the capacity of workers for about this many votes in all."""
        even = n_votes / max(len(self.names), 1)
        load = self._load if self._load is not None else max(FEWEST, int(np.ceil(SHARES * min(even, 1e15))))
        self.left[:] = load

    def likely(self, n_votes: float) -> tuple[F8, F8] | None:
        """Return confusions and weights of the workers who would give about this many votes.

        Workers with most information per cost come first, as far as they have capacity. None if all workers count as
        equal.
        """
        if self.theta is None or not self.names:
            return None
        open_ = np.flatnonzero(self.room > 0)
        n = min(_LOOKED_AT, max(_CELLS // self.theta.size, 1), len(open_))
        sample = open_[np.linspace(0, len(open_) - 1, n).astype(np.int64)]
        information = expected_gain(self.q[sample], self.theta).sum(axis=0) / self.cost
        order = np.argsort(-information, kind="stable")
        room = (
            self.left
            if self._may is None
            else np.minimum(self.left, np.bincount(self._may[1], minlength=len(information)))
        )
        before = np.cumsum(room[order].astype(np.float64)) - room[order]
        weight = np.zeros(len(information))
        weight[order] = np.clip(max(n_votes, 1.0) - before, 0.0, room[order])
        chosen = np.flatnonzero(weight)
        return (self.theta[chosen], weight[chosen] / weight.sum()) if len(chosen) else None

    def best(self, task: int, n: int, budget: float) -> Iterator[tuple[Any, float]]:
        """Yield up to n workers for a task with their cost, those with most information per cost first."""
        if n <= 0 or not self.names:
            return
        free = self.left > 0
        answered = self._who[self._offsets[task] : self._offsets[task + 1]]
        free[answered[answered >= 0]] = False
        free[self._asked.get(task, [])] = False
        allowed = slice(None) if self._may is None else self._may[1][self._may[0][task] : self._may[0][task + 1]]
        candidates = np.arange(len(free))[allowed]
        if self.theta is None:
            score = self.left[allowed] / self.cost[allowed]
        else:
            score = expected_gain(self.q[task : task + 1], self.theta[allowed])[0] / self.cost[allowed]
        order = np.argsort(-np.where(free[allowed], score, -1.0), kind="stable")[: min(n, int(free[allowed].sum()))]
        for worker in candidates[order].tolist():
            price = float(self.cost[worker])
            if price <= budget + 1e-9:
                budget -= price
                self.left[worker] -= 1
                self._asked.setdefault(task, []).append(worker)
                yield self.names[worker], price


def available_workers(
    votes: Annotations,
    result: Result,
    workers: Sequence[Any] | None,
    cost: float | Mapping[Any, float],
    load: int | None,
) -> AvailableWorkers:
    """Return the workers who may be chosen; names without answers count as average workers."""
    names, vote_code, prices = _crew(votes, workers, cost, load)
    theta, k = None, votes.n_classes
    if k > 1 and max(votes.n_workers, len(names)) * k * k <= _CELLS and len(votes):
        worker_confusions = confusions(votes, result)
        weight = votes.labels_per_worker / max(len(votes), 1)
        average = np.einsum("w,wkl->kl", weight, worker_confusions)
        theta = np.concatenate([worker_confusions, average[None]])[vote_code]
    pool = AvailableWorkers(votes, names, vote_code, prices, theta, result.posterior)
    pool.limit(load)
    return pool


def equal_workers(
    votes: Votes[Any], workers: Sequence[Any] | None, cost: float | Mapping[Any, float], load: int | None
) -> AvailableWorkers:
    """Return the workers who may be chosen, all of whom count as equal."""
    pool = AvailableWorkers(votes, *_crew(votes, workers, cost, load))
    pool.limit(load)
    return pool


def _crew(
    votes: Votes[Any], workers: Sequence[Any] | None, cost: float | Mapping[Any, float], load: int | None
) -> tuple[pl.Series, I8, F8]:
    """Return the names of the workers, their codes in the votes (-1: new), and the cost of their votes."""
    if load is not None and load < 1:
        raise ParameterError(f"load must be at least 1 task a worker, got {load}")
    names = votes.workers if workers is None else _names(votes, workers)
    code_of = {name: i for i, name in enumerate(votes.workers.to_list())}
    vote_code = np.array([code_of.get(name, -1) for name in names.to_list()], dtype=np.int64)
    return names, vote_code, np.array([_price(cost, name) for name in names.to_list()], dtype=np.float64)


def _names(votes: Votes[Any], workers: Sequence[Any]) -> pl.Series:
    """Return the names in the type of the votes' workers."""
    names = list(dict.fromkeys(str(name) for name in workers))
    if not names:
        raise ParameterError("workers is empty; name at least one, or leave it out to ask all workers")
    try:
        return pl.Series("worker", names, dtype=pl.String).cast(votes.workers.dtype)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"workers are {votes.workers.dtype} in the votes, but not in the list: {', '.join(names[:3])}"
        ) from error


def _price(cost: float | Mapping[Any, float], name: Any) -> float:
    if isinstance(cost, Mapping):
        if name not in cost and str(name) not in cost:
            raise DataError(f"worker {name!r} has no cost; give one, or remove the worker")
        cost = cost.get(name, cost.get(str(name), 0.0))
    if not (np.isfinite(cost) and cost > 0):
        raise ParameterError(f"the cost of a vote must be above 0, got {cost}")
    return float(cost)


# ---------------------------------------------------------------- Allowed pairs of task and worker, as codes


def table_of(pairs: Any) -> pl.DataFrame:
    """Return task and worker as text without duplicates, from a table with these columns or (task, worker) tuples."""
    if isinstance(pairs, list | tuple | set | frozenset):
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise DataError("pairs must be (task, worker) tuples, or a table with the columns task and worker")
        rows = [(str(task), str(worker)) for task, worker in pairs]
        table = pl.DataFrame(rows, schema={"task": pl.String, "worker": pl.String}, orient="row")
    else:
        table = to_polars(pairs)
    for name in ("task", "worker"):
        if name not in table.columns:
            raise DataError(f"pairs: there is no column {name}; it has {', '.join(table.columns)}")
    pairs_ = table.select(pl.col("task", "worker").cast(pl.String)).unique().sort("task", "worker")
    if pairs_.null_count().sum_horizontal().sum():
        raise DataError("pairs: a row lacks its task or its worker; fill it in, or leave it out")
    return pairs_


def coded(table: pl.DataFrame, votes: Votes[Any], workers: list[Any]) -> tuple[I8, I8]:
    """Return (task, index in `workers`) of each pair; pairs of other workers are left out."""
    tasks = pl.DataFrame({"task": votes.tasks.cast(pl.String), "t": np.arange(votes.n_tasks)})
    names = pl.Series("worker", [str(name) for name in workers], dtype=pl.String)
    crew = pl.DataFrame({"worker": names, "w": np.arange(len(workers))})
    joined = table.join(tasks, on="task", how="left")
    unknown = joined.filter(pl.col("t").is_null())
    if len(unknown):
        rows = f"{len(unknown):,} rows name a task" if len(unknown) > 1 else "a row names a task"
        raise DataError(f"pairs: {rows} that is not in the votes (first: {unknown['task'][0]!r}); remove it")
    known_pairs = joined.join(crew, on="worker", how="inner")
    if not len(known_pairs):
        raise DataError("pairs: none of them has a worker who may be asked; name others, or leave pairs out")
    return known_pairs["t"].to_numpy().astype(np.int64), known_pairs["w"].to_numpy().astype(np.int64)


# ----------------------------------------------------------------
# Candidates for a task: all workers (live), or those who once answered it (replay).


class WorkerPool(Protocol):
    """The workers that a session chooses from."""

    def candidates(self, task: int, answer_lists: AnswerLists) -> I8:
        """Return the workers who could answer this task and have not."""


class OpenPool:
    """All workers of the session."""

    def candidates(self, task: int, answer_lists: AnswerLists) -> I8:
        """Return the workers who have not answered this task."""
        free = np.ones(answer_lists.n_workers, dtype=bool)
        free[answer_lists.workers_of(task)] = False
        return np.flatnonzero(free)


class ReplayPool:
    """Recorded votes: only recorded answers can be requested."""

    def __init__(self, votes: Annotations) -> None:
        bounds = votes.task_offsets.tolist()
        worker, label = votes.worker.tolist(), votes.label.tolist()
        self.label = {(t, worker[i]): label[i] for t in range(votes.n_tasks) for i in range(bounds[t], bounds[t + 1])}
        self.left = [set(worker[bounds[t] : bounds[t + 1]]) for t in range(votes.n_tasks)]

    def candidates(self, task: int, answer_lists: AnswerLists) -> I8:  # noqa: ARG002
        """Return the workers whose recorded answer has not been used."""
        return np.array(sorted(self.left[task]), dtype=np.int64)

    def take(self, task: int, worker: int) -> int:
        """Return the recorded answer and mark it as used."""
        self.left[task].discard(worker)
        return int(self.label[task, worker])


@dataclass(frozen=True)
class Settings:
    """Settings of a session.

    Attributes:
        explore: Share of tasks drawn at random.
        warm: First tasks of a worker that others have already answered, so that the worker can be judged.
        load: Maximum number of answers of a worker.
        gold_rate: Share of gold tasks.
        qualify: Number of gold tasks that come first.
        floor: Workers who are surely right less often than this get no more tasks.
        sweep_at: Growth of the answers after which all tasks are updated again (0: the caller sweeps).
        rounds: Rounds of EM from the vote shares in a sweep; one while tasks have few answers: the first round holds
            most of the information of the matrices, and later ones may drift away from the meaning of the labels (on
            web from .49 right to .38 at a fifth of the answers).
        candidates: Number of best tasks that are scored.
        cost: Cost of an answer.
        seed: Seed of all draws.
    """

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
class NextTask:
    """A task for a worker, held until `tell` or `release`; `gold` must not be shown to the worker."""

    task: int
    worker: int
    gold: bool = False


@dataclass(frozen=True)
class Stopped:
    """Why there is no task: for this worker, or (`final`) for the project."""

    reason: str
    final: bool = False
