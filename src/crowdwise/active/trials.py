"""Trials of policies before anybody is paid: `replay` of recorded votes, `simulate` with a planted crowd.

In a replay only what was once answered can be asked. In a simulation everybody can be asked everything, and what a
worker would say of a task is drawn once: all policies meet the same answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import ParameterError
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import as_gold
from .online import OnlineModel
from .records import Asked, Recorded, Settings, Stopped
from .refit import refit
from .rules import Policy
from .session import Session
from .stopping import REASONS, SURE, Stopping

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Never sure: a curve goes on to the last answer.
ENDLESS = Stopping(target=1.0, fewest=10**9)


@dataclass(frozen=True)
class Trial:
    """What came of it: after `queries` answers a share `accuracy` of the known tasks was right and `expected` to be.
    `reason[task]` is why it stopped ("": open), `right[task]` whether its label is right (NaN: unknown)."""

    queries: I8
    accuracy: F8
    expected: F8
    labels: I8
    n_labels: I8
    reason: list[str]
    right: F8
    why: str

    def needed(self, accuracy: float) -> float:
        """Answers until the accuracy was first reached; infinite where it never was."""
        at = np.flatnonzero(self.accuracy >= accuracy)
        return float(self.queries[at[0]]) if len(at) else float("inf")

    @property
    def sure_and_right(self) -> tuple[int, int]:
        """(tasks that stopped because they were sure, those of them that are right), of tasks with a known truth."""
        sure = np.array([each == SURE for each in self.reason]) & ~np.isnan(self.right)
        return int(sure.sum()), int(self.right[sure].sum())

    def to_table(self) -> pl.DataFrame:
        """queries, accuracy, expected."""
        return pl.DataFrame({"queries": self.queries, "accuracy": self.accuracy, "expected": self.expected})


def replay(
    votes: Annotations,
    truth: Any,
    policy: str | Policy = "information",
    *,
    stop: Stopping | None = None,
    settings: Settings | None = None,
    every: int | None = None,
    until: float | None = None,
    fits: bool = False,
    checks: int = 0,
    seed: int = 0,
) -> Trial:
    """Ask recorded votes in the order of a policy; accuracy is taken after each `every` answers (1 % of them).

    `until`: end when this accuracy is reached. `fits`: instead of a sweep the default method is fitted at each of
    these points, as the server does; the truth of so many random tasks (`checks`) calibrates it, and stopping with it.
    """
    pool = Recorded(votes)
    model = OnlineModel(votes.n_classes, n_tasks=votes.n_tasks, n_workers=votes.n_workers)
    session = Session(model, policy, stop=stop or ENDLESS, settings=_settings(settings, fits), pool=pool, seed=seed)
    every = max(len(votes) // 100, 1) if every is None else every
    known = known_codes(truth, votes)
    look = _look(session, known, fits, checks, seed)
    return _run(session, session.ask_any, pool.take, known, every, until, look)


def simulate(
    truth: Any,
    confusion: F8,
    policy: str | Policy = "information",
    *,
    choose: bool = False,
    stop: Stopping | None = None,
    settings: Settings | None = None,
    every: int | None = None,
    until: float | None = None,
    fits: bool = False,
    checks: int = 0,
    seed: int = 0,
) -> Trial:
    """A planted crowd: truth[task], confusion[worker, true, observed].

    Workers come at random, or are chosen (`choose`). What a worker would say of a task depends on `seed` alone, not on
    the policy. `fits` and `checks` as in `replay`.
    """
    truth, confusion = np.asarray(truth), np.asarray(confusion, dtype=np.float64)
    n, m, k = len(truth), *confusion.shape[:2]
    if n * m > 200_000_000:
        raise ParameterError(f"{n:,} tasks × {m:,} workers are too many to simulate; lower one of them")
    says = drawn(truth, confusion, seed)
    model, how = OnlineModel(k, n_tasks=n, n_workers=m), _settings(settings, fits)
    session = Session(model, policy, stop=stop, settings=how, seed=seed)
    arrivals = np.random.default_rng([seed, 1])

    def somebody() -> Asked | Stopped:
        """Whoever comes; who is refused, or has nothing left, goes, until nobody was left of a whole crowd."""
        for worker in arrivals.permutation(m).tolist():
            asked = session.ask(worker)
            if isinstance(asked, Asked) or asked.final:
                return asked
        return Stopped("no worker is left for the open tasks", final=True)

    def take(task: int, worker: int) -> int:
        return int(says[task, worker])

    ask = session.ask_any if choose else somebody
    every = max(n // 10, 1) if every is None else every
    look = _look(session, truth.astype(np.int64), fits, checks, seed)
    return _run(session, ask, take, truth.astype(np.int64), every, until, look)


def _settings(settings: Settings | None, fits: bool) -> Settings:
    """Where whole fits are made, nothing else looks at all tasks again."""
    found = Settings() if settings is None else settings
    return replace(found, sweep_at=0.0) if fits else found


def _look(session: Session, truth: I8, fits: bool, checks: int, seed: int) -> Callable[[], Any]:
    """What looks at all tasks again: a sweep, or a whole fit with checked tasks."""
    if not fits:
        return session.sweep
    order = np.random.default_rng([seed, 3]).permutation(np.flatnonzero(truth >= 0))
    return partial(refit, session, {int(t): int(truth[t]) for t in order[:checks]})


def drawn(truth: npt.NDArray[Any], confusion: F8, seed: int) -> npt.NDArray[np.int16]:
    """says[task, worker]: one draw of what everybody would say of everything."""
    dice = np.random.default_rng([seed, 2])
    edges = confusion.cumsum(axis=2)
    out = np.empty((len(truth), len(confusion)), np.int16)
    for worker, table in enumerate(edges):
        u = dice.random(len(truth)) * table[truth, -1]
        out[:, worker] = np.minimum((u[:, None] >= table[truth]).sum(axis=1), confusion.shape[2] - 1)
    return out


def _run(
    session: Session,
    ask: Callable[[], Asked | Stopped],
    take: Callable[[int, int], int],
    truth: I8,
    every: int,
    until: float | None,
    look: Callable[[], Any],
) -> Trial:
    points: list[tuple[int, float, float]] = []
    n, why = 0, ""
    while not why:
        asked = ask()
        if isinstance(asked, Stopped):
            why = asked.reason
        else:
            session.tell(asked.task, asked.worker, take(asked.task, asked.worker))
            n += 1
        if why or n % every == 0:
            look()
            points.append((n, accuracy(session.model, truth), session.board.progress.accuracy[0]))
            if until is not None and points[-1][1] >= until:
                why = "the accuracy is reached"
    labels = session.model.posterior.argmax(axis=1)
    right = np.where(truth >= 0, labels == truth, np.nan)
    reason = [REASONS[r] for r in session.board.reason]
    queries, shares, expected = (np.array(column) for column in zip(*points, strict=True))
    n_labels = session.model.chains.n[: session.model.n_tasks].copy()
    return Trial(queries, shares, expected, labels, n_labels, reason, right, why)


def accuracy(model: OnlineModel, truth: I8) -> float:
    """Share of right labels among tasks with a known truth, ties shared."""
    q = model.posterior[truth >= 0]
    best = q >= q.max(axis=1, keepdims=True) - 1e-9
    hit = best[np.arange(len(q)), truth[truth >= 0]] / best.sum(axis=1)
    return float(hit.mean()) if len(q) else float("nan")


def known_codes(truth: Any, votes: Annotations) -> I8:
    """The class of each task, -1 where it is unknown."""
    gold = as_gold(truth, votes)
    out = np.full(votes.n_tasks, -1, np.int64)
    if gold is not None:
        out[gold.known] = gold.label[gold.known]
    return out
