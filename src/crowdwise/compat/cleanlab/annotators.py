"""cleanlab's table of annotators: quality, agreement with the consensus, worst class, number of labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...core.arrays import F8, I8
from ...kinds.classes.methods.ensemble.crowdlab import WeightedConsensus, mean_by
from .matrix import Labels


def annotator_stats(
    labels: Labels, consensus: I8, score: F8, label_quality: F8, weighing: WeightedConsensus | None
) -> pd.DataFrame:
    """Return one row per annotator, worst first.

    `label_quality` has the quality of each label, `score` of each consensus. With weights (CROWDLAB) the quality of an
    annotator is a mean of the quality of their labels and of their agreement with the consensus on examples with other
    labels, weighted by the classifier's share; without, it is that agreement.
    """
    votes = labels.votes
    right = votes.label == consensus[votes.task]
    several = votes.labels_per_task[votes.task] > 1
    quality = mean_by(votes.worker[several], right[several], votes.n_workers)
    if weighing is not None:
        crowd = weighing.worker_weight.sum() * votes.labels_per_task.mean() / votes.n_workers
        model = weighing.model_weights.mean()
        w = model / (model + crowd)
        quality = w * mean_by(votes.worker, label_quality, votes.n_workers) + (1 - w) * quality
    table = pd.DataFrame(
        {
            "annotator_quality": quality,
            "agreement_with_consensus": mean_by(votes.worker, right, votes.n_workers),
            "worst_class": labels.named(_worst_class(labels, right, score)),
            "num_examples_labeled": votes.labels_per_worker,
        },
        index=labels.annotators,
    )
    return table.sort_values(by=["annotator_quality", "agreement_with_consensus"])


def _worst_class(labels: Labels, right: npt.NDArray[np.bool_], score: F8) -> I8:
    """Return the label with which each annotator is least often right.

    Ties go to the label they gave most often, then to that with the highest consensus quality, then to the first.
    """
    votes = labels.votes
    cell = votes.cell.astype(np.int64)
    size = votes.n_workers * votes.n_classes
    used = np.flatnonzero(np.bincount(cell, minlength=size))
    n = np.bincount(cell, minlength=size)[used]
    share, confidence = mean_by(cell, right, size)[used], mean_by(cell, score[votes.task], size)[used]
    worker, label = np.divmod(used, votes.n_classes)
    order = np.lexsort((label, -confidence, -n, share, worker))
    first = order[np.unique(worker[order], return_index=True)[1]]
    worst = np.zeros(votes.n_workers, dtype=np.int64)
    worst[worker[first]] = label[first]
    return worst
