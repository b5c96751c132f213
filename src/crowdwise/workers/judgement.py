"""What a fit says of every single label: is it right, and what would the others have said without it?

`right` takes part in the label's own judgement, `others` does not: from the task's posterior the worker's own
likelihood term is removed, which for a confusion-matrix method is exact,

    others[row, k]  ∝  posterior[task, k] / confusion[worker, k, label].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..core.errors import DataError
from ..core.result import Result
from ..kinds.classes import Annotations
from ..maths.logspace import normalise_rows

if TYPE_CHECKING:
    from .spammers import Suspicion

F8 = npt.NDArray[np.float64]

# Below this a likelihood or a posterior counts as this: a logarithm must exist.
FLOOR = 1e-18


@dataclass(frozen=True)
class Judgement:
    """Annotations with the fit that belongs to them; arrays by row are in the order of the annotations."""

    annotations: Annotations
    result: Result

    def __post_init__(self) -> None:
        a, r = self.annotations, self.result
        for name in ("tasks", "workers", "classes"):
            mine, theirs = getattr(a, name), getattr(r, name)
            if len(mine) != len(theirs) or mine.to_list() != theirs.to_list():
                raise DataError(f"the result and the annotations have different {name}; fit the method on these votes")

    @cached_property
    def weight(self) -> F8:
        """Weight of each row, one by default."""
        return np.ones(len(self.annotations)) if self.annotations.weight is None else self.annotations.weight

    @cached_property
    def counts(self) -> F8:
        """counts[worker, true, observed]: expected numbers of labels under the posterior."""
        return self.table(self.posterior[self.annotations.task])

    def table(self, belief: F8) -> F8:
        """table[worker, true, observed] of belief[row, true]."""
        votes = self.annotations
        m, k = votes.n_workers, votes.n_classes
        out = np.empty((m, k, k))
        for true in range(k):
            cells = np.bincount(votes.cell, weights=self.weight * belief[:, true], minlength=m * k)
            out[:, true, :] = cells.reshape(m, k)
        return out

    @cached_property
    def others(self) -> F8:
        """others[row, class]: posterior of the row's task without anything its worker said of it."""
        votes, (theta, posterior) = self.annotations, self._model
        k = votes.n_classes
        by_cell = np.log(np.maximum(theta.transpose(0, 2, 1).reshape(-1, k), FLOOR))
        own = by_cell[votes.cell] * self.weight[:, None]
        pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
        if len(pair) and (pair[1:] == pair[:-1]).any():  # several answers of one worker to one task go together
            first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
            own = np.repeat(np.add.reduceat(own, first, axis=0), np.diff(np.r_[first, len(pair)]), axis=0)
        score = np.log(np.maximum(posterior, FLOOR))[votes.task] - own
        out = normalise_rows(score)[0]
        known = self.known[votes.task]  # stays known, whoever is left out
        out[known] = posterior[votes.task[known]]
        return out

    @cached_property
    def known(self) -> npt.NDArray[np.bool_]:
        """known[task]: tasks whose truth was given as gold."""
        gold = self.result.gold
        return np.zeros(self.annotations.n_tasks, dtype=bool) if gold is None else gold

    @cached_property
    def posterior(self) -> F8:
        """posterior[task, class] by which the workers are judged: the E-step under their confusions.

        For an EM method this is the result's own; an average of methods, or a calibrated posterior, is softer than the
        workers deserve. A method that knows more of a task than its workers (groups, difficulty) keeps its own.
        """
        return self._model[1]

    @cached_property
    def _model(self) -> tuple[F8, F8]:
        """theta[worker, true, observed] and the posterior that belongs to it."""
        from ..maths.kernels import Workspace, em_pass

        result = self.result
        if result.confusion is not None:
            theta = result.extra.get("theta", result.confusion)
            if _judges_itself(result.method):
                return theta, result.posterior
        else:
            table = self.table(result.posterior[self.annotations.task]) + 0.5
            theta = table / table.sum(axis=2, keepdims=True)
        prior = result.extra.get("class_weight", result.class_prior)
        flat = np.ascontiguousarray(np.asarray(theta).transpose(0, 2, 1))
        sharp = em_pass(Workspace.of(self.annotations), flat, np.maximum(prior, FLOOR)).posterior
        return theta, np.where(self.known[:, None], result.posterior, sharp)

    @cached_property
    def suspicion(self) -> Suspicion:
        """How probable it is that each worker is a spammer: the table of quality and the flags both ask."""
        from .spammers import suspicion

        return suspicion(self.annotations, self.others)

    @cached_property
    def right(self) -> F8:
        """right[row]: probability that the row's label is the true one."""
        return np.asarray(self.posterior[self.annotations.task, self.annotations.label])

    @cached_property
    def confirmed(self) -> F8:
        """confirmed[row]: probability of the row's label by everybody else."""
        return np.asarray(self.others[np.arange(len(self.annotations)), self.annotations.label])


def _judges_itself(method: str) -> bool:
    """Whether a method has a way of its own to judge tasks, beyond confusions."""
    from ..aggregate import registry
    from ..aggregate.base import Aggregator

    return method in registry.METHODS and registry.get(method).judge is not Aggregator.judge
