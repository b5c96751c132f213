"""What was asked of items, in a table that aggregate wrote: which of its rows a truth of the items can judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from .answers import NO, YES, Similarities
from .estimate import SimilarityEstimate
from .fitting import item_truth, pairs_of
from .maths import adjusted_rand, from_partitions, matched_accuracy, mutual_information

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def judged(
    found: pl.DataFrame, items: pl.Series, sides: Sequence[str], told: pl.Series | None
) -> tuple[Mask, list[I8], int]:
    """(rows whose items are all in the truth and that somebody answered, where each side of these rows stands in
    `items`, how many rows were gold in the fit and are left out)."""
    for name in sides:
        if name not in found.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(found.columns)}")
    order = items.cast(pl.String).arg_sort()
    names = items.cast(pl.String).gather(order)
    placed = [lookup(names, found[name].cast(pl.String)) for name in sides]
    use = np.all([known for _, known in placed], axis=0)
    if "n_labels" in found.columns:
        use &= (found["n_labels"].cast(pl.Float64, strict=False).fill_null(0) > 0).to_numpy()
    if not use.any():
        raise DataError("no row of this table has all its items in the truth; do the ids match?")
    gone = use & (among(found["task"], told) if "task" in found.columns else False)
    fair = use & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    at = order.to_numpy().astype(np.int64)
    return fair, [at[place[fair]] for place, _ in placed], int(gone.sum())


# ----------------------------------------------------------------
# How good are clusters, given the true ones: ARI, NMI, accuracy after the best matching, pairs told right.

F8 = npt.NDArray[np.float64]
SCORES = {
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "accuracy": "items in the right cluster (best matching)",
    "pairs": "asked pairs told right",
    "clusters": "clusters found",
    "true_clusters": "true clusters",
}
_OF_ITEMS: dict[str, Callable[[I8, I8], float]] = {
    "ari": adjusted_rand,
    "nmi": mutual_information,
    "accuracy": matched_accuracy,
}
# Half of the items, drawn so often, give the intervals: items drawn twice would agree with themselves.
HALVES = 200


@dataclass(frozen=True, repr=False)
class SimilarityEvaluation(Scored):
    """Scores over the items whose true cluster is known; `intervals` are 95 %, by halves of the items. Of a table of
    pairs only `pairs` can be said, and `n` counts them."""

    n: int
    scores: dict[str, float]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """ari, nmi, accuracy, pairs, clusters, true_clusters."""
        if name in SCORES and name in self.scores:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        if "ari" not in self.scores:
            return f"SimilarityEvaluation({self.n:,} pairs: {self.pairs:.3f} told right)"
        return f"SimilarityEvaluation({self.n:,} items: ARI {self.ari:.3f}, NMI {self.nmi:.3f})"

    def rows(self) -> list[list[str]]:
        """Name, value and interval."""
        out = []
        for key, name in SCORES.items():
            if key not in self.scores:
                continue
            value, ends = self.scores[key], self.intervals.get(key)
            shown = "–" if np.isnan(value) else f"{value:.0f}" if "clusters" in key else f"{value:.4f}"
            out.append([name, shown, "–" if ends is None else f"{ends[0]:.4f} – {ends[1]:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """Nothing more to show."""
        return []

    def headline(self) -> dict[str, float]:
        """ARI ranks."""
        return {name: self.scores[name] for name in ("ari", "nmi", "accuracy", "pairs", "clusters")}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        scores = {}
        for name, value in self.scores.items():
            ends = self.intervals.get(name)
            scores[name] = {"value": None if np.isnan(value) else value}
            scores[name] |= {} if ends is None else {"low": ends[0], "high": ends[1]}
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **scores, **rest}


def evaluate(
    found: Result | pl.DataFrame,
    truth: Any,
    *,
    told: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> SimilarityEvaluation:
    """Score a Result, or a table left, right, same, against the true clusters: a mapping, or a table item, cluster."""
    if not isinstance(found, Result):
        return _pairs(found, item_truth(truth), told)
    own = found.estimate
    assert isinstance(own, SimilarityEstimate)
    table = item_truth(truth)
    at, there = lookup(own.items.cast(pl.String), table["item"].cast(pl.String))
    if not there.any():
        raise DataError(
            "none of the items in the truth was asked about here; do the ids match? (a table item, cluster)"
        )
    gone = there & own.known[at]
    fair = there & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())).replace("tasks", "items"))
    true = np.full(len(own.items), -1, dtype=np.int64)
    codes = np.unique(table["label"].cast(pl.String).to_numpy(), return_inverse=True)[1]
    true[at[fair]] = codes[fair]
    some = np.flatnonzero(true >= 0)
    mine, theirs = own.cluster[some], true[some]
    scores = {name: score(mine, theirs) for name, score in _OF_ITEMS.items()}
    both = (true[own.left] >= 0) & (true[own.right] >= 0) & (found.labels_per_task > 0)
    right = (own.same > 0.5) == (true[own.left] == true[own.right])
    scores["pairs"] = float(right[both].mean()) if both.any() else float("nan")
    scores |= {"clusters": float(len(np.unique(mine))), "true_clusters": float(len(np.unique(theirs)))}
    intervals = _intervals(mine, theirs, scores, seed) if resamples and len(some) >= 8 else {}
    return SimilarityEvaluation(len(some), scores, int((~there).sum()), int(gone.sum()), intervals)


def _pairs(found: pl.DataFrame, truth: pl.DataFrame, told: pl.Series | None) -> SimilarityEvaluation:
    """How many pairs of a table are told right."""
    use, (left, right), gone = judged(found, truth["item"], ("left", "right"), told)
    text = found["same"].filter(pl.Series(use)).cast(pl.String).str.strip_chars().str.to_lowercase()
    same, other = (text.is_in(list(words)).fill_null(False).to_numpy() for words in (YES, NO))
    if not (same | other).all():
        raise DataError(f"same is {quote(text.filter(pl.Series(~(same | other))))}, which is neither yes nor no")
    cluster = np.unique(truth["label"].cast(pl.String).to_numpy(), return_inverse=True)[1]
    share = float((same == (cluster[left] == cluster[right])).mean())
    return SimilarityEvaluation(len(same), {"pairs": share}, n_gold_left_out=gone)


def _intervals(mine: I8, theirs: I8, scores: dict[str, float], seed: int) -> dict[str, tuple[float, float]]:
    """The spread over random halves is that of the whole (Politis & Romano 1994, doi:10.1214/aos/1176325770)."""
    rng = np.random.default_rng(seed)
    half = len(mine) // 2
    draws = [rng.permutation(len(mine))[:half] for _ in range(HALVES)]
    out = {}
    for name, score in _OF_ITEMS.items():
        spread = float(np.std([score(mine[rows], theirs[rows]) for rows in draws]))
        low = scores[name] - 1.96 * spread
        out[name] = (max(-1.0 if name == "ari" else 0.0, low), min(1.0, scores[name] + 1.96 * spread))
    return out


# ----------------------------------------------------------------
# Same or different for people: what a file holds, what a fit comes to, what a saved result shows.

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
