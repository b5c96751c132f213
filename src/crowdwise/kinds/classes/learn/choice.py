"""Selection of a training method without truth, by the prediction of held-out labels over several splits.

One split is not enough to distinguish good methods; every fold holds out other tasks and initialises another net.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ....core.errors import IdentifiabilityWarning, ParameterError
from ....core.method_registry import learner
from .classifier import CrowdClassifier

CANDIDATES = ("vanilla", "crowd_layer", "agg_net", "geo_crowd_net_f", "coin_net", "max_mig")


@dataclass(frozen=True)
class Choice:
    """Result of `choose`.

    Attributes:
        best: Name of the best method.
        table: method, score, standard_error, epochs, doubts; best first. `doubts` is the number of splits in which the
            result contradicts the method's assumptions (`CrowdClassifier.doubts_`); a method with doubts in most
            splits ranks behind all others.
        reason: Why it was chosen, in a sentence.
    """

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
    """Train every method `folds` times and compare their scores on held-out labels; no truth is used.

    Args:
        X: Features of the tasks.
        votes: The votes, as for `CrowdClassifier.fit`.
        methods: Names of the candidates.
        folds: Number of splits, the same for all methods, so that differences are paired.
        net: The net, as for `CrowdClassifier`.
        tasks: Names of the rows of `X`.
        settings: Further parameters of `CrowdClassifier` (epochs, lr, validation ...).
    """
    if folds < 2:
        raise ParameterError(f"folds must be at least 2, got {folds}; one split cannot distinguish good methods")
    settings_ = {**(settings or {}), "refit": False}  # the score is that of the run with held-out labels
    if not settings_.get("validation", 0.15):
        raise ParameterError("choose compares methods on held-out labels; validation must be above 0, got 0")
    rows = []
    for name in dict.fromkeys(methods):
        learner(name)
        for seed in range(folds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IdentifiabilityWarning)  # they are counted
                fitted = CrowdClassifier(net, name, **{**settings_, "seed": seed}).fit(X, votes, tasks=tasks)
            score = fitted.history_["score"]
            epoch = fitted.history_.best_epoch or len(fitted.history_)
            rows.append(
                {"method": name, "fold": seed, "score": max(score), "epochs": epoch, "doubts": bool(fitted.doubts_)}
            )
    table = (
        pl.DataFrame(rows)
        .group_by("method", maintain_order=True)
        .agg(
            pl.col("score").mean(),
            (pl.col("score").std() / folds**0.5).alias("standard_error"),
            pl.col("epochs").median().round().cast(pl.Int64),
            pl.col("doubts").sum().cast(pl.Int64),
        )
        .sort(pl.col("doubts") * 2 > folds, -pl.col("score"))
    )
    return Choice(table["method"][0], table, _reason(pl.DataFrame(rows), table, folds))


def _reason(rows: pl.DataFrame, table: pl.DataFrame, folds: int) -> str:
    best = table["method"][0]
    if len(table) == 1:
        n = table["doubts"][0]
        doubt = f", and its result contradicts its assumptions in {n} of {folds} splits" if n else ""
        return f"{best} was the only candidate{doubt}"
    second = table["method"][1]
    scores = {name: rows.filter(pl.col("method") == name)["score"].to_numpy() for name in (best, second)}
    gap = scores[best] - scores[second]
    error = gap.std(ddof=1) / folds**0.5
    clear = "clearly" if gap.mean() > 2 * error else "not clearly"
    return (
        f"{best} predicts held-out labels best, mean log-likelihood {scores[best].mean():.3f} over {folds} splits, "
        f"{clear} ahead of {second} ({gap.mean():+.3f} ± {error:.3f})"
    )
