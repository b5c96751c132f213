"""Known winners of some pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.comparisons.answers import WORDS, Comparisons
from ...kinds.comparisons.rows import sides_of_tasks

F8 = npt.NDArray[np.float64]
# Answers that a known winner weighs as much as, in the scores of its two items.
GOLD_WEIGHT = 5.0


@dataclass(frozen=True, eq=False)
class PairGold:
    """outcome[task] on the task's own sides: 0 left, 1 right, 2 tie, -1 not known."""

    outcome: npt.NDArray[np.int8]

    def clamped(self, chance: F8, left: npt.NDArray[np.int64]) -> F8:
        """The known tasks are certain."""
        at = np.flatnonzero((self.outcome >= 0) & (left >= 0))
        out = chance.copy()
        out[at] = np.eye(3)[self.outcome[at]]
        return out


def outcomes(labels: pl.Series, left: pl.Series, right: pl.Series) -> npt.NDArray[np.int8]:
    """0, 1, 2 of labels that are a side, a tie, or the name of one of the two items; -1 of anything else."""
    words = {word: code for code, some in WORDS.items() for word in some}
    text = labels.cast(pl.String).str.strip_chars()
    by_word = text.str.to_lowercase().replace_strict(words, default=-1, return_dtype=pl.Int8).fill_null(-1).to_numpy()
    is_left = (text == left.cast(pl.String)).fill_null(False).to_numpy()
    is_right = (text == right.cast(pl.String)).fill_null(False).to_numpy()
    return np.where(is_left, 0, np.where(is_right, 1, by_word)).astype(np.int8)


def refuse_items(table: pl.DataFrame, tasks: pl.Series, items: pl.Series, wanted: str) -> None:
    """One line where gold speaks of items, of which nothing can be held to."""
    names = table["task"].cast(pl.String)
    of_items = names.is_in(items.cast(pl.String).implode()) & ~names.is_in(tasks.cast(pl.String).implode())
    if len(names) and bool(of_items.all()):
        raise DataError(f"gold names items ({quote(table['task'])}); here gold is {wanted}. evaluate takes items")


def pair_gold(gold: Any, votes: Votes[Comparisons]) -> PairGold | None:
    """The known outcomes; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return None
    table = truth_table(gold, like=("winner",))
    refuse_items(table, votes.tasks, votes.answers.items, "known pairs: left, right, winner")
    task, known = place_gold(table, votes.tasks)
    left, right = sides_of_tasks(votes)
    rows = np.flatnonzero(known)
    rows = rows[left[task[rows]] >= 0]
    at = task[rows]
    items = votes.answers.items
    found = outcomes(table["label"].gather(rows), items.gather(left[at]), items.gather(right[at]))
    if (found < 0).any():
        row = int(np.flatnonzero(found < 0)[0])
        raise DataError(
            f"the truth of task {quote([votes.tasks[int(at[row])]])} is {quote([table['label'][int(rows[row])]])}, "
            "neither left, right or tie nor one of its items"
        )
    out = np.full(votes.n_tasks, -1, dtype=np.int8)
    out[at] = found
    return PairGold(out)


def known(votes: Votes[Comparisons], gold: Any) -> tuple[npt.NDArray[np.int64], Comparisons]:
    """Codes of the known tasks and their answers."""
    found = pair_gold(gold, votes)
    assert found is not None
    left, right = sides_of_tasks(votes)
    at = np.flatnonzero(found.outcome >= 0)
    sides = (left[at].astype(np.int32), right[at].astype(np.int32))
    return at, Comparisons(*sides, found.outcome[at], votes.answers.items)


def said(votes: Votes[Comparisons], result: Any) -> Comparisons:
    """The estimates as one answer a task, over the items of the votes."""
    answers: Comparisons = result.estimate.answers()
    if answers.items.equals(votes.answers.items):
        return answers
    table, _ = lookup(votes.answers.items, answers.items)
    return Comparisons(table[answers.left], table[answers.right], answers.outcome, votes.answers.items)
