"""Who copies whom, and who has agreed on wrong answers? The same answers, beyond what independent workers would give.

1. The crowd is fitted as if everybody worked alone, with levels of difficulty and common mistakes (`alone`).
2. Groups are looked for whose common answers copying explains far better, and tested member by member (`copying`).
3. A group that is found gets one voice, and whoever passes against it then joins it.
4. Whoever is found has no say in what the others are measured by: the rest is fitted again, until nobody is found.
Members who are mostly wrong are `colluding`, the others `copying` (who copies whom, the labels alone cannot say).
Fails where the ring is larger than the honest rest of a task: then it looks like the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...kinds.classes.annotations import Annotations
from ..flags import Flag, examples
from ..judgement import Judgement
from .alone import Alone, alone
from .copying import Ring, find_ring

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# The chance that anybody at all of an independent crowd is accused, if the model is true.
LEVEL = 0.001
# Groups looked for, at most.
RINGS = 20


def collusion_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flags `colluding` and `copying` with adjusted p-values; the evidence counts the same answers.

    A gold task in the result counts as known: its posterior is certain.
    """
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """The same from a judgement."""
    votes = judgement.annotations
    if votes.n_classes < 2 or votes.n_workers < 3 or not len(votes):
        return []
    null = _null(judgement, votes)
    found: list[tuple[Alone, Ring]] = []
    while len(found) < RINGS:
        seen = find_ring(null, level, partial(_null, judgement, null.votes))
        if seen is None:
            break
        ring, fair = seen
        found.append((fair, ring))
        gone = np.isin(null.votes.worker, ring.workers)
        if gone.all():
            break
        null = _null(judgement, null.votes.take(~gone))
    belief = null.fit.posterior.sum(axis=2)
    return [flag for before, ring in found for flag in _flags(before, ring, belief)]


def _null(judgement: Judgement, votes: Annotations, together: Sequence[int] = ()) -> Alone:
    """Everybody alone; those `together` have one voice."""
    voice = np.ones(votes.n_workers)
    voice[list(together)] = 1 / max(len(together), 1)
    return alone(votes, np.where(judgement.known[:, None], judgement.posterior, 0.0), voice)


def _flags(null: Alone, ring: Ring, belief: F8) -> list[Flag]:
    """One flag a member; belief[task, class] is what those say of whom nothing is suspected."""
    votes = null.votes
    first, second = null.meetings()
    inside = np.isin(votes.worker[first], ring.workers) & np.isin(votes.worker[second], ring.workers)
    first, second = first[inside], second[inside]
    expected = null.matches(first, second)
    out = []
    for w, p in zip(ring.workers, ring.p_value, strict=True):
        mine = (votes.worker[first] == w) | (votes.worker[second] == w)
        rows = votes.worker == w
        right = float(belief[votes.task[rows], votes.label[rows]].mean())
        out.append(_flag(votes, belief, w, first[mine], second[mine], float(expected[mine].sum()), p, right))
    return out


def _flag(
    votes: Annotations, belief: F8, w: int, first: I8, second: I8, expected: float, p_value: float, right: float
) -> Flag:
    other = np.where(votes.worker[first] == w, votes.worker[second], votes.worker[first])
    same = votes.label[first] == votes.label[second]
    wrong = 1 - belief[votes.task[first], votes.label[first]]
    weight = np.bincount(other, weights=same * wrong + 1e-6 * same, minlength=votes.n_workers)
    partners = np.unique(other)
    partners = partners[np.argsort(-weight[partners], kind="stable")]
    names = tuple(votes.workers.gather(partners).to_list())
    more = f" and {len(names) - 1} more of one group" if len(names) > 1 else ""
    words = (
        f"gives the same answer as {names[0]}{more} on {same.sum()} of {len(same)} common tasks, where workers on "
        f"their own would on {expected:.0f}; of these answers {(same * wrong).sum():.0f} are wrong"
    )
    shown = np.flatnonzero(same & (wrong > 0.5))
    tasks = votes.task[first[shown[np.argsort(-wrong[shown], kind="stable")]]]
    name = "colluding" if right < 0.5 else "copying"
    return Flag(votes.workers[w], name, None, p_value, words, examples(votes, tasks), names)
