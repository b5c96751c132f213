"""What training on same or different found, as the same Result that aggregation gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...aggregate import registry
from ...aggregate.similarities.base import items_of_tasks, numbered, pairs_of, picture_of
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.similarities.answers import Similarities
from ...kinds.similarities.estimate import SimilarityEstimate
from ...maths.similarities.mean_field import together

if TYPE_CHECKING:
    from .clusterer import CrowdClusterer


def how_many(votes: Votes[Similarities], seed: int) -> int:
    """As many clusters as the answers alone say, by what is usual for them; at least two."""
    found = registry.method(registry.default_method(votes), seed=seed).fit(votes)
    return max(int(found.estimate.n_clusters), 2)


def outcome(fitted: CrowdClusterer, votes: Votes[Similarities], belief: npt.NDArray[np.float64]) -> Result:
    """The net's belief[item, cluster], what it says of each pair, and the workers' coins against it."""
    pairs = pairs_of(votes)
    left, right = items_of_tasks(votes)
    unknown = np.full(pairs.n_items, -1, dtype=np.int64)
    belief = numbered(belief / belief.sum(axis=1, keepdims=True), unknown, 0)
    same = np.clip((belief[left] * belief[right]).sum(axis=1), 0, 1)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SimilarityEstimate(left, right, same, belief, pairs.degree, unknown >= 0, votes.answers.items),
        picture=picture_of(pairs, together(pairs, belief)),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={
            "k": belief.shape[1],
            "cluster_names": [],
            "best_epoch": fitted.history_.best_epoch or len(fitted.history_),
        },
        **fitted._course(),
    )
