"""Choosing the training method without truth: which one best predicts labels kept aside, over several splits.

One split is too little to tell good methods apart; every fold keeps other tasks aside and starts another net.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ....core.errors import ParameterError
from ....core.method_registry import learner
from .classifier import CrowdClassifier

CANDIDATES = ("vanilla", "crowd_layer", "agg_net", "geo_crowd_net_f", "coin_net", "max_mig")


@dataclass(frozen=True)
class Choice:
    """`best` and the table method, score, standard_error, epochs, best first; `reason` says why in a sentence."""

    best: str
    table: pl.DataFrame
    reason: str


def choose(
    X: Any,
    votes: Any,
    *,
    methods: Sequence[str] = CANDIDATES,
    folds: int = 5,
    net: Any = "mlp",
    tasks: Any = None,
    settings: Mapping[str, Any] | None = None,
) -> Choice:
    """Train every method `folds` times and compare their scores on held-out labels; no truth is looked at.

    `settings` goes to CrowdClassifier (epochs, lr, validation ...). The differences are paired: all methods see the
    same splits.
    """
    if folds < 2:
        raise ParameterError(f"folds must be at least 2, got {folds}; one split cannot tell good methods apart")
    how = {**(settings or {}), "refit": False}  # the score is that of the run that keeps labels aside
    if not how.get("validation", 0.15):
        raise ParameterError("choose compares methods by labels kept aside; validation must be above 0, got 0")
    rows = []
    for name in dict.fromkeys(methods):
        learner(name)
        for seed in range(folds):
            fitted = CrowdClassifier(net, name, **{**how, "seed": seed}).fit(X, votes, tasks=tasks)
            score = fitted.history_["score"]
            epoch = fitted.history_.best_epoch or len(fitted.history_)
            rows.append({"method": name, "fold": seed, "score": max(score), "epochs": epoch})
    table = (
        pl.DataFrame(rows)
        .group_by("method", maintain_order=True)
        .agg(
            pl.col("score").mean(),
            (pl.col("score").std() / folds**0.5).alias("standard_error"),
            pl.col("epochs").median().round().cast(pl.Int64),
        )
        .sort("score", descending=True)
    )
    return Choice(table["method"][0], table, _reason(pl.DataFrame(rows), table, folds))


def _reason(rows: pl.DataFrame, table: pl.DataFrame, folds: int) -> str:
    best = table["method"][0]
    if len(table) == 1:
        return f"{best} was the only candidate"
    second = table["method"][1]
    scores = {name: rows.filter(pl.col("method") == name)["score"].to_numpy() for name in (best, second)}
    gap = scores[best] - scores[second]
    error = gap.std(ddof=1) / folds**0.5
    clear = "clearly" if gap.mean() > 2 * error else "not clearly"
    return (
        f"{best} predicts held-out labels best, mean log-likelihood {scores[best].mean():.3f} over {folds} splits, "
        f"{clear} ahead of {second} ({gap.mean():+.3f} ± {error:.3f})"
    )
