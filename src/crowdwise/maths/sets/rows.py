"""Sets as sparse cells: what they say of every task and class, and what every worker said and left unsaid.

For each class by itself, x = 1 where a worker named it and 0 where they did not although it was offered. With
hits h[worker, class] = P(x = 1 | true) and alarms f[worker, class] = P(x = 1 | not true) the log-odds of a task are

    logit(rate) + Σ_rows log((1 - h) / (1 - f)) + Σ_named [log(h / f) - log((1 - h) / (1 - f))]

so that the unsaid, most of all cells, is one product of a sparse task × worker matrix with a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SetRows:
    """Rows of task and worker codes; entries `code` of row start[i]..start[i + 1]; menus[menu[row]] was offered."""

    task: npt.NDArray[Any]
    worker: npt.NDArray[Any]
    start: I8
    code: npt.NDArray[Any]
    n_tasks: int
    n_workers: int
    n_classes: int
    weight: F8 | None = None
    menu: npt.NDArray[Any] | None = None
    menus: Mask | None = None

    @cached_property
    def _places(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None, Mask | None]:
        """(place of each row, task of each place, offered[place, class]): a place is a task under one menu."""
        if self.menu is None or self.menus is None:
            return self.task, None, None
        key = self.task.astype(np.int64) * len(self.menus) + self.menu
        found, place = np.unique(key, return_inverse=True)
        return place, found // len(self.menus), self.menus[found % len(self.menus)]

    @cached_property
    def _graph(self) -> Any:
        """Weights by place and worker."""
        place, of, _ = self._places
        n = self.n_tasks if of is None else len(of)
        ones = np.ones(len(self.task)) if self.weight is None else self.weight
        return csr_array((ones, (place, self.worker)), shape=(n, self.n_workers))

    @cached_property
    def _turned(self) -> Any:
        """The same by worker and place."""
        return self._graph.T.tocsr()

    @cached_property
    def _entries(self) -> tuple[I8, I8, F8 | None]:
        """Of every named class: its cell among tasks, its cell among workers, its weight."""
        row = np.repeat(np.arange(len(self.task)), np.diff(self.start))
        cells = [who[row].astype(np.int64) * self.n_classes + self.code for who in (self.task, self.worker)]
        return cells[0], cells[1], None if self.weight is None else self.weight[row]

    def _over_tasks(self, values: F8) -> F8:
        """values[place, class] summed over the places of each task, as far as offered."""
        _, of, offered = self._places
        if of is None or offered is None:
            return values
        out = np.zeros((self.n_tasks, values.shape[1]))
        np.add.at(out, of, values * offered)
        return out

    def _at_places(self, values: F8) -> F8:
        """values[task, class] at every place, 0 where not offered."""
        _, of, offered = self._places
        return values if of is None or offered is None else values[of] * offered

    @cached_property
    def said(self) -> F8:
        """said[worker, class]: how often they named it."""
        _, cell, weight = self._entries
        return self._table(cell, weight, self.n_workers)

    @cached_property
    def offered(self) -> F8:
        """offered[worker, class]: how often they could have."""
        return np.asarray(self._turned @ self._at_places(np.ones((self.n_tasks, self.n_classes))))

    @cached_property
    def votes(self) -> F8:
        """votes[task, class]: how often the class was named."""
        cell, _, weight = self._entries
        return self._table(cell, weight, self.n_tasks)

    @cached_property
    def asked(self) -> F8:
        """asked[task, class]: how often it could have been."""
        return self._over_tasks(np.asarray(self._graph @ np.ones((self.n_workers, self.n_classes))))

    def shares(self) -> F8:
        """Share of those who were offered a class and named it; the class's own share where nobody was."""
        named, asked = self.votes.sum(axis=0), self.asked.sum(axis=0)
        usual = named / np.maximum(asked, 1e-300)
        return np.where(self.asked > 0, self.votes / np.where(self.asked > 0, self.asked, 1.0), usual)

    def log_odds(self, hits: F8, alarms: F8) -> F8:
        """Of every task and class, without the rate: by each worker's hits and alarms [worker, class]."""
        unsaid = np.log1p(-hits) - np.log1p(-alarms)
        more = np.log(hits) - np.log(alarms) - unsaid
        out = self._over_tasks(np.asarray(self._graph @ unsaid))
        task, worker, weight = self._entries
        named = more.ravel()[worker]
        out += self._table(task, named if weight is None else named * weight, self.n_tasks)
        return out

    def counts(self, posterior: F8) -> tuple[F8, F8]:
        """(named and true, offered and true), both [worker, class], expected under posterior[task, class]."""
        task, worker, weight = self._entries
        p = posterior.ravel()[task]
        named = self._table(worker, p if weight is None else p * weight, self.n_workers)
        return named, np.asarray(self._turned @ self._at_places(posterior))

    def _table(self, cell: I8, weight: F8 | None, n: int) -> F8:
        flat = np.bincount(cell, weights=weight, minlength=n * self.n_classes)
        return flat.astype(np.float64, copy=False).reshape(n, self.n_classes)
