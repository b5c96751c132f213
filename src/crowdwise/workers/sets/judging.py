"""Who does not look when they name classes, by what everybody else says of each class of their tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.sets.model import SetJudge
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.sets.answers import Sets
from ...maths.alike.abilities import some_rows
from ...maths.alike.population import FEWEST, Chances
from ...maths.sets.looking import cells_of, idle_chances
from ..alike.flags import ONE_ANSWER
from ..alike.judged import LEAST, Judged
from ..alike.study import same_as
from ..wording import number

# Cells of a worker that are looked at, at most, in so many answers at least.
CELLS, FEWEST_ROWS = 3000, 30


def sets_judged(votes: Votes[Sets], result: Result) -> Judged:
    """Every class that was offered is a question. Workers name few classes or many, some too often: that is habit. What
    counts is whether they name a class where others say that it holds, beside how well the crowd does."""
    said = votes.answers
    k, m = len(said.classes), votes.n_workers
    rows = some_rows(votes.worker, m, max(FEWEST_ROWS, CELLS // max(k, 1)))
    model = result.model
    assert isinstance(model, SetJudge)
    named = np.zeros((len(votes), k), dtype=bool)
    named[said.row, said.code] = True
    named = named[rows]
    offered = np.ones(named.shape, dtype=bool)
    if said.menu is not None and said.menus is not None:
        offered = said.menus[said.menu[rows]]
    cells = cells_of(votes.worker[rows].astype(np.int64), model.without_own(votes)[rows], named, offered, m)
    # Who gives one answer always is told by that flag; beside them everybody else would look alike.
    known = (np.bincount(votes.worker, minlength=m) >= LEAST) & ~_one_answer(votes)
    idle = idle_chances(cells, known) if known.sum() >= FEWEST else np.zeros(m)
    return Judged(Chances(idle, np.zeros(m)), _words(result), "random")


def _one_answer(votes: Votes[Sets]) -> npt.NDArray[np.bool_]:
    """Workers who gave one and the same set nearly always."""
    pairs, count = np.unique(np.stack([votes.worker, same_as(votes)]), axis=1, return_counts=True)
    most = np.zeros(votes.n_workers)
    np.maximum.at(most, pairs[0], count)
    return np.asarray(most >= ONE_ANSWER * np.bincount(votes.worker, minlength=votes.n_workers))


def _words(result: Result) -> Callable[[int], str]:
    table = result.worker_table().with_columns(pl.col("recall", "false_alarms").fill_nan(None))
    recall, alarms, n = (table[name].to_list() for name in ("recall", "false_alarms", "n_labels"))
    some = [value for value in recall if value is not None]
    usual = float(np.median(some)) if some else None

    def words(w: int) -> str:
        return (
            f"names {number(recall[w], 2)} of the classes that hold and {number(alarms[w], 2)} of those that do not, "
            f"over {n[w]:,} answers; the usual worker names {number(usual, 2)} of those that hold"
        )

    return words
