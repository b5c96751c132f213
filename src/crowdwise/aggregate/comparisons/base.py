"""What every method for comparisons shares: checks, gold, scores with intervals and places, workers, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.params import Share
from ...core.result import Result, versions
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.comparisons.answers import Comparisons
from ...kinds.comparisons.columns import told_by, winner_of
from ...kinds.comparisons.rows import rows_of, sides_of_tasks
from ...kinds.comparisons.votes import comparison_votes
from ...maths.comparisons.fit import PairFit
from ...maths.comparisons.rows import PairRows
from ..decisions.checked import checked, wanted
from ..method import Method
from .found import estimate_of, picture_of
from .gold import GOLD_WEIGHT, pair_gold

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ComparisonAggregator(Method):
    """A method for comparisons. `level` is the chance that an interval is meant to hold the truth."""

    takes: ClassVar[str] = "comparisons"
    level: Share = 0.95

    def fit(
        self,
        votes: Votes[Comparisons] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Scores of the items, the outcome of every pair and a picture of the workers, from votes or a table left,
        right, winner (worker, task).

        `gold` is the known winner of some tasks (a mapping, or a table task, label): it stays put and teaches.
        `calibrate` corrects the chances of the outcomes by gold; the default method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_comparisons(votes)
        known = pair_gold(gold, votes)
        rows = rows_of(votes)
        fit = self.solve(_with_gold(rows, votes, known), callback)
        self.warn_unless_settled(fit.converged, fit.n_iter)
        result = self._result(votes, rows, fit, known)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """The method itself. The last worker may be gold itself (see `gold_worker`)."""

    def reason(self, rows: PairRows) -> str | None:  # noqa: ARG002
        """What was chosen and why, where there was a choice."""
        return None

    def _result(self, votes: Votes[Comparisons], rows: PairRows, fit: PairFit, known: Any) -> Result:
        reason = self.reason(rows)
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate_of(votes, rows, fit, known, self.level, self.seed),
            picture=picture_of(votes, rows, fit),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if known is None else known.outcome >= 0,
            trace=fit.trace,
            stage=np.zeros(len(fit.trace), dtype=np.int64),
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={"tie_level": _json(fit.tie_level), "tie_spread": float(fit.tie_spread)}
            | ({} if reason is None else {"reason": reason}),
            versions=versions(),
        )


def _with_gold(rows: PairRows, votes: Votes[Comparisons], known: Any) -> PairRows:
    """The rows, and one row more for each known pair, of a worker who is always right."""
    if known is None:
        return rows
    left, right = sides_of_tasks(votes)
    at = np.flatnonzero((known.outcome >= 0) & (left >= 0))
    return GoldRows(
        np.concatenate([rows.left, left[at]]).astype(np.int32),
        np.concatenate([rows.right, right[at]]).astype(np.int32),
        np.concatenate([rows.outcome, known.outcome[at]]).astype(np.int8),
        np.concatenate([rows.worker, np.full(len(at), rows.n_workers)]).astype(np.int32),
        np.concatenate([rows.weights, np.full(len(at), GOLD_WEIGHT)]),
        rows.n_items,
        rows.n_workers + 1,
    )


@dataclass(frozen=True, eq=False)
class GoldRows(PairRows):
    """Rows whose last worker is gold."""


def gold_worker(rows: PairRows) -> npt.NDArray[np.bool_] | None:
    """Marks the worker that is gold, where there is one."""
    return np.arange(rows.n_workers) == rows.n_workers - 1 if isinstance(rows, GoldRows) else None


def _json(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def as_comparisons(votes: Any) -> Votes[Comparisons]:
    """Votes of comparisons as they are, a table as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Comparisons):
            return votes
        raise DataError(
            f"comparisons are needed, got {votes.kind.people}; read the file with kind='comparisons' "
            "(--kind comparisons), or take a method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; columns go through cw.comparison_votes(left, right, winner, worker=...)")
    frame: pl.DataFrame = to_polars(votes)
    found = told_by(frame.columns)
    if found is None:
        raise DataError(
            f"a table of comparisons needs the columns left, right, winner; it has {', '.join(frame.columns)}"
        )
    named: dict[str, Any] = {role: frame[column] for role, column in found.items()}
    more: dict[str, Any] = {name: frame[name] for name in ("task", "worker", "weight") if name in frame.columns}
    if "won_left" in named:
        named["winner"] = winner_of(named)
    if "chosen" in named:
        named["left"], named["right"] = named.pop("chosen"), named.pop("rejected")
        named["winner"] = pl.Series(["left"] * len(frame))
    named.pop("topic", None)
    return comparison_votes(**named, **more)
