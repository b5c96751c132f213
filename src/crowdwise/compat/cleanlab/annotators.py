"""cleanlab's table of annotators: quality, agreement with the consensus, worst class, number of labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...kinds.classes.methods.ensemble.crowdlab import Weighing, mean_by
from .matrix import Labels

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def annotator_stats(labels: Labels, consensus: I8, score: F8, own: F8, weighing: Weighing | None) -> pd.DataFrame:
    """One row an annotator, worst first. own[row] is the quality of each label, score[task] of each consensus.

    With weights (CROWDLAB) quality mixes the mean quality of the annotator's labels and their agreement with the
    consensus where others labelled too, by how much the classifier counts; without, it is that agreement.
    """
    votes = labels.votes
    right = votes.label == consensus[votes.task]
    several = votes.labels_per_task[votes.task] > 1
    quality = mean_by(votes.worker[several], right[several], votes.n_workers)
    if weighing is not None:
        crowd = weighing.worker_weight.sum() * votes.labels_per_task.mean() / votes.n_workers
        model = weighing.model_weights.mean()
        w = model / (model + crowd)
        quality = w * mean_by(votes.worker, own, votes.n_workers) + (1 - w) * quality
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
    """The label that each annotator is least often right with; of equals the one they gave most often, then the one
    whose consensus is surest, then the first."""
    votes = labels.votes
    cell = votes.cell.astype(np.int64)
    size = votes.n_workers * votes.n_classes
    used = np.flatnonzero(np.bincount(cell, minlength=size))
    n = np.bincount(cell, minlength=size)[used]
    share, sure = mean_by(cell, right, size)[used], mean_by(cell, score[votes.task], size)[used]
    worker, label = np.divmod(used, votes.n_classes)
    order = np.lexsort((label, -sure, -n, share, worker))
    first = order[np.unique(worker[order], return_index=True)[1]]
    worst = np.zeros(votes.n_workers, dtype=np.int64)
    worst[worker[first]] = label[first]
    return worst
