"""Do a worker's labels follow what the others say? Against the same labels dealt out at random to the same tasks.

The sum of what the others believe of the labels has, over all their orders, a mean and a variance in closed form
(Hoeffding 1951, doi:10.1214/aoms/1177729545): nothing is fitted, whatever the classes and their frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations

F8 = npt.NDArray[np.float64]

# Whose labels follow the others' by so many standard deviations tells something, whatever a model says.
FOLLOWS = 2.0
# Who is to be called uninformative must be below the bar by so many.
SURE = 3.0


@dataclass(frozen=True)
class Following:
    """Of each worker: how far the others confirm their labels beyond chance, a share, and its standard deviation;
    also that of labels in the proportions that the others have: who said one class only may have had no occasion."""

    beyond: F8
    error: F8
    usual_error: F8

    @property
    def score(self) -> F8:
        """The same in standard deviations."""
        return self.beyond / self.error

    def less_than(self, share: float, sure: float = SURE) -> npt.NDArray[np.bool_]:
        """Who follows the others by less than `share` of what the typical worker does, even by `sure` standard
        deviations more than was observed."""
        most = self.beyond + sure * np.maximum(self.error, self.usual_error)
        return np.asarray(most < share * max(float(np.median(self.beyond)), 0.0))


def follows_others(votes: Annotations, belief: F8) -> Following:
    """How far each worker follows the others, given belief[row, class] without them."""
    m, k, who = votes.n_workers, votes.n_classes, votes.worker
    n = np.maximum(votes.labels_per_worker.astype(np.float64), 2.0)
    said = np.bincount(votes.cell, minlength=m * k).reshape(m, k) / n[:, None]  # worker, label
    mean = np.stack([np.bincount(who, weights=belief[:, c], minlength=m) for c in range(k)], axis=1) / n[:, None]
    got = np.bincount(who, weights=belief[np.arange(len(votes)), votes.label], minlength=m)

    def error(share: F8) -> F8:
        """Every label in every task's place: the variance within rows and columns of that table."""
        cells = np.bincount(who, weights=(share[who] * belief**2).sum(axis=1), minlength=m) / n
        tasks = np.bincount(who, weights=(share[who] * belief).sum(axis=1) ** 2, minlength=m) / n
        within = cells - tasks - (share * mean**2).sum(axis=1) + (share * mean).sum(axis=1) ** 2
        return np.asarray(np.sqrt(np.maximum(within / (n - 1), 1e-12 / n**2)))

    return Following(got / n - (said * mean).sum(axis=1), error(said), error(mean))


def others_votes(votes: Annotations) -> F8:
    """belief[row, class]: shares of the votes of the row's task without the worker's own; even where none is left."""
    left = votes.votes[votes.task].astype(np.float64)
    pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    _, place = np.unique(pair, return_inverse=True)
    own = np.zeros((int(place.max(initial=-1)) + 1, votes.n_classes))
    np.add.at(own, (place, votes.label), np.ones(len(votes)) if votes.weight is None else votes.weight)
    left = np.maximum(left - own[place], 0.0) + 1e-9
    return np.asarray(left / left.sum(axis=1, keepdims=True))
