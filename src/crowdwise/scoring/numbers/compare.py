"""Many methods for numbers side by side: how they agree, how well they predict answers not seen, and the truth."""

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

from ...aggregate import registry
from ...core.errors import CrowdwiseError, CrowdwiseWarning, ParameterError
from ...core.result import Result
from ...core.votes import Votes
from ...io.csv.folder import write_tables
from ...kinds.numbers.votes import Numbers
from ..evaluate import gold_tasks
from ..scored import Table
from .evaluate import evaluate

F8 = npt.NDArray[np.float64]
FILES = ("methods.csv", "tasks.csv")


@dataclass(frozen=True)
class NumberComparison:
    """`methods` has a row for each method, `tasks` a column of estimates for each; results by name."""

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
        """The tasks on which the methods differ most."""
        return self.tasks.sort("spread", descending=True).head(n)

    def tables(self, limit: int, votes: Any) -> list[Table]:  # noqa: ARG002
        """For people: the methods, the best first, and the tasks on which they differ most."""
        done = self.methods.filter(pl.col("reason").is_null())
        by = "rmse" if "rmse" in done.columns else "held_out"
        done = done.sort(by, nulls_last=True)
        shown = ["method", "cpu_seconds", "iterations", "agreement", "held_out"]
        shown += [name for name in ("rmse", "mae", "pearson", "coverage") if name in done.columns]
        rows = [["–" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
                for row in done.select(shown).iter_rows()]  # fmt: skip
        heads = {"cpu_seconds": "CPU s", "iterations": "steps", "agreement": "agrees", "held_out": "held-out error"}
        out = [Table("", [heads.get(name, name) for name in shown], rows)]
        refused = self.methods.filter(pl.col("reason").is_not_null())
        if len(refused):
            reasons = [list(row) for row in refused.select("method", "reason").rows()]
            out.append(Table("Could not run", ["method", "reason"], reasons))
        worst = self.disputed(limit)
        if len(worst) and len(self.results) > 1:
            cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in worst.iter_rows()]
            out.append(Table("Most disputed tasks", worst.columns, cells))
        return out

    def legend(self) -> str:
        """What the columns mean."""
        return (
            "agrees: mean correlation of the estimates with those of the other methods; held-out error: root mean "
            "squared error of answers that the method had not seen"
        )


def compare(
    votes: Votes[Numbers],
    methods: Sequence[str] | None = None,
    *,
    truth: Any = None,
    gold: Any = None,
    seed: int = 0,
    folds: int = 5,
    jobs: int = 1,  # noqa: ARG001
    watch: Any = None,
) -> NumberComparison:
    """Fit many methods; those that refuse are listed with their reason."""
    if folds < 0:
        raise ParameterError(f"folds must be 0 or more, got {folds}")
    names = list(methods or registry.names("numbers"))
    results: dict[str, Result] = {}
    rows: list[dict[str, Any]] = []
    left = 0
    for i, name in enumerate(names):
        if watch is not None:
            watch(i, len(names), name)
        row: dict[str, Any] = {"method": name, "reason": None}
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CrowdwiseWarning)
            try:
                method = registry.method(name, seed=seed)
                results[name] = method.fit(votes, gold=gold)
                row |= {"cpu_seconds": time.process_time() - began, "iterations": results[name].n_iter}
                row["held_out"] = _held_out(method, votes, gold, folds, seed)
                if truth is not None:
                    found = evaluate(results[name], truth, told=gold_tasks(results[name]))
                    left = found.n_gold_left_out
                    only = next(iter(found.parts.values()))
                    row |= {key: only[key].value for key in ("rmse", "mae", "pearson", "r2", "coverage") if key in only}
            except CrowdwiseError as error:
                results.pop(name, None)
                row["reason"] = str(error)
        rows.append(row)
    agrees = _agreement(results)
    for row in rows:
        row["agreement"] = agrees.get(row["method"])
    order = ["method", "cpu_seconds", "iterations", "agreement", "held_out"]
    table = pl.DataFrame(rows, infer_schema_length=None)
    for name in order:
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.Float64).alias(name))
    table = table.select(*order, pl.exclude(*order, "reason"), "reason")
    return NumberComparison(table, _tasks(votes, results), results, n_gold_left_out=left)


def _held_out(method: Any, votes: Votes[Numbers], gold: Any, folds: int, seed: int) -> float | None:
    """Root mean squared error of answers predicted from the others' estimate and the worker's own bias."""
    if folds < 2 or len(votes) < 2 * folds:
        return None
    fold = np.random.default_rng(seed).permutation(np.arange(len(votes)) % folds)
    total, n = 0.0, 0
    for k in range(folds):
        out = votes.take(fold == k)
        found = method.fit(votes.take(fold != k), gold=gold)
        heard = (found.labels_per_task > 0)[out.task] & (found.labels_per_worker > 0)[out.worker]
        at = found.estimate.value[out.task] + found.picture.bias[out.worker]
        scale = np.maximum(votes.answers.value.std(axis=0), 1e-300)
        gap = ((out.answers.value - at) / scale)[heard]
        total, n = total + float((gap**2).mean(axis=1).sum()), n + int(heard.sum())
    unit = float(votes.answers.value.std(axis=0).mean())
    return float(np.sqrt(total / n)) * unit if n else None


def _agreement(results: dict[str, Result]) -> dict[str, float]:
    if len(results) < 2:
        return {}
    names = list(results)
    table = np.stack([results[name].estimate.value.ravel() for name in names])  # type: ignore[attr-defined]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.corrcoef(table)
    mean = (np.nansum(r, axis=1) - 1) / (len(names) - 1)
    return {name: float(value) for name, value in zip(names, mean, strict=True)}


def _tasks(votes: Votes[Numbers], results: dict[str, Result]) -> pl.DataFrame:
    columns = {name: found.estimate.value[:, 0] for name, found in results.items()}  # type: ignore[attr-defined]
    frame = pl.DataFrame({"task": votes.tasks, **columns})
    spread = np.std(list(columns.values()), axis=0) if columns else np.zeros(len(frame))
    return frame.with_columns(pl.Series("spread", spread))
