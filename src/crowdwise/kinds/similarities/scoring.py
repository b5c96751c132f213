"""Evaluation of clusters, facts about the votes, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import I8, Mask
from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scores, Table
from .answers import NO, YES, Similarities
from .estimate import SimilarityEstimate
from .fitting import item_truth, pairs_of
from .maths import adjusted_rand, from_partitions, matched_accuracy, mutual_information


def rows_in_truth(
    table: pl.DataFrame, items: pl.Series, sides: Sequence[str], fit_gold: pl.Series | None
) -> tuple[Mask, list[I8], int]:
    """Find the rows of a result table that the truth of the items can score.

    Returns:
        A mask of the rows with answers whose items are all in the truth, the position in `items` of each side of these
        rows, and the number of rows that are left out because they were gold in the fit.
    """
    for name in sides:
        if name not in table.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(table.columns)}")
    order = items.cast(pl.String).arg_sort()
    names = items.cast(pl.String).gather(order)
    placed = [lookup(names, table[name].cast(pl.String)) for name in sides]
    use = np.all([has_item for _, has_item in placed], axis=0)
    if "n_labels" in table.columns:
        use &= (table["n_labels"].cast(pl.Float64, strict=False).fill_null(0) > 0).to_numpy()
    if not use.any():
        raise DataError("no row of this table has all its items in the truth; do the ids match?")
    used_in_fit = use & (among(table["task"], fit_gold) if "task" in table.columns else False)
    is_scored = use & ~used_in_fit
    if not is_scored.any():
        raise DataError(ALL_GOLD.format(n=int(used_in_fit.sum())))
    at = order.to_numpy().astype(np.int64)
    return is_scored, [at[place[is_scored]] for place, _ in placed], int(used_in_fit.sum())


# ----------------------------------------------------------------
# Evaluation of clusters against the true ones: ARI, NMI, accuracy after the best matching, right pairs.

SCORES = {
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "accuracy": "items in the right cluster (best matching)",
    "pairs": "pairs with the right answer",
    "clusters": "clusters found",
    "true_clusters": "true clusters",
}
_OF_ITEMS: dict[str, Callable[[I8, I8], float]] = {
    "ari": adjusted_rand,
    "nmi": mutual_information,
    "accuracy": matched_accuracy,
}
# Number of random halves of the items for the intervals. A bootstrap draws items twice, which agree with themselves.
HALVES = 200


@dataclass(frozen=True, repr=False, kw_only=True)
class SimilarityEvaluation(Scores):
    """Scores over the items whose true cluster is known; `intervals` are 95 %, by halves of the items.

    For a table of pairs, `pairs` is the only score and `n` counts pairs.
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = ("ari", "nmi", "accuracy", "pairs", "clusters")

    @property
    def unit(self) -> str:
        """What is scored, in the singular."""
        return "item" if "ari" in self.scores else "pair"

    def text(self, key: str, value: float) -> str:
        """Return the value of a score as `rows` shows it."""
        return f"{value:.0f}" if "clusters" in key else super().text(key, value)


def evaluate(
    result: Result | pl.DataFrame,
    truth: Any,
    *,
    fit_gold: pl.Series | None = None,
    resamples: int = 0,
    seed: int = 0,
) -> SimilarityEvaluation:
    """Score a result against the true clusters.

    Args:
        result: A Result, or a table left, right, same.
        truth: A mapping, or a table item, cluster.
        fit_gold: Tasks whose gold was used in the fit. They are left out of a table; a Result knows its gold items.
        resamples: Not 0: with 95 % intervals.
        seed: Seed of the resamples.
    """
    if not isinstance(result, Result):
        return _pairs(result, item_truth(truth), fit_gold)
    estimate = result.estimate
    assert isinstance(estimate, SimilarityEstimate)
    table = item_truth(truth)
    at, has_item = lookup(estimate.items.cast(pl.String), table["item"].cast(pl.String))
    if not has_item.any():
        raise DataError(
            "none of the items in the truth occurs in the result; do the ids match? (a table item, cluster)"
        )
    used_in_fit = has_item & estimate.known[at]
    is_scored = has_item & ~used_in_fit
    if not is_scored.any():
        raise DataError(ALL_GOLD.format(n=int(used_in_fit.sum())).replace("tasks", "items"))
    true = np.full(len(estimate.items), -1, dtype=np.int64)
    codes = np.unique(table["label"].cast(pl.String).to_numpy(), return_inverse=True)[1]
    true[at[is_scored]] = codes[is_scored]
    scored = np.flatnonzero(true >= 0)
    estimated, expected = estimate.cluster[scored], true[scored]
    scores = {name: score(estimated, expected) for name, score in _OF_ITEMS.items()}
    is_scored_pair = (true[estimate.left] >= 0) & (true[estimate.right] >= 0) & (result.labels_per_task > 0)
    right = (estimate.same > 0.5) == (true[estimate.left] == true[estimate.right])
    scores["pairs"] = float(right[is_scored_pair].mean()) if is_scored_pair.any() else float("nan")
    scores |= {"clusters": float(len(np.unique(estimated))), "true_clusters": float(len(np.unique(expected)))}
    intervals = _intervals(estimated, expected, scores, seed) if resamples and len(scored) >= 8 else {}
    return SimilarityEvaluation(
        n=len(scored), scores=scores, intervals=intervals, truths_without_labels=int((~has_item).sum()),
        n_gold_left_out=int(used_in_fit.sum()),
    )  # fmt: skip


def _pairs(table: pl.DataFrame, truth: pl.DataFrame, fit_gold: pl.Series | None) -> SimilarityEvaluation:
    """Share of right pairs in a table."""
    use, (left, right), used_in_fit = rows_in_truth(table, truth["item"], ("left", "right"), fit_gold)
    text = table["same"].filter(pl.Series(use)).cast(pl.String).str.strip_chars().str.to_lowercase()
    same, other = (text.is_in(list(words)).fill_null(False).to_numpy() for words in (YES, NO))
    if not (same | other).all():
        raise DataError(f"same is {quote(text.filter(pl.Series(~(same | other))))}, which is neither yes nor no")
    cluster = np.unique(truth["label"].cast(pl.String).to_numpy(), return_inverse=True)[1]
    share = float((same == (cluster[left] == cluster[right])).mean())
    return SimilarityEvaluation(n=len(same), scores={"pairs": share}, n_gold_left_out=used_in_fit)


def _intervals(estimated: I8, expected: I8, scores: dict[str, float], seed: int) -> dict[str, tuple[float, float]]:
    """Intervals by subsampling halves of the items (Politis & Romano 1994, doi:10.1214/aos/1176325770)."""
    rng = np.random.default_rng(seed)
    half = len(estimated) // 2
    draws = [rng.permutation(len(estimated))[:half] for _ in range(HALVES)]
    out = {}
    for name, score in _OF_ITEMS.items():
        spread = float(np.std([score(estimated[rows], expected[rows]) for rows in draws]))
        low = scores[name] - 1.96 * spread
        out[name] = (max(-1.0 if name == "ari" else 0.0, low), min(1.0, scores[name] + 1.96 * spread))
    return out


# ----------------------------------------------------------------
# Facts about the votes, and results for the terminal.

Row = list[str]


def describe(votes: Votes[Similarities]) -> dict[str, Any]:
    """Describe the votes: sizes, items, share of "same", components of items, and whether they come from partitions."""
    pairs = pairs_of(votes)
    has_answers = pairs.degree > 0
    return {
        **common(votes),
        "items": len(votes.answers.items),
        "said_same": float(votes.answers.same.mean()) if len(votes) else None,
        "answers_per_item": float(pairs.degree[has_answers].mean()) if has_answers.any() else None,
        "islands": len(np.unique(pairs.components[1][has_answers])) if has_answers.any() else 0,
        "from_partitions": from_partitions(pairs),
    }


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows for the table of sizes, further tables, and advice."""
    mean, share_same = facts["answers_per_item"], facts["said_same"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["answers about an item", "–" if mean is None else f"{mean:.1f}"],
        ['share of "same"', "–" if share_same is None else f"{share_same:.1%}"],
        ["components of items", f"{facts['islands']:,}"],
        ["answers come from", "partitions" if facts["from_partitions"] else "questions about pairs"],
    ]
    advice = []
    if share_same in (0.0, 1.0):
        advice.append("all answers are equal: clusters cannot be distinguished")
    if facts["islands"] > 1:
        advice.append(
            f"the items form {facts['islands']} components without answers between them: whether clusters of different "
            "components are the same is unknown"
        )
    return rows, [], advice


def sentences(votes: Votes[Similarities], result: Result) -> list[str]:
    """Summarize the clusters, the choice of the method and the components in sentences."""
    estimate = result.estimate
    assert isinstance(estimate, SimilarityEstimate)
    sizes = np.sort(np.bincount(estimate.cluster, minlength=1))[::-1]
    shown = ", ".join(f"{size:,}" for size in sizes[sizes > 0][:8])
    how = "given" if result.params.get("k") is not None else "chosen by held-out answers"
    noun = "cluster" if estimate.n_clusters == 1 else "clusters"
    out = [f"{len(estimate.items):,} items in {estimate.n_clusters} {noun} ({how}) of {shown}"]
    if "taken" in result.extra:
        extra = result.extra
        out.append(f"the chosen method is {extra['taken']}; {extra['beside']} has an adjusted Rand index of "
                   f"{extra['agreement']:.2f} with it")  # fmt: skip
    islands = describe(votes)["islands"]
    if islands > 1:
        out.append(f"the items form {islands} components without answers between them: whether clusters of different "
                   "components are the same is a guess")  # fmt: skip
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary, the clusters with some of their items, and the least certain items."""
    estimate = result.estimate
    assert isinstance(estimate, SimilarityEstimate)
    items = estimate.item_table()
    rows = []
    for (cluster,), part in items.sort("cluster").group_by("cluster", maintain_order=True):
        first = ", ".join(map(str, part.sort("confidence", descending=True)["item"].head(6).to_list()))
        rows.append([str(cluster), f"{len(part):,}", first])
    least = [[str(i), str(c), f"{p:.3f}", f"{n:.0f}"] for i, c, p, n, _ in items.sort("confidence").head(5).iter_rows()]
    return estimate.summary(), [
        Table("Clusters", ["cluster", "items", "such as"], rows[:30]),
        Table("Least certain items", ["item", "cluster", "confidence", "answers"], least),
    ]
