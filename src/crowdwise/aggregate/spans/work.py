"""Votes of spans made ready for a method: the text cut into units, what every row says of them, and what is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.words import USUAL_WORD, extents, word_units
from ...maths.spans.chain import ChainData
from ...maths.spans.rows import F8, I8, SpanRows, starts
from ...maths.spans.units import Cells, Units, between_ends, cells, covered, merged

# Spans of more words than this are passages; shorter ones are names and the like.
LONG = 4.0


@dataclass(frozen=True, eq=False)
class Known:
    """The true spans of some tasks: a row a task, and a mask of the tasks that they are known of."""

    rows: SpanRows
    mask: npt.NDArray[np.bool_]

    def only(self, tag: int) -> Known:
        """Those of one tag, which becomes tag 0."""
        return Known(_flat(self.rows.only(tag)), self.mask)


@dataclass(frozen=True, eq=False)
class Work:
    """One layer of spans in which no two overlap. known[unit] is -1, or 0 outside and 1 + tag inside; known_state
    is the same in the states of a chain."""

    units: Units
    cells: Cells
    row_offsets: I8
    worker: npt.NDArray[np.int32]
    weight: F8
    n_workers: int
    n_tags: int
    known: I8
    known_state: I8
    weighted: bool

    @cached_property
    def chain(self) -> ChainData:
        """The same for models of sequences."""
        return ChainData(self.units, self.cells, self.row_offsets, self.worker, self.weight, self.n_workers,
                         self.n_tags, self.known_state)  # fmt: skip


def unit_rows(votes: Votes[Spans], known: Known | None) -> tuple[SpanRows, I8]:
    """All spans whose ends cut the texts, and the task of each row."""
    rows, task = votes.answers.rows, votes.task.astype(np.int64)
    if known is None:
        return rows, task
    count = np.concatenate([np.diff(rows.offsets), np.diff(known.rows.offsets)])
    both = (np.concatenate([getattr(rows, name), getattr(known.rows, name)]) for name in ("start", "end", "tag"))
    return SpanRows(starts(count), *both), np.concatenate([task, np.arange(votes.n_tasks)])


def cut(votes: Votes[Spans], known: Known | None, words: bool) -> Units:
    """The texts cut at the ends of all spans; with `words`, at the words where the text is known."""
    ends = between_ends(*unit_rows(votes, known), votes.n_tasks, extents(votes))
    if not words:
        return ends
    units, told = word_units(votes)
    return merged(ends, units, told & (np.diff(units.offsets) > 0))


def usual_length(votes: Votes[Spans]) -> float:
    """The median length of a span in words: counted where the texts are known, guessed from characters elsewhere."""
    rows = votes.answers.rows
    if not len(rows.start):
        return 0.0
    units, told = word_units(votes)
    task = votes.task.astype(np.int64)
    some = told[task[rows.row]]
    length = (rows.end - rows.start) / USUAL_WORD
    if some.any():
        first, last = covered(rows, task, units)
        length = np.where(some, last - first, length)
    return float(np.median(length))


def has_all_texts(votes: Votes[Spans]) -> bool:
    """Whether the text of every task with an answer is known."""
    told = word_units(votes)[1]
    return bool(told[votes.labels_per_task > 0].all()) and bool(told.any())


def layer(votes: Votes[Spans], units: Units, known: Known | None, tag: int | None) -> Work:
    """All spans, or those of one tag as if there were no other."""
    rows = votes.answers.rows if tag is None else _flat(votes.answers.rows.only(tag))
    n_tags = len(votes.answers.tags) if tag is None else 1
    task = votes.task.astype(np.int64)
    told = np.full(len(units), -1, dtype=np.int64)
    state = told.copy()
    if known is not None:
        true = known if tag is None else known.only(tag)
        said = cells(true.rows, np.arange(votes.n_tasks), units)
        sure = known.mask[units.task]
        told[sure], state[sure] = said.tag[sure], said.label[sure]
    weight = np.ones(len(votes)) if votes.weight is None else np.asarray(votes.weight, dtype=np.float64)
    return Work(
        units, cells(rows, task, units), votes.task_offsets, votes.worker, weight, votes.n_workers, n_tags, told, state,
        votes.weight is not None,
    )  # fmt: skip


def _flat(rows: SpanRows) -> SpanRows:
    return replace(rows, tag=np.zeros_like(rows.tag))
