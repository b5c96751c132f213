"""Judged: the chances that workers do not look at the tasks, or turn the answers round, and how this is said.

Any kind with a distance is judged by how far answers follow the others'; a kind that knows more (scores, clusters,
places, rates of classes) gives chances of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.votes import Votes
from ...maths.alike.abilities import by_means, held_error
from ...maths.alike.closeness import Closeness
from ...maths.alike.population import Chances, nobody
from ..flags import Flag, examples
from ..wording import number

# Answers that a worker must have to be judged.
LEAST = 8
# A crowd of rankings that goes with its own orders by less than this has nobody who stands out.
LITTLE = 0.1


@dataclass(frozen=True, eq=False)
class Judged:
    """`words(worker)` is the evidence; `reversed_as` the name of the flag of those who turn answers round ("random"
    where answers have no opposite)."""

    chances: Chances
    words: Callable[[int], str]
    reversed_as: str = "reversed"

    def flags(self, votes: Votes[Any]) -> Iterator[Flag]:
        """Those who turn round, then those who do not look, with the chance of the accusation."""
        random, turned = self.chances.sure()
        for name, who in ((self.reversed_as, turned), ("random", random)):
            for w in np.flatnonzero(who).tolist():
                own = votes.task[votes.worker == w]
                yield Flag(votes.workers[w], name, probability=float(self.chances.either[w]), evidence=self.words(w),
                           tasks=examples(votes, own), of=votes.kind.name)  # fmt: skip


def unjudged(votes: Votes[Any], _: Any) -> Judged:
    """For kinds whose own flags say all."""
    return Judged(nobody(votes.n_workers), str)


def by_distance(close: Closeness) -> Judged:
    """By how far answers follow the others' of the same tasks, beyond what they would if dealt out at random."""
    n = close.n.astype(np.float64)
    known = (close.n >= LEAST) & np.isfinite(close.follows) & np.isfinite(close.error)
    square = np.where(known, close.error**2 * n * np.maximum(n - 1, 0), 0.0)
    error, freedom = held_error(square, n, known)
    usual = float(np.median(close.follows[known])) if known.any() else 0.0

    def words(w: int) -> str:
        told = (
            f"follows the tasks by {number(close.follows[w], 2)} (0: answers dealt out at random) over "
            f"{int(close.n[w]):,} answers, where the usual worker has {number(usual, 2)}"
        )
        return told + "; do they take one answer for its opposite?" * bool(close.follows[w] < -2 * error[w])

    return Judged(by_means(close.follows, error, freedom, known), words)
