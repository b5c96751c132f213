"""Who does not look when they name classes, by what everybody else says of each class of their tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from ...aggregate.sets.model import SetJudge
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.sets.answers import Sets
from ...maths.alike.abilities import by_choices, some_rows
from ...maths.alike.population import chances
from ..alike.judged import LEAST, Judged
from ..wording import number

# Cells of a worker that are looked at, at most, in so many answers at least.
CELLS, FEWEST_ROWS = 3000, 30
# Chances are kept off 0 and 1 by this much: most classes are rare.
EDGE = 0.002
# The crowd's rates are kept off 0 and 1 by so many cells.
HELD = 2.0


def sets_judged(votes: Votes[Sets], result: Result) -> Judged:
    """Every class that was offered is a question; the usual worker has the crowd's hits and false alarms. Workers name
    few classes or many, some too often: that is habit, under which honest ones differ as much as others. What counts
    is whether they name a class where others say that it holds."""
    said = votes.answers
    k, m = len(said.classes), votes.n_workers
    rows = some_rows(votes.worker, m, max(FEWEST_ROWS, CELLS // max(k, 1)))
    model = result.model
    assert isinstance(model, SetJudge)
    chance = np.clip(model.without_own(votes)[rows], 0.0, 1.0)
    named = np.zeros((len(votes), k))
    named[said.row, said.code] = 1.0
    named = named[rows]
    offered = np.ones(named.shape, dtype=bool)
    if said.menu is not None and said.menus is not None:
        offered = said.menus[said.menu[rows]]
    hit, alarm = (
        ((weight * named).sum(axis=0) + HELD * start) / (weight.sum(axis=0) + HELD)
        for weight, start in ((offered * chance, 0.5), (offered * (1 - chance), 0.05))
    )
    usual = np.clip(chance * hit + (1 - chance) * alarm, EDGE, 1 - EDGE)
    at, of = np.nonzero(offered)
    odds = (np.log(usual) - np.log1p(-usual))[at, of]
    loglik = by_choices(votes.worker[rows][at].astype(np.int64), named[at, of], of, odds, m)
    known = np.bincount(votes.worker, minlength=m) >= LEAST
    found = chances(loglik, loglik[:, loglik.shape[1] // 2], known)
    return Judged(found, _words(result), "random")


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
