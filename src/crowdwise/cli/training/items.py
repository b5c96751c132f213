"""Rankers and clusterers: what is read, written and said of a net that learnt from pairs of items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import ways

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes


def features(path: Path) -> dict[str, Any]:
    """X, and the items that its rows are of."""
    from ...learn.data.folder import read_with

    items, x, _ = read_with(path)
    return {"X": x, "items": items}


summary = ways.summary_with_facts


def tell(fitted: Any, votes: Votes[Any], output: Path) -> None:
    """The short summary for people."""
    ways.tell_of(fitted, votes, output, f"{len(votes.answers.items):,} items", said="answers", new="items")


def predicted(fitted: Any, given: dict[str, Any], said: Any, unknown: Any) -> pl.DataFrame:  # noqa: ARG001
    """One row an item: item, score; or item, cluster, confidence, p_<cluster>..., clusters counted from 1."""
    import polars as pl

    ways.refuse_votes(fitted, said)
    x, items = given["X"], given["items"]
    columns: dict[str, Any] = {"item": range(len(x)) if items is None else items}
    if hasattr(fitted, "clusters_"):
        proba = fitted.predict_proba(x)
        columns |= {"cluster": proba.argmax(axis=1) + 1, "confidence": proba.max(axis=1)}
        columns |= {f"p_{k + 1}": proba[:, k] for k in range(proba.shape[1])}
    else:
        columns["score"] = fitted.predict(x)
    return pl.DataFrame(columns)
