"""Rankers and clusterers on the command line: features, summaries and predictions of a net trained on pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import trainers

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes


def read_features(path: Path) -> dict[str, Any]:
    """Read X and the items of its rows."""
    from ...learn.data.folder import read_with

    items, x, _ = read_with(path)
    return {"X": x, "items": items}


summary = trainers.summary_with_facts


def print_summary(fitted: Any, votes: Votes[Any], output: Path) -> None:
    """Print a short summary on stderr."""
    trainers.print_training(
        fitted, votes, output, f"{len(votes.answers.items):,} items", held_out="answers", predictable="items"
    )


def predict_table(fitted: Any, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:  # noqa: ARG001
    """Return one row per item: item, score; or item, cluster, confidence, p_<cluster>..., clusters from 1 on."""
    import polars as pl

    trainers.refuse_votes(fitted, votes)
    x, items = inputs["X"], inputs["items"]
    columns: dict[str, Any] = {"item": range(len(x)) if items is None else items}
    if hasattr(fitted, "clusters_"):
        proba = fitted.predict_proba(x)
        columns |= {"cluster": proba.argmax(axis=1) + 1, "confidence": proba.max(axis=1)}
        columns |= {f"p_{k + 1}": proba[:, k] for k in range(proba.shape[1])}
    else:
        columns["score"] = fitted.predict(x)
    return pl.DataFrame(columns)
