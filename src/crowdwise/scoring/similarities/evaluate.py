"""How good are clusters, given the true ones: ARI, NMI, accuracy after the best matching, pairs told right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.similarities.gold import item_truth
from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...kinds.similarities.columns import NO, YES
from ...kinds.similarities.estimate import SimilarityEstimate
from ...maths.similarities.agreement import adjusted_rand, matched_accuracy, mutual_information
from ..evaluate import ALL_GOLD
from ..scored import Scored, Table
from .asked import judged

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
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
