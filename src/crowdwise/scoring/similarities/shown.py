"""Same or different for people: what a file holds, what a fit comes to, what a saved result shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aggregate.similarities.base import pairs_of
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.describe import common
from ...kinds.similarities.answers import Similarities
from ...kinds.similarities.estimate import SimilarityEstimate
from ...maths.similarities.partitions import from_partitions
from ..scored import Table

Row = list[str]


def describe(votes: Votes[Similarities]) -> dict[str, Any]:
    """Sizes, items, how often "same" was said, islands of items, and whether the answers come from partitions."""
    pairs = pairs_of(votes)
    heard = pairs.degree > 0
    return {
        **common(votes),
        "items": len(votes.answers.items),
        "said_same": float(votes.answers.same.mean()) if len(votes) else None,
        "answers_per_item": float(pairs.degree[heard].mean()) if heard.any() else None,
        "islands": len(np.unique(pairs.components[1][heard])) if heard.any() else 0,
        "from_partitions": from_partitions(pairs),
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    mean, said = facts["answers_per_item"], facts["said_same"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["answers about an item", "–" if mean is None else f"{mean:.1f}"],
        ["said to be the same", "–" if said is None else f"{said:.1%}"],
        ["islands of items", f"{facts['islands']:,}"],
        ["answers come from", "partitions" if facts["from_partitions"] else "questions about pairs"],
    ]
    advice = []
    if said in (0.0, 1.0):
        advice.append("all answers are the same: nothing can tell clusters apart")
    if facts["islands"] > 1:
        advice.append(
            f"the items fall into {facts['islands']} islands; nothing tells which clusters of two are the same"
        )
    return rows, [], advice


def sentences(votes: Votes[Similarities], result: Result) -> list[str]:
    """How many clusters of which sizes; which method was taken; islands."""
    own = result.estimate
    assert isinstance(own, SimilarityEstimate)
    sizes = np.sort(np.bincount(own.cluster, minlength=1))[::-1]
    shown = ", ".join(f"{size:,}" for size in sizes[sizes > 0][:8])
    how = "given" if result.params.get("k") is not None else "chosen by answers held out"
    noun = "cluster" if own.n_clusters == 1 else "clusters"
    out = [f"{len(own.items):,} items in {own.n_clusters} {noun} ({how}) of {shown}"]
    if "taken" in result.extra:
        what = result.extra
        out.append(f"the method taken is {what['taken']}; {what['beside']} beside it has an adjusted Rand index of "
                   f"{what['agreement']:.2f} with it")  # fmt: skip
    islands = describe(votes)["islands"]
    if islands > 1:
        out.append(f"the items fall into {islands} islands between which nothing was asked: whether clusters of two "
                   "islands are the same is a guess")  # fmt: skip
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The clusters with some of their items; the least certain items."""
    own = result.estimate
    assert isinstance(own, SimilarityEstimate)
    items = own.item_table()
    rows = []
    for (cluster,), part in items.sort("cluster").group_by("cluster", maintain_order=True):
        first = ", ".join(map(str, part.sort("confidence", descending=True)["item"].head(6).to_list()))
        rows.append([str(cluster), f"{len(part):,}", first])
    least = [[str(i), str(c), f"{p:.3f}", f"{n:.0f}"] for i, c, p, n, _ in items.sort("confidence").head(5).iter_rows()]
    return own.summary(), [
        Table("Clusters", ["cluster", "items", "such as"], rows[:30]),
        Table("Least certain items", ["item", "cluster", "confidence", "answers"], least),
    ]
