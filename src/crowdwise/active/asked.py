"""Whom a plan may ask: who has not answered the task, has room, and tells most per cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from ..maths.information import expected_gain
from ..scoring.needs import confusions

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
