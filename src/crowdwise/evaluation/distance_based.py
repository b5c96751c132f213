"""Many methods side by side for any kind with a distance: how they agree, held-out answers, and the truth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core import method_registry as registry
from ..core.errors import CrowdwiseError, CrowdwiseWarning, DataError, ParameterError
from ..core.result import Result
from ..core.votes import Votes
from ..io.csv.folder import write_tables
from .evaluate import gold_tasks
from .scores import Table

F8 = npt.NDArray[np.float64]
FILES = ("methods.csv", "tasks.csv")
_ORDER = ["method", "cpu_seconds", "iterations", "agreement", "held_out"]
_HEADS = {"cpu_seconds": "CPU s", "iterations": "steps", "agreement": "agrees", "held_out": "held-out distance"}


@dataclass(frozen=True)
class AlikeComparison:
    """`methods` has a row for each method, `tasks` how far the methods are apart on each task; results by name."""

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
        """The tasks on which the methods differ most, none on which they all agree."""
        return self.tasks.filter(pl.col("disagreement") > 0).head(n)

    def tables(self, limit: int, votes: Any) -> list[Table]:  # noqa: ARG002
        """For people: the methods, the best first, and the tasks on which they differ most."""
        done = self.methods.filter(pl.col("reason").is_null())
        scores = [name for name in done.columns if name not in (*_ORDER, "reason")]
        if scores:
            done = done.sort(scores[0], descending=True, nulls_last=True)
        else:
            done = done.sort("held_out", nulls_last=True)
        rows = [["–" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
                for row in done.select(*_ORDER, *scores).iter_rows()]  # fmt: skip
        out = [Table("", [_HEADS.get(name, name) for name in (*_ORDER, *scores)], rows)]
        refused = self.methods.filter(pl.col("reason").is_not_null())
        if len(refused):
            reasons = [list(row) for row in refused.select("method", "reason").rows()]
            out.append(Table("Could not run", ["method", "reason"], reasons))
        worst = self.disputed(limit)
        if len(worst) and len(self.results) > 1:
            cells = [[f"{v:.3g}" if isinstance(v, float) else str(v) for v in row] for row in worst.iter_rows()]
            out.append(Table("Most disputed tasks", worst.columns, cells))
        return out

    def legend(self) -> str:
        """What the columns mean."""
        return (
            "agrees: 1 - the mean distance of the estimates from those of the other methods; held-out distance: mean "
            "distance of answers that the method had not seen from its estimate"
        )


def compare_alike(
    votes: Votes[Any],
    methods: Sequence[str] | None = None,
    *,
    truth: Any = None,
    gold: Any = None,
    seed: int = 0,
    folds: int = 5,
    jobs: int = 1,  # noqa: ARG001
    watch: Any = None,
) -> AlikeComparison:
    """Fit many methods; those that refuse are listed with their reason. With truth, the scores' `headline` stands."""
    if folds == 1 or folds < 0:
        raise ParameterError(f"folds must be 0 (no held-out score) or at least 2, got {folds}")
    names = list(dict.fromkeys(methods or registry.names(votes.kind.name)))
    results: dict[str, Result] = {}
    rows: list[dict[str, Any]] = []
    left = 0
    for i, name in enumerate(names):
        if watch is not None:
            watch(i, len(names), name)
        row, found, gone = _entry(votes, name, truth, gold, seed, folds)
        left = max(left, gone)
        rows.append(row)
        if found is not None:
            results[name] = found
    if not results:
        reasons = list(dict.fromkeys(str(row["reason"]) for row in rows))
        raise DataError(reasons[0] if len(reasons) == 1 else "no method could run: " + "; ".join(reasons[:3]))
    apart = _apart(votes, results)
    for row in rows:
        others = [float(d.mean()) for pair, d in apart.items() if row["method"] in pair]
        row["agreement"] = 1 - float(np.mean(others)) if others else None
    table = pl.DataFrame(rows, infer_schema_length=None)
    table = table.select(*_ORDER, pl.exclude(*_ORDER, "reason"), pl.col("reason").cast(pl.String))
    mean = np.mean(list(apart.values()), axis=0) if apart else np.zeros(votes.n_tasks)
    tasks = pl.DataFrame({"task": votes.tasks, "n_labels": votes.labels_per_task, "disagreement": mean})
    tasks = tasks.sort("disagreement", descending=True, maintain_order=True)
    return AlikeComparison(table, tasks, results, n_gold_left_out=left)


def _entry(
    votes: Votes[Any], name: str, truth: Any, gold: Any, seed: int, folds: int
) -> tuple[dict[str, Any], Result | None, int]:
    """A method's row, its result, and how many tasks with a truth were gold."""
    row: dict[str, Any] = {"method": name, "cpu_seconds": None, "iterations": None, "held_out": None, "reason": None}
    began = time.process_time()
    gone = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        try:
            method = registry.method(name, seed=seed)
            found = method.fit(votes, gold=gold)
            row |= {"cpu_seconds": time.process_time() - began, "iterations": found.n_iter}
            row["held_out"] = _held_out(method, votes, gold, folds, seed)
            if truth is not None:
                scores = votes.kind.hooks.evaluate(found, truth, told=gold_tasks(found), resamples=0, seed=seed)
                gone = scores.n_gold_left_out
                row |= scores.headline()
        except CrowdwiseError as error:
            row["reason"] = str(error)
            return row, None, 0
    return row, found, gone


def _held_out(method: Any, votes: Votes[Any], gold: Any, folds: int, seed: int) -> float | None:
    """Mean distance of answers from estimates that rest on the others."""
    if folds < 2 or len(votes) < 2 * folds:
        return None
    distance, said = votes.kind.hooks.distance, votes.kind.hooks.estimated_answers
    fold = np.random.default_rng(seed).permutation(np.arange(len(votes)) % folds)
    total, n = 0.0, 0
    for k in range(folds):
        out, rest = votes.take(np.flatnonzero(fold == k)), votes.take(np.flatnonzero(fold != k))
        heard = np.flatnonzero(rest.labels_per_task[out.task] > 0)
        if not len(heard):
            continue
        both = out.answers.join(said(rest, method.fit(rest, gold=gold)))
        off = distance(both, heard, len(out) + out.task[heard].astype(np.int64))
        total, n = total + float(off.sum()), n + len(heard)
    return total / n if n else None


def _apart(votes: Votes[Any], results: dict[str, Result]) -> dict[tuple[str, str], F8]:
    """How far every two methods are apart, task by task; 0 where nobody answered."""
    distance, said = votes.kind.hooks.distance, votes.kind.hooks.estimated_answers
    answers = {name: said(votes, found) for name, found in results.items()}
    names, every = list(answers), np.arange(votes.n_tasks)
    heard = votes.labels_per_task > 0
    out = {}
    for k, one in enumerate(names):
        for two in names[k + 1 :]:
            both = answers[one].join(answers[two])
            out[one, two] = np.where(heard, distance(both, every, votes.n_tasks + every), 0.0)
    return out
