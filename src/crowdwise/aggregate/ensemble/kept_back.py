"""How well methods predict labels that were kept from them, where votes are in parts.

The folds are those of `engine/selection.py`, dealt out in each part for itself: a task's labels are all in one part, so
a fold takes as few labels as can be from any task here too. Which fold is held out follows from the parts alone, never
from who works on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import numpy.typing as npt

from ...engine.selection import shrunk, splits
from ...engine.sources import Known
from ...kinds.classes.annotations import Annotations
from ...maths.em import plus
from ...maths.kernels import Workspace, stats_of
from ..learnt import Judge, Learnt
from ..spread import Spread, with_rows

F8 = npt.NDArray[np.float64]
# A label that was thought impossible.
LEAST = 1e-12


@dataclass(frozen=True)
class Without:
    """A change of parts: without the rows of the fold that is held out."""

    seed: int

    def __call__(self, part: Annotations, known: Known | None) -> tuple[Annotations, Known | None]:
        """The rows that are kept."""
        return self.parted(part)[0], known

    def parted(self, part: Annotations) -> tuple[Annotations, Annotations]:
        """The rows that are kept, and those that are held out; every task keeps a label."""
        part = with_rows(part)
        found = splits(part, seed=self.seed, enough=1)
        nothing = np.empty(0, dtype=np.int64)
        kept, out = found[0] if found else (np.arange(len(part)), nothing)
        return part.take(kept), part.take(out)


def predicted(learn: Callable[[Spread], Learnt], data: Spread, seed: int) -> tuple[float, float]:
    """Mean log-likelihood of the held-out labels under what a method learns from the others, and their weight."""
    change = Without(seed)
    kept = data.through(change)
    judge = learn(kept).judge
    reading = shrunk(kept.sum(partial(_counts, judge), plus))
    total, weight = data.sum(partial(_scored, judge, change, reading), plus)
    return float(total / weight) if weight else 0.0, float(weight)


def _counts(judge: Judge, space: Workspace) -> F8:
    return stats_of(space, judge(space).posterior).counts


def _scored(judge: Judge, change: Without, reading: F8, space: Workspace) -> F8:
    """The summed log-likelihood of a part's held-out labels, and their weight."""
    kept, out = change.parted(cast(Annotations, space.shard))
    posterior = judge(Workspace.of(kept, space.gold, space.compiled, space.first)).posterior
    told = np.einsum("rk,rk->r", posterior[out.task], reading[out.worker, out.label])
    weight = np.ones(len(out)) if out.weight is None else out.weight
    return np.array([weight @ np.log(np.maximum(told, LEAST)), weight.sum()])
