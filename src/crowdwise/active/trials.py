"""Trials of policies: `replay` of recorded votes, `simulate` with a planted crowd.

In a replay only recorded answers can be requested. In a simulation all workers can answer all tasks, and every
potential answer is drawn once, so that all policies get the same answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I8
from ..core.errors import ParameterError
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import as_gold
from .online import OnlineModel
from .records import NextTask, ReplayPool, Settings, Stopped
from .refit import refit
from .rules import Policy
from .session import Session
from .stopping import REASONS, SURE, Stopping

# Never stops a task, so that a curve extends to the last answer.
ENDLESS = Stopping(target=1.0, fewest=10**9)


@dataclass(frozen=True)
class Trial:
    """Result of a trial.

    Attributes:
        queries: Number of answers at each point.
        accuracy: Share of the tasks with known truth that were right.
        expected: Share that was expected to be right.
        labels: Final label of each task.
        n_labels: Number of answers of each task.
        reason: Why each task stopped ("": open).
        right: Whether each label is right (NaN: unknown).
        why: Why the trial ended.
    """

    queries: I8
    accuracy: F8
    expected: F8
    labels: I8
    n_labels: I8
    reason: list[str]
    right: F8
    why: str

    def needed(self, accuracy: float) -> float:
        """Return the number of answers until this accuracy was first reached; infinite if it never was."""
        at = np.flatnonzero(self.accuracy >= accuracy)
        return float(self.queries[at[0]]) if len(at) else float("inf")

    @property
    def sure_and_right(self) -> tuple[int, int]:
        """(tasks that stopped as sure, those of them that are right), of tasks with known truth."""
        sure = np.array([reason == SURE for reason in self.reason]) & ~np.isnan(self.right)
        return int(sure.sum()), int(self.right[sure].sum())

    def to_table(self) -> pl.DataFrame:
        """Return queries, accuracy and expected accuracy."""
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
    """Replay recorded votes in the order of a policy.

    Args:
        votes: The recorded votes.
        truth: Known labels.
        policy: Name of a policy, or a `Policy`.
        stop: Stopping rules; none by default.
        settings: Settings of the session.
        every: Number of answers between two measurements of the accuracy (by default 1 % of all).
        until: End when this accuracy is reached.
        fits: Fit the default method at each measurement instead of a sweep, as the server does.
        checks: Number of random tasks whose truth calibrates these fits, and stopping with them.
        seed: Seed of all draws.

    Returns:
        The trial.
    """
    pool = ReplayPool(votes)
    model = OnlineModel(votes.n_classes, n_tasks=votes.n_tasks, n_workers=votes.n_workers)
    session = Session(model, policy, stop=stop or ENDLESS, settings=_settings(settings, fits), pool=pool, seed=seed)
    every = max(len(votes) // 100, 1) if every is None else every
    truth_codes = known_codes(truth, votes)
    refresh = _look(session, truth_codes, fits, checks, seed)
    return _run(session, session.ask_any, pool.take, truth_codes, every, until, refresh)


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
    """Simulate a planted crowd.

    Args:
        truth: truth[task].
        confusion: confusion[worker, true, observed].
        policy: Name of a policy, or a `Policy`.
        choose: Whether the policy chooses the workers; they come at random otherwise.
        stop: Stopping rules.
        settings: Settings of the session.
        every: Number of answers between two measurements of the accuracy.
        until: End when this accuracy is reached.
        fits: See `replay`.
        checks: See `replay`.
        seed: Seed; the potential answers depend on it alone, not on the policy.

    Returns:
        The trial.
    """
    truth, confusion = np.asarray(truth), np.asarray(confusion, dtype=np.float64)
    n, m, k = len(truth), *confusion.shape[:2]
    if n * m > 200_000_000:
        raise ParameterError(f"{n:,} tasks × {m:,} workers are too many to simulate; lower one of them")
    answers = drawn(truth, confusion, seed)
    model, settings_ = OnlineModel(k, n_tasks=n, n_workers=m), _settings(settings, fits)
    session = Session(model, policy, stop=stop, settings=settings_, seed=seed)
    arrivals = np.random.default_rng([seed, 1])

    def somebody() -> NextTask | Stopped:
        """Return the next task of the first random worker who gets one."""
        for worker in arrivals.permutation(m).tolist():
            asked = session.ask(worker)
            if isinstance(asked, NextTask) or asked.final:
                return asked
        return Stopped("no worker is left for the open tasks", final=True)

    def take(task: int, worker: int) -> int:
        return int(answers[task, worker])

    ask = session.ask_any if choose else somebody
    every = max(n // 10, 1) if every is None else every
    refresh = _look(session, truth.astype(np.int64), fits, checks, seed)
    return _run(session, ask, take, truth.astype(np.int64), every, until, refresh)


def _settings(settings: Settings | None, fits: bool) -> Settings:
    """Switch sweeps off if batch fits are made."""
    settings_ = Settings() if settings is None else settings
    return replace(settings_, sweep_at=0.0) if fits else settings_


def _look(session: Session, truth: I8, fits: bool, checks: int, seed: int) -> Callable[[], Any]:
    """Return the function that updates all tasks: a sweep, or a batch fit with checked tasks."""
    if not fits:
        return session.sweep
    order = np.random.default_rng([seed, 3]).permutation(np.flatnonzero(truth >= 0))
    return partial(refit, session, {int(t): int(truth[t]) for t in order[:checks]})


def drawn(truth: npt.NDArray[Any], confusion: F8, seed: int) -> npt.NDArray[np.int16]:
    """Return says[task, worker]: one draw of every potential answer."""
    dice = np.random.default_rng([seed, 2])
    edges = confusion.cumsum(axis=2)
    out = np.empty((len(truth), len(confusion)), np.int16)
    for worker, table in enumerate(edges):
        u = dice.random(len(truth)) * table[truth, -1]
        out[:, worker] = np.minimum((u[:, None] >= table[truth]).sum(axis=1), confusion.shape[2] - 1)
    return out


def _run(
    session: Session,
    ask: Callable[[], NextTask | Stopped],
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
            points.append((n, accuracy(session.model, truth), session.task_index.progress.accuracy[0]))
            if until is not None and points[-1][1] >= until:
                why = "the accuracy is reached"
    labels = session.model.posterior.argmax(axis=1)
    right = np.where(truth >= 0, labels == truth, np.nan)
    reason = [REASONS[r] for r in session.task_index.reason]
    queries, shares, expected = (np.array(column) for column in zip(*points, strict=True))
    n_labels = session.model.answer_lists.n[: session.model.n_tasks].copy()
    return Trial(queries, shares, expected, labels, n_labels, reason, right, why)


def accuracy(model: OnlineModel, truth: I8) -> float:
    """Share of right labels among tasks with known truth, ties shared."""
    q = model.posterior[truth >= 0]
    best = q >= q.max(axis=1, keepdims=True) - 1e-9
    hit = best[np.arange(len(q)), truth[truth >= 0]] / best.sum(axis=1)
    return float(hit.mean()) if len(q) else float("nan")


def known_codes(truth: Any, votes: Annotations) -> I8:
    """Return the class of each task, -1 if unknown."""
    gold = as_gold(truth, votes)
    out = np.full(votes.n_tasks, -1, np.int64)
    if gold is not None:
        out[gold.tasks] = gold.label[gold.tasks]
    return out
