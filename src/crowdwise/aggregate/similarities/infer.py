"""What the same workers' answers say of other pairs, with clusters and workers held fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...kinds.similarities.answers import Similarities
from ...kinds.similarities.estimate import SimilarityEstimate, SimilarityWorkers
from ..strangers import Policy, refuse_strangers
from .base import as_similarities, items_of_tasks


def infer(result: Result, votes: Votes[Similarities], unknown_workers: Policy) -> Result:
    """P(same) of each pair: by its items' clusters (of a new item the crowd's shares), times what was said of it."""
    votes = as_similarities(votes)
    own, picture = result.estimate, result.picture
    assert isinstance(own, SimilarityEstimate)
    assert isinstance(picture, SimilarityWorkers)
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    at, there = lookup(own.items, votes.answers.items)
    share = own.belief.mean(axis=0) if len(own.belief) else np.ones(1)
    belief = np.where(there[:, None], own.belief[at] if len(own.belief) else share, share)
    left, right = items_of_tasks(votes)
    prior = np.clip((belief[left] * belief[right]).sum(axis=1), 1e-6, 1 - 1e-6)
    coin = [np.where(known, each[old], np.nan) for each in (picture.hit, picture.rejection)]
    usual = [float(np.nanmean(each)) if np.isfinite(each).any() else 0.5 for each in (picture.hit, picture.rejection)]
    hit, rejection = (
        np.clip(np.where(np.isfinite(each), each, mean), 0.01, 0.99) for each, mean in zip(coin, usual, strict=True)
    )
    yes, a, b = votes.answers.same > 0, hit[votes.worker], rejection[votes.worker]
    said = np.where(yes, np.log(a / (1 - b)), np.log((1 - a) / b))
    odds = np.log(prior / (1 - prior)) + np.bincount(votes.task, weights=said, minlength=votes.n_tasks)
    both = np.concatenate([votes.answers.left, votes.answers.right])
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SimilarityEstimate(
            left, right, 1 / (1 + np.exp(-odds)), belief,
            np.bincount(both, minlength=len(belief)).astype(np.float64), np.zeros(len(belief), dtype=bool),
            votes.answers.items,
        ),
        picture=SimilarityWorkers(**{n: np.where(known, v[old], np.nan) for n, v in picture.arrays().items()}),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={},
    )  # fmt: skip
