"""Compare methods for any kind of answers with a distance: agreement, held-out distance, and scores against truth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ..core import method_registry as registry
from ..core.arrays import F8
from ..core.errors import CrowdwiseError, CrowdwiseWarning, DataError, ParameterError
from ..core.result import Result
from ..core.votes import Votes
from ..io.csv.folder import write_tables
from .evaluate import gold_tasks
from .scores import Table

FILES = ("methods.csv", "tasks.csv")
_ORDER = ["method", "cpu_seconds", "iterations", "agreement", "held_out"]
_HEADS = {"cpu_seconds": "CPU s", "iterations": "steps", "agreement": "agrees"}
# Score of held-out answers: the method, votes, gold, number of folds and seed.
HeldOut = Callable[[Any, Votes[Any], Any, int, int], float | None]


@dataclass(frozen=True)
class DistanceComparison:
    """Comparison of methods: a row per method, the disagreement per task, and the results by name."""

    HELD_OUT: ClassVar[str] = "held-out distance"
    DIGITS: ClassVar[int] = 3  # significant digits of the most disputed tasks

    methods: pl.DataFrame
    tasks: pl.DataFrame
    results: dict[str, Result]
    notes: tuple[str, ...] = ()
    n_gold_left_out: int = 0

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write methods.csv and tasks.csv."""
        write_tables(folder, {FILES[0]: self.methods, FILES[1]: self.tasks}, force=force)

    def to_dict(self, limit: int) -> dict[str, Any]:
        """Plain values."""
        tasks = self.disputed(limit).to_dicts()
        return {"methods": self.methods.to_dicts(), "disputed": tasks, "notes": list(self.notes)}

    def disputed(self, n: int) -> pl.DataFrame:
        """Return the tasks on which the methods differ most, without those on which all agree."""
        return self.tasks.filter(pl.col("disagreement") > 0).head(n)

    def ranked(self) -> tuple[pl.DataFrame, list[str]]:
        """Return the fitted methods, best first, and the names of their score columns."""
        fitted = self.methods.filter(pl.col("reason").is_null())
        scores = [name for name in fitted.columns if name not in (*_ORDER, "reason")]
        if scores:
            return fitted.sort(scores[0], descending=True, nulls_last=True), scores
        return fitted.sort("held_out", nulls_last=True), scores

    def tables(self, limit: int, votes: Any) -> list[Table]:  # noqa: ARG002
        """Return the methods (best first) and the most disputed tasks as tables for display."""
        fitted, scores = self.ranked()
        rows = [["–" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
                for row in fitted.select(*_ORDER, *scores).iter_rows()]  # fmt: skip
        heads = {**_HEADS, "held_out": self.HELD_OUT}
        out = [Table("", [heads.get(name, name) for name in (*_ORDER, *scores)], rows)]
        refused = self.methods.filter(pl.col("reason").is_not_null())
        if len(refused):
            reasons = [list(row) for row in refused.select("method", "reason").rows()]
            out.append(Table("Could not run", ["method", "reason"], reasons))
        disputed = self.disputed(limit)
        if len(disputed) and len(self.results) > 1:
            digits = f".{self.DIGITS}g"
            cells = [[format(v, digits) if isinstance(v, float) else str(v) for v in row]
                     for row in disputed.iter_rows()]  # fmt: skip
            out.append(Table("Most disputed tasks", disputed.columns, cells))
        return out

    def legend(self) -> str:
        """Return the meaning of the columns."""
        return (
            "agrees: 1 - the mean distance of the estimates from those of the other methods; held-out distance: mean "
            "distance of held-out answers from the estimate"
        )


def compare_distance_based(
    votes: Votes[Any],
    methods: Sequence[str] | None = None,
    *,
    truth: Any = None,
    gold: Any = None,
    seed: int = 0,
    folds: int = 5,
    jobs: int = 1,  # noqa: ARG001
    watch: Any = None,
) -> DistanceComparison:
    """Fit several methods; those that cannot run are listed with the reason. With truth, the headline scores
    are added.
    """
    if folds == 1 or folds < 0:
        raise ParameterError(f"folds must be 0 (no held-out score) or at least 2, got {folds}")
    names = list(dict.fromkeys(methods or registry.names(votes.kind.name)))
    rows, results, n_gold_left_out = fit_methods(votes, names, _held_out, truth, gold, seed, folds, watch)
    if not results:
        reasons = list(dict.fromkeys(str(row["reason"]) for row in rows))
        raise DataError(reasons[0] if len(reasons) == 1 else "no method could run: " + "; ".join(reasons[:3]))
    distances = _apart(votes, results)
    for row in rows:
        others = [float(d.mean()) for pair, d in distances.items() if row["method"] in pair]
        row["agreement"] = 1 - float(np.mean(others)) if others else None
    mean = np.mean(list(distances.values()), axis=0) if distances else np.zeros(votes.n_tasks)
    tasks = pl.DataFrame({"task": votes.tasks, "n_labels": votes.labels_per_task, "disagreement": mean})
    tasks = tasks.sort("disagreement", descending=True, maintain_order=True)
    return DistanceComparison(method_table(rows), tasks, results, n_gold_left_out=n_gold_left_out)


def fit_methods(
    votes: Votes[Any], names: Sequence[str], held_out: HeldOut, truth: Any, gold: Any, seed: int, folds: int, watch: Any
) -> tuple[list[dict[str, Any]], dict[str, Result], int]:
    """Fit methods; return the rows of the comparison, the results by name, and how many tasks of the truth were gold.

    A row holds the time, the number of iterations, the score of held-out answers and, with truth, the headline scores;
    or the reason why the method cannot run.
    """
    results: dict[str, Result] = {}
    rows: list[dict[str, Any]] = []
    n_gold_left_out = 0
    for i, name in enumerate(names):
        if watch is not None:
            watch(i, len(names), name)
        row, result, n_gold = _entry(votes, name, held_out, truth, gold, seed, folds)
        n_gold_left_out = max(n_gold_left_out, n_gold)
        rows.append(row)
        if result is not None:
            results[name] = result
    return rows, results, n_gold_left_out


def method_table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the rows of the methods as a table: the common columns, the scores, and the reason."""
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.select(*_ORDER, pl.exclude(*_ORDER, "reason"), pl.col("reason").cast(pl.String))


def held_out_folds(votes: Votes[Any], folds: int, seed: int) -> Iterator[tuple[Votes[Any], Votes[Any]]]:
    """Yield the training votes and the held-out votes of each random fold; none if the votes are too few."""
    if folds < 2 or len(votes) < 2 * folds:
        return
    fold = np.random.default_rng(seed).permutation(np.arange(len(votes)) % folds)
    for k in range(folds):
        yield votes.take(np.flatnonzero(fold != k)), votes.take(np.flatnonzero(fold == k))


def _entry(
    votes: Votes[Any], name: str, held_out: HeldOut, truth: Any, gold: Any, seed: int, folds: int
) -> tuple[dict[str, Any], Result | None, int]:
    """Return a method's row, its result, and how many tasks of the truth were gold."""
    row: dict[str, Any] = {"method": name, "cpu_seconds": None, "iterations": None, "held_out": None, "reason": None}
    began = time.process_time()
    n_gold = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        try:
            method = registry.method(name, seed=seed)
            result = method.fit(votes, gold=gold)
            row |= {"cpu_seconds": time.process_time() - began, "iterations": result.n_iter}
            row["held_out"] = held_out(method, votes, gold, folds, seed)
            if truth is not None:
                scores = votes.kind.hooks.evaluate(result, truth, fit_gold=gold_tasks(result), resamples=0, seed=seed)
                n_gold = scores.n_gold_left_out
                row |= scores.headline()
        except CrowdwiseError as error:
            row["reason"] = str(error)
            return row, None, 0
    return row, result, n_gold


def _held_out(method: Any, votes: Votes[Any], gold: Any, folds: int, seed: int) -> float | None:
    """Mean distance of held-out answers from estimates fitted to the other answers."""
    distance, estimated_answers = votes.kind.hooks.distance, votes.kind.hooks.estimated_answers
    total, n = 0.0, 0
    for train, test in held_out_folds(votes, folds, seed):
        is_answered = np.flatnonzero(train.labels_per_task[test.task] > 0)
        if not len(is_answered):
            continue
        joined = test.answers.join(estimated_answers(train, method.fit(train, gold=gold)))
        distances = distance(joined, is_answered, len(test) + test.task[is_answered].astype(np.int64))
        total, n = total + float(distances.sum()), n + len(is_answered)
    return total / n if n else None


def _apart(votes: Votes[Any], results: dict[str, Result]) -> dict[tuple[str, str], F8]:
    """Distance between every two methods by task; 0 for tasks without answers."""
    distance, estimated_answers = votes.kind.hooks.distance, votes.kind.hooks.estimated_answers
    answers = {name: estimated_answers(votes, result) for name, result in results.items()}
    names, all_tasks = list(answers), np.arange(votes.n_tasks)
    has_answers = votes.labels_per_task > 0
    distances = {}
    for k, first in enumerate(names):
        for second in names[k + 1 :]:
            joined = answers[first].join(answers[second])
            distances[first, second] = np.where(
                has_answers, distance(joined, all_tasks, votes.n_tasks + all_tasks), 0.0
            )
    return distances
