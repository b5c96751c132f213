"""Spans of rows in flat arrays, and what they have in common: all by sorting and searching, no loop over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...stats.dirichlet import divergence, log_mean
from ...stats.ties import STREAM, winners

I8 = npt.NDArray[np.int64]
F8 = npt.NDArray[np.float64]
# Positions beyond this are no positions in a text.
FARTHEST = 2**40


@dataclass(frozen=True, eq=False)
class SpanRows:
    """The spans of row r are offsets[r] .. offsets[r + 1] of start, end (exclusive) and tag, in this order sorted.

    In one row no two spans of one tag overlap; they may touch, and spans of different tags may overlap.
    """

    offsets: I8
    start: I8
    end: I8
    tag: I8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def row(self) -> I8:
        """The row of every span."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, rows: I8) -> SpanRows:
        """The spans of these rows, in this order."""
        count = np.diff(self.offsets)[rows]
        pick = ranges(self.offsets[:-1][rows], count)
        return SpanRows(starts(count), self.start[pick], self.end[pick], self.tag[pick])

    def only(self, tag: int) -> SpanRows:
        """The same rows with the spans of one tag."""
        keep = self.tag == tag
        count = np.bincount(self.row[keep], minlength=len(self))
        return SpanRows(starts(count), self.start[keep], self.end[keep], self.tag[keep])


def starts(count: I8) -> I8:
    """Offsets of runs of these lengths: 0, c0, c0 + c1, ..."""
    return np.concatenate([[0], np.cumsum(count)]).astype(np.int64)


def ranges(first: I8, count: I8) -> I8:
    """first[0], first[0] + 1, ... (count[0] of them), then those of first[1], and so on."""
    if not len(count):
        return np.empty(0, dtype=np.int64)
    begins = starts(count)
    return np.repeat(np.asarray(first, dtype=np.int64) - begins[:-1], count) + np.arange(begins[-1])


def span_rows(row: I8, start: I8, end: I8, tag: I8, n_rows: int) -> tuple[SpanRows, int]:
    """Spans in any order as rows; those of one row and tag that overlap become one. How many vanished by that?"""
    order = np.lexsort((end, start, tag, row))
    row, start, end, tag = (np.asarray(each, dtype=np.int64)[order] for each in (row, start, end, tag))
    if len(row):
        group = np.concatenate([[0], np.cumsum((np.diff(row) != 0) | (np.diff(tag) != 0))])
        furthest = np.maximum.accumulate(group * FARTHEST + end) - group * FARTHEST
        fresh = np.concatenate([[True], (np.diff(group) != 0) | (start[1:] >= furthest[:-1])])
        last = np.concatenate([fresh[1:], [True]])
        joined = int(len(row) - fresh.sum())
        row, start, end, tag = row[fresh], start[fresh], furthest[last], tag[fresh]
        order = np.lexsort((tag, end, start, row))
        row, start, end, tag = row[order], start[order], end[order], tag[order]
    else:
        joined = 0
    return SpanRows(starts(np.bincount(row, minlength=n_rows)), start, end, tag), joined


def summed(group: npt.NDArray[Any], values: F8, n: int) -> F8:
    """The sum of the values of each group."""
    return np.asarray(np.bincount(group, weights=values, minlength=n), dtype=np.float64)


def nested(rows: SpanRows) -> npt.NDArray[np.bool_]:
    """Rows in which spans of different tags overlap."""
    row = rows.row
    out = np.zeros(len(rows), dtype=bool)
    if len(row) > 1:
        furthest = np.maximum.accumulate(row * FARTHEST + rows.end) - row * FARTHEST
        hit = (np.diff(row) == 0) & (rows.start[1:] < furthest[:-1])
        out[row[1:][hit]] = True
    return out


def totals(rows: SpanRows) -> F8:
    """How much of the text each row marks, a place with two tags counted twice."""
    return summed(rows.row, (rows.end - rows.start).astype(np.float64), len(rows))


def crossed(a: SpanRows, b: SpanRows) -> tuple[I8, I8, I8, I8]:
    """Every pair of a span of row r of `a` and a span of row r of `b` that share a tag: (row, place in a, place in b,
    how much of the text is in both), only where that is more than nothing."""
    n_a, n_b = np.diff(a.offsets), np.diff(b.offsets)
    row = np.repeat(np.arange(len(a)), n_a * n_b)
    mine = np.repeat(np.arange(len(a.start)), np.repeat(n_b, n_a))
    theirs = ranges(np.repeat(b.offsets[:-1], n_a), np.repeat(n_b, n_a))
    both = np.minimum(a.end[mine], b.end[theirs]) - np.maximum(a.start[mine], b.start[theirs])
    use = (both > 0) & (a.tag[mine] == b.tag[theirs])
    return row[use], mine[use], theirs[use], both[use]


def shared(a: SpanRows, b: SpanRows) -> F8:
    """How much of the text row r of both marks with the same tag."""
    row, _, _, both = crossed(a, b)
    return summed(row, both.astype(np.float64), len(a))


def apart(rows: SpanRows, i: I8, j: I8, block: int = 200_000) -> F8:
    """1 - F1 of what rows i and j mark, tags included; 0 where both mark nothing."""
    out = np.empty(len(i))
    size = totals(rows)
    for lo in range(0, len(i), block):
        a, b = i[lo : lo + block], j[lo : lo + block]
        total = size[a] + size[b]
        both = 2 * shared(rows.take(a), rows.take(b))
        out[lo : lo + block] = 1 - np.divide(both, total, out=np.ones(len(a)), where=total > 0)
    return out


# ----------------------------------------------------------------
# Units: the pieces that a text is cut into (words, or what lies between the ends of all spans), and every row's say.
# A row says of every unit of its task: 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside one.

I4 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Units:
    """Units of task t are offsets[t] .. offsets[t + 1] of start and end (exclusive), in the order of the text."""

    offsets: I8
    start: I8
    end: I8

    def __len__(self) -> int:
        return len(self.start)

    @property
    def task(self) -> I8:
        """The task of every unit."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def length(self) -> I8:
        """How much of the text each is."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class Cells:
    """What rows say of the units of their tasks: those of row r are offsets[r] .. offsets[r + 1] of label."""

    offsets: I8
    unit: I8
    row: I8
    label: I4

    @property
    def tag(self) -> I4:
        """0 outside, 1 + tag inside."""
        return ((self.label + 1) // 2).astype(np.int32)

    @property
    def begins(self) -> npt.NDArray[np.bool_]:
        """Where a span of the row begins."""
        return np.asarray(self.label % 2 == 1)


def between_ends(rows: SpanRows, task: I8, n_tasks: int, extent: I8) -> Units:
    """Units between all ends of a task's spans, from 0 to its extent: no row ends inside one."""
    of = task[rows.row]
    keys = np.concatenate([of * FARTHEST + rows.start, of * FARTHEST + rows.end])
    every = np.arange(n_tasks) * FARTHEST
    keys = np.unique(np.concatenate([keys, every, every + np.maximum(extent, 0)]))
    where, place = keys // FARTHEST, keys % FARTHEST
    same = np.diff(where) == 0
    count = np.bincount(where[:-1][same], minlength=n_tasks)
    return Units(starts(count), place[:-1][same], place[1:][same])


def merged(a: Units, b: Units, take_b: npt.NDArray[np.bool_]) -> Units:
    """Units of `b` for the tasks in the mask, of `a` for the others."""
    n_a, n_b = np.diff(a.offsets), np.diff(b.offsets)
    count = np.where(take_b, n_b, n_a)
    first = np.where(take_b, len(a) + b.offsets[:-1], a.offsets[:-1])
    pick = ranges(first, count)
    both = [np.concatenate([x, y])[pick] for x, y in ((a.start, b.start), (a.end, b.end))]
    return Units(starts(count), both[0], both[1])


def covered(rows: SpanRows, task: I8, units: Units) -> tuple[I8, I8]:
    """First unit of every span and the one after its last: those with their middle in it, or the one it begins in."""
    of = task[rows.row]
    middle = units.task * FARTHEST + units.start + units.end - 1
    first = np.searchsorted(middle, of * FARTHEST + 2 * rows.start)
    last = np.searchsorted(middle, of * FARTHEST + 2 * rows.end - 1, side="right")
    thin = last <= first
    if thin.any():
        begin = units.task * FARTHEST + units.start
        at = np.searchsorted(begin, of[thin] * FARTHEST + rows.start[thin], side="right") - 1
        at = np.clip(at, units.offsets[of[thin]], np.maximum(units.offsets[of[thin] + 1] - 1, units.offsets[of[thin]]))
        first[thin] = at
        last[thin] = np.minimum(at + 1, units.offsets[of[thin] + 1])
    return first, last


def cells(rows: SpanRows, task: I8, units: Units) -> Cells:
    """What every row says of every unit of its task; where two spans of a row claim a unit, the later one has it."""
    count = np.diff(units.offsets)[task]
    offsets = starts(count)
    unit = ranges(units.offsets[:-1][task], count)
    row = np.repeat(np.arange(len(rows)), count)
    label = np.zeros(offsets[-1], dtype=np.int32)
    first, last = covered(rows, task, units)
    span_row = rows.row
    place = offsets[:-1][span_row] - units.offsets[:-1][task[span_row]]
    n = last - first
    label[ranges(first + place, n)] = np.repeat(2 + 2 * rows.tag, n)
    some = n > 0
    label[(first + place)[some]] = 1 + 2 * rows.tag[some]
    return Cells(offsets, unit, row, label)


# ----------------------------------------------------------------
# Chains: a hidden label for every unit of a text, in order, and workers who repeat it with errors.
# States and labels are 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside one. A span cannot go on that has
# not begun: outside → inside, and inside of another tag than before, never happen.
#
#     z_1 ~ start,  z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k ~ A[w, previous, ., k]
#
# `previous` is nothing (HMM-Crowd) or the worker's own label one unit earlier (BSC-seq). Fitted by EM with
# pseudo-counts, or by variational Bayes with Dirichlet priors on everything.


@dataclass(frozen=True, eq=False)
class ChainData:
    """Tasks as chains of units, rows sorted by task, and what the rows say; known[unit] is a state or -1."""

    units: Units
    cells: Cells
    row_offsets: I8
    worker: I4
    weight: F8
    n_workers: int
    n_tags: int
    known: I8

    @property
    def n_states(self) -> int:
        """Outside, and begin and inside of every tag."""
        return 1 + 2 * self.n_tags


@dataclass(frozen=True, eq=False)
class ChainFit:
    """What was learnt: a[worker, previous, label, state], start[state], move[state, state] as probabilities, the
    posterior q[unit, state], and the objective of each round."""

    a: F8
    start: F8
    move: F8
    q: F8
    trace: F8
    converged: bool


def allowed(n_tags: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """(start[state], move[state, state]): what may come first, and what after what."""
    k = 1 + 2 * n_tags
    state = np.arange(k)
    inside = (state > 0) & (state % 2 == 0)
    tag = (state + 1) // 2
    move = ~inside[None, :] | ((tag[:, None] == tag[None, :]) & (tag[:, None] > 0))
    return ~inside, move


def pass_(data: ChainData, log_a: F8, start: F8, move: F8, q: F8) -> tuple[float, F8, F8, F8]:
    """(log-likelihood, counts like log_a, first[state], steps[state, state]); the posterior is written into q."""
    from .kernels import sweep

    counts, first, steps = np.zeros_like(log_a), np.zeros_like(start), np.zeros_like(move)
    total = sweep(
        data.units.offsets, data.row_offsets, data.cells.offsets, data.worker, data.cells.label, log_a, start, move,
        data.known, data.weight, q, counts, first, steps, 0, len(data.units.offsets) - 1,
    )  # fmt: skip
    return float(total), counts, first, steps * move


def shares_of_states(data: ChainData, pseudo: float = 0.1) -> F8:
    """The start of every fit: how often each label was said of a unit, a little of every other mixed in."""
    k, n = data.n_states, len(data.units)
    cell = data.cells.unit * k + data.cells.label
    q = summed(cell, data.weight[data.cells.row], n * k).reshape(n, k) + pseudo / k
    q /= np.maximum(q.sum(axis=1, keepdims=True), 1e-300)
    told = data.known >= 0
    q[told] = np.eye(k)[data.known[told]]
    return np.asarray(q)


def counts_of(data: ChainData, q: F8, previous: bool) -> F8:
    """counts[worker, previous, label, state] of a posterior."""
    from .kernels import gather

    k = data.n_states
    counts = np.zeros((data.n_workers, k if previous else 1, k, k))
    gather(data.units.offsets, data.row_offsets, data.cells.offsets, data.worker, data.cells.label, data.weight, q,
           counts)  # fmt: skip
    return counts


# (counts, first, steps) -> the tables that the E-step takes, and what the objective adds to the log-likelihood.
Step = Callable[[F8, F8, F8], tuple[F8, F8, F8, float]]


def fit(
    data: ChainData, step: Step, *, previous: bool, max_iter: int, tol: float, start: F8 | None = None
) -> tuple[F8, F8, F8, F8, F8, bool]:
    """Rounds until no posterior moves by more than tol: (posterior, counts, first, steps, trace, settled).

    `start` is the posterior to begin with, shares of the labels unless given.
    """
    q = shares_of_states(data) if start is None else start.copy()
    counts = counts_of(data, q, previous)
    has = np.diff(data.units.offsets) > 0
    begin = data.units.offsets[:-1][has]
    first = q[begin].sum(axis=0)
    inner = np.ones(len(q), dtype=bool)
    inner[begin] = False
    after = np.flatnonzero(inner)
    steps = q[after - 1].T @ q[after]
    trace: list[float] = []
    settled = False
    while len(trace) < max_iter and not settled:
        log_a, begin_with, move, extra = step(counts, first, steps)
        before = q.copy()
        loglik, counts, first, steps = pass_(data, log_a, begin_with, move, q)
        trace.append(loglik + extra)
        settled = float(np.abs(q - before).max(initial=0.0)) <= tol
    return q, counts, first, steps, np.array(trace), settled


def viterbi(units: Units, score: F8, start: F8, move: F8, n_tags: int) -> I8:
    """The likeliest path that never does what is forbidden; start and move are logarithms."""
    from .kernels import best_path

    first, then = allowed(n_tags)
    out = np.zeros(len(units), dtype=np.int64)
    with np.errstate(divide="ignore"):
        best_path(units.offsets, np.ascontiguousarray(score), np.where(first, start, -np.inf),
                  np.where(then, move, -np.inf), out)  # fmt: skip
    return out


# ----------------------------------------------------------------
# The two models of a chain: HMM-Crowd by EM with pseudo-counts, BSC-seq by variational Bayes.

Mask = npt.NDArray[np.bool_]


def hmm_crowd(
    data: ChainData, *, smoothing: float, learn_moves: bool, max_iter: int, tol: float, start: F8 | None = None
) -> ChainFit:
    """EM for a confusion matrix of each worker over a chain; with fixed uniform moves it is Dawid-Skene."""
    k = data.n_states
    first, then = allowed(data.n_tags)
    if not learn_moves:
        first, then = np.ones_like(first), np.ones_like(then)

    def step(counts: F8, begins: F8, steps: F8) -> tuple[F8, F8, F8, float]:
        a = counts + smoothing
        a /= a.sum(axis=2, keepdims=True)
        begin, move = np.full(k, 1.0 / k), np.full((k, k), 1.0 / k)
        if learn_moves:
            begin, move = (_normal(np.where(ok, c + smoothing, 0.0)) for ok, c in ((first, begins), (then, steps)))
        log_a = np.log(a)
        prior = smoothing * float(log_a.sum())
        if learn_moves:
            prior += smoothing * float(np.log(begin[first]).sum() + np.log(move[then]).sum())
        return log_a, begin, move, prior

    found = fit(data, step, previous=False, max_iter=max_iter, tol=tol, start=start)
    q, counts, begins, steps, trace, settled = found
    log_a, begin, move, _ = step(counts, begins, steps)
    return ChainFit(np.exp(log_a), begin, move, q, trace, settled)


def bsc(data: ChainData, *, prior: float, prior_right: float, max_iter: int, tol: float) -> ChainFit:
    """Variational Bayes for workers whose label depends on the true one and on their own label before it.

    `prior` pseudo-counts stand in every allowed cell, `prior_right` more where label and truth agree. A worker's own
    label cannot be forbidden, as people do what they do; what the hidden chain may not do has no mass.
    """
    k = data.n_states
    first, then = allowed(data.n_tags)
    base = np.full((1, k, k, k), prior) + prior_right * np.eye(k)[None, None]  # worker, previous, label, state

    def step(counts: F8, begins: F8, steps: F8) -> tuple[F8, F8, F8, float]:
        alpha = base + counts
        log_a = log_mean(alpha, 2)
        kl = divergence(alpha, np.broadcast_to(base, alpha.shape), 2)
        start, kl_start = _moves(begins, first, prior)
        move, kl_move = _moves(steps, then, prior)
        return log_a, start, move, -(kl + kl_start + kl_move)

    q, counts, begins, steps, trace, settled = fit(data, step, previous=True, max_iter=max_iter, tol=tol)
    alpha = base + counts
    start, move = (_normal(np.where(ok, c + prior, 0.0)) for ok, c in ((first, begins), (then, steps)))
    return ChainFit(alpha / alpha.sum(axis=2, keepdims=True), start, move, q, trace, settled)


def _normal(table: F8) -> F8:
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _moves(counts: F8, ok: Mask, prior: float) -> tuple[F8, float]:
    """exp E log of moves under their Dirichlet over what is allowed, and its divergence from the prior."""
    out, kl = np.zeros(ok.shape), 0.0
    for row in np.ndindex(ok.shape[:-1]):
        may = ok[row]
        belief = counts[row][may] + prior
        out[row][may] = np.exp(log_mean(belief, 0))
        kl += divergence(belief, np.full(len(belief), prior), 0)
    return out, kl


# ----------------------------------------------------------------
# Votes on every unit, and how far each worker goes with the others.

# Rows' worth of the crowd's own figures that stand beside each worker's in their F1.
PSEUDO = 1.0
_BLOCK = 1_000_000


def shares(cells: Cells, weight: F8, n_units: int, n_tags: int) -> F8:
    """share[unit, 0 outside / 1 + tag]: of the weight of all who answered its task; nobody's weight is outside."""
    k = n_tags + 1
    cell = cells.unit * k + cells.tag
    total = summed(cell, weight[cells.row], n_units * k).reshape(n_units, k)
    size = total.sum(axis=1, keepdims=True)
    out = np.divide(total, size, out=np.zeros_like(total), where=size > 0)
    out[size[:, 0] <= 0, 0] = 1.0
    return np.asarray(out)


def splits(cells: Cells, weight: F8, n_units: int) -> F8:
    """Of those who mark a unit, the share for whom a span begins there."""
    inside = cells.label > 0
    w = weight[cells.row[inside]]
    marked = summed(cells.unit[inside], w, n_units)
    begun = summed(cells.unit[inside], w * cells.begins[inside], n_units)
    return np.asarray(np.divide(begun, marked, out=np.zeros(n_units), where=marked > 0))


def own_and_others(cells: Cells, weight: F8, units: Units, n_tags: int, known: I8 | None = None) -> tuple[F8, F8, F8]:
    """(both, own, others)[row]: what a row marks that the others mark too, what it marks, what the others mark.

    The others' mark is their vote: the units that more than half of their weight marks, and its most frequent tag.
    Where known[unit] is not -1, the truth stands in their place.
    """
    k, n = n_tags + 1, len(cells.offsets) - 1
    tag = cells.tag
    total = summed(cells.unit * k + tag, weight[cells.row], len(units) * k).reshape(len(units), k)
    parts = np.empty((3, len(tag)))
    for lo in range(0, len(tag), _BLOCK):  # a table of all cells and tags may not fit into memory
        some = slice(lo, lo + _BLOCK)
        parts[:, some] = _cell_parts(total, cells.unit[some], tag[some], weight[cells.row[some]], units, known)
    both, own, others = (summed(cells.row, part, n) for part in parts)
    return both, own, others


def voted_credit(total: F8) -> F8:
    """credit[unit, tag] of a vote on total[unit, 0 outside / 1 + tag]: 1 where more than half of the weight is inside
    and this tag has most of it. Tags that are tied share the credit, so that their names do not matter."""
    heard = total.sum(axis=1)
    inside = (total[:, 1:].sum(axis=1) > 0.5 * heard + 1e-12) & (heard > 1e-12)
    tied = total[:, 1:] >= total[:, 1:].max(axis=1, keepdims=True, initial=0.0) - 1e-12
    return np.asarray(inside[:, None] * tied / np.maximum(tied.sum(axis=1, keepdims=True), 1))


def _cell_parts(
    total: F8, unit: I8, tag: npt.NDArray[np.int32], weight: F8, units: Units, known: I8 | None
) -> tuple[F8, F8, F8]:
    """How much of the text of each cell is marked by both, by its row, by the others."""
    rest = total[unit]  # cell, tag
    place = np.arange(len(tag))
    rest[place, tag] -= weight
    heard = rest.sum(axis=1)
    credit = voted_credit(rest)
    inside = credit.any(axis=1)
    agree = np.where(tag > 0, credit[place, np.maximum(tag - 1, 0)], 0.0)
    alone = heard <= 1e-12  # nobody else answered
    if known is not None:
        told = known[unit]
        agree = np.where(told >= 0, (tag > 0) & (told == tag), agree)
        inside = np.where(told >= 0, told > 0, inside)
        alone &= told < 0
    size = np.where(alone, 0.0, units.length[unit].astype(np.float64))
    return size * agree, size * (tag > 0), size * inside


def worker_f1(
    both: F8, own: F8, others: F8, worker: npt.NDArray[np.int32], n_workers: int, chance: F8 | None = None
) -> F8:
    """F1 of each worker against the others, pooled over their rows, with one row of the crowd's own beside them.

    chance[worker], where given, is how much of `both` is no merit: it is taken off what was found and what could be.
    """
    hit, size = (summed(worker, w, n_workers) for w in (2 * both, own + others))
    if chance is not None:
        hit, size = hit - 2 * chance, size - 2 * chance
    total = float(size.sum())
    if total <= 0:
        return np.ones(n_workers)
    crowd = max(float(hit.sum()), 0.0) / total
    some = PSEUDO * total / max(int((own + others > 0).sum()), 1)
    return np.asarray(np.clip((hit + some * crowd) / np.maximum(size + some, some), 0.0, 1.0))


def runs(tag: I8, breaks: npt.NDArray[np.bool_], units: Units) -> tuple[I8, I8, I8]:
    """(first unit, unit after the last, tag) of runs of one tag (0: outside) within a task, cut also at `breaks`."""
    if not len(tag):
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    task = units.task
    fresh = np.concatenate([[True], (np.diff(tag) != 0) | (np.diff(task) != 0)]) | breaks
    begin = np.flatnonzero(fresh)
    after = np.concatenate([begin[1:], [len(tag)]])
    keep = tag[begin] > 0
    return begin[keep], after[keep], tag[begin][keep]


def leading(share: F8, task: I8, seed: int) -> I8:
    """The tag of each unit with the largest share; of several one is drawn by `seed`, one in all of a task, so that a
    span on which two tags are level stays whole."""
    level = winners(share)
    several = np.flatnonzero(level.sum(axis=1) > 1)
    tag: I8 = level.argmax(axis=1).astype(np.int64)
    if len(several):
        luck = np.random.default_rng([seed, STREAM]).random((int(task.max()) + 1, share.shape[1]))
        tag[several] = np.where(level[several], luck[task[several]], -1.0).argmax(axis=1)
    return tag


# ----------------------------------------------------------------
# What the place in a text alone explains of what workers mark alike.
# Who marks the beginning of every text agrees with others who do, and has seen nothing. Their marks agree as well
# with the vote on any other text, read at the same place; marks that follow the text do not.

# Agreement by place counts from here on, in multiples of what marks of that size anywhere would have: so much comes
# about by luck in a few texts. Settled on planted crowds.
MORE_THAN_ANYWHERE = 1.5


@dataclass(frozen=True, eq=False)
class Places:
    """Units by where they lie: unit u reaches from points[first[u]] to points[last[u]]; rarity[i] is 1 / (the other
    texts that reach over the piece behind point i), 0 where there is none."""

    size: F8
    first: I8
    last: I8
    rarity: F8

    def elsewhere(self, mark: F8) -> F8:
        """How much of every unit is marked at the same place of another text, on average, if mark[unit] is."""
        n = len(self.size)
        piece = np.cumsum(summed(self.first, mark, n + 1) - summed(self.last, mark, n + 1))[:-1]
        marked, reached = self._between(piece * self.rarity), self._between(self.rarity)
        return np.asarray(np.maximum(marked - mark * reached, 0.0))  # less what the own text adds

    def _between(self, value: F8) -> F8:
        total = np.concatenate([[0.0], np.cumsum(value * self.size)])
        return np.asarray(total[self.last] - total[self.first])


def places(units: Units) -> tuple[Places, Places]:
    """Counted from the beginnings of the texts, and from their ends."""
    some = np.diff(units.offsets) > 0
    extent = np.zeros(len(some), dtype=np.int64)
    extent[some] = units.end[units.offsets[1:][some] - 1]
    end = extent[units.task]
    return _places(units.start, units.end), _places(end - units.end, end - units.start)


def _places(start: I8, end: I8) -> Places:
    points = np.unique(np.concatenate([start, end]))
    first, last = np.searchsorted(points, start), np.searchsorted(points, end)
    n = max(len(points) - 1, 0)
    texts = np.cumsum(np.bincount(first, minlength=n + 1) - np.bincount(last, minlength=n + 1))[:-1]
    rarity = np.divide(1.0, texts - 1, out=np.zeros(n), where=texts > 1)
    return Places(np.diff(points).astype(np.float64), first, last, rarity)


def by_place(
    cells: Cells, weight: F8, units: Units, n_tags: int, worker: npt.NDArray[np.int32], n_workers: int,
    heard: npt.NDArray[np.bool_], known: I8, where: tuple[Places, Places],
) -> F8:  # fmt: skip
    """[worker]: how much of what they mark the vote marks with the same tag at the same place of another text, beyond
    what it would of as much text anywhere; over the rows that are `heard`."""
    k = n_tags + 1
    total = summed(cells.unit * k + cells.tag, weight[cells.row], len(units) * k).reshape(-1, k)
    mark = voted_credit(total)
    told = known >= 0
    mark[told] = np.eye(k)[known[told], 1:]
    use = (cells.tag > 0) & heard[cells.row]
    unit, tag, who = cells.unit[use], cells.tag[use] - 1, worker[cells.row[use]]
    length = units.length.astype(np.float64)
    usual = length @ mark / max(float(length.sum()), 1.0)
    anywhere = summed(who, length[unit] * usual[tag], n_workers)
    best = np.zeros(n_workers)
    for side in where:
        found = np.stack([side.elsewhere(mark[:, g]) for g in range(n_tags)], axis=1)
        best = np.maximum(best, summed(who, found[unit, tag], n_workers))
    return np.asarray(np.maximum(best - MORE_THAN_ANYWHERE * anywhere, 0.0))


# ----------------------------------------------------------------
# How far found spans go with true ones: by how much of the text, by whole spans, and by spans that touch.

# Columns of `counts`.
BOTH, SAID, TRUE, EXACT, N_SAID, N_TRUE, HIT_SAID, HIT_TRUE = range(8)


def counts(found: SpanRows, true: SpanRows) -> F8:
    """counts[row, 8]: text in both, found, true; whole spans in both, found, true; found and true spans that overlap
    one of the other side. Tags must be the same everywhere."""
    n = len(found)
    row, mine, theirs, _ = crossed(found, true)
    exact = (found.start[mine] == true.start[theirs]) & (found.end[mine] == true.end[theirs])
    out = np.zeros((n, 8))
    out[:, BOTH], out[:, SAID], out[:, TRUE] = shared(found, true), totals(found), totals(true)
    out[:, EXACT] = np.bincount(row[exact], minlength=n)
    out[:, N_SAID], out[:, N_TRUE] = np.diff(found.offsets), np.diff(true.offsets)
    out[:, HIT_SAID] = np.bincount(found.row[np.unique(mine)], minlength=n)
    out[:, HIT_TRUE] = np.bincount(true.row[np.unique(theirs)], minlength=n)
    return out


def ratios(total: F8) -> dict[str, F8]:
    """Scores of sums of `counts`, over the last axis; where nothing was found and nothing was there, F1 is 1."""
    c = np.moveaxis(np.asarray(total, dtype=np.float64), -1, 0)
    touched = _over(c[HIT_SAID], c[N_SAID]), _over(c[HIT_TRUE], c[N_TRUE])
    return {
        "f1": _over(2 * c[BOTH], c[SAID] + c[TRUE]),
        "precision": _over(c[BOTH], c[SAID]),
        "recall": _over(c[BOTH], c[TRUE]),
        "exact_f1": _over(2 * c[EXACT], c[N_SAID] + c[N_TRUE]),
        "exact_precision": _over(c[EXACT], c[N_SAID]),
        "exact_recall": _over(c[EXACT], c[N_TRUE]),
        "overlap_f1": _over(2 * touched[0] * touched[1], touched[0] + touched[1], 0.0),
    }


def _over(a: F8, b: F8, empty: float = 1.0) -> F8:
    return np.asarray(np.divide(a, b, out=np.full(np.shape(a), empty), where=np.asarray(b) > 0))
