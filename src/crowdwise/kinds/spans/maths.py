"""Spans in flat arrays, units of texts, chain models and votes, all without loops over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8, I4, I8, Mask
from ...stats.dirichlet import divergence, log_mean
from ...stats.ragged import ranges, starts, sums
from ...stats.ties import STREAM, winners

# Upper bound of positions in a text.
FARTHEST = 2**40


@dataclass(frozen=True, eq=False)
class SpanRows:
    """Spans of rows: row r has offsets[r] .. offsets[r + 1] of start, end (exclusive) and tag, sorted by these.

    Spans of one row and tag do not overlap, but may touch. Spans of different tags may overlap.
    """

    offsets: I8
    start: I8
    end: I8
    tag: I8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def row(self) -> I8:
        """Row of each span."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, rows: I8) -> SpanRows:
        """Return the spans of these rows, in this order."""
        count = np.diff(self.offsets)[rows]
        pick = ranges(self.offsets[:-1][rows], count)
        return SpanRows(starts(count), self.start[pick], self.end[pick], self.tag[pick])

    def only(self, tag: int) -> SpanRows:
        """Return the same rows with the spans of one tag only."""
        keep = self.tag == tag
        count = np.bincount(self.row[keep], minlength=len(self))
        return SpanRows(starts(count), self.start[keep], self.end[keep], self.tag[keep])


def span_rows(row: I8, start: I8, end: I8, tag: I8, n_rows: int) -> tuple[SpanRows, int]:
    """Return spans in any order as rows with overlapping spans of one row and tag merged, and the number of merges."""
    order = np.lexsort((end, start, tag, row))
    row, start, end, tag = (np.asarray(column, dtype=np.int64)[order] for column in (row, start, end, tag))
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


def has_overlapping_tags(rows: SpanRows) -> npt.NDArray[np.bool_]:
    """Return the rows in which spans of different tags overlap."""
    row = rows.row
    out = np.zeros(len(rows), dtype=bool)
    if len(row) > 1:
        furthest = np.maximum.accumulate(row * FARTHEST + rows.end) - row * FARTHEST
        hit = (np.diff(row) == 0) & (rows.start[1:] < furthest[:-1])
        out[row[1:][hit]] = True
    return out


def marked_lengths(rows: SpanRows) -> F8:
    """Return the length of text that each row marks; positions with two tags count twice."""
    return sums((rows.end - rows.start).astype(np.float64), rows.row, len(rows))


def overlapping_pairs(a: SpanRows, b: SpanRows) -> tuple[I8, I8, I8, I8]:
    """Return (row, index in a, index in b, common length) of the spans of row r of `a` and of `b` that overlap.

    Only pairs with the same tag count.
    """
    n_a, n_b = np.diff(a.offsets), np.diff(b.offsets)
    row = np.repeat(np.arange(len(a)), n_a * n_b)
    in_a = np.repeat(np.arange(len(a.start)), np.repeat(n_b, n_a))
    in_b = ranges(np.repeat(b.offsets[:-1], n_a), np.repeat(n_b, n_a))
    length = np.minimum(a.end[in_a], b.end[in_b]) - np.maximum(a.start[in_a], b.start[in_b])
    overlaps = (length > 0) & (a.tag[in_a] == b.tag[in_b])
    return row[overlaps], in_a[overlaps], in_b[overlaps], length[overlaps]


def shared_lengths(a: SpanRows, b: SpanRows) -> F8:
    """Return the length of text that row r of both marks with the same tag."""
    row, _, _, length = overlapping_pairs(a, b)
    return sums(length.astype(np.float64), row, len(a))


def f1_distance(rows: SpanRows, i: I8, j: I8, block: int = 200_000) -> F8:
    """Return 1 - F1 of the text that rows i and j mark with the same tag; 0 if both mark nothing."""
    out = np.empty(len(i))
    size = marked_lengths(rows)
    for lo in range(0, len(i), block):
        a, b = i[lo : lo + block], j[lo : lo + block]
        total = size[a] + size[b]
        agreed = 2 * shared_lengths(rows.take(a), rows.take(b))
        out[lo : lo + block] = 1 - np.divide(agreed, total, out=np.ones(len(a)), where=total > 0)
    return out


# ----------------------------------------------------------------
# Units are the pieces into which a text is cut: words, or the pieces between the ends of all spans. A row labels every
# unit of its task: 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside a span.


@dataclass(frozen=True, eq=False)
class TextUnits:
    """Units of texts: those of task t are offsets[t] .. offsets[t + 1] of start and end (exclusive), in text order."""

    offsets: I8
    start: I8
    end: I8

    def __len__(self) -> int:
        return len(self.start)

    @property
    def task(self) -> I8:
        """Task of each unit."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def length(self) -> I8:
        """Length of each unit."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class Cells:
    """Labels that rows give to the units of their tasks: those of row r are offsets[r] .. offsets[r + 1] of label."""

    offsets: I8
    unit: I8
    row: I8
    label: I4

    @property
    def tag(self) -> I4:
        """Tag of each cell: 0 outside, 1 + tag inside."""
        return ((self.label + 1) // 2).astype(np.int32)

    @property
    def begins(self) -> npt.NDArray[np.bool_]:
        """Whether a span of the row begins in each cell."""
        return np.asarray(self.label % 2 == 1)


def units_between_ends(rows: SpanRows, task: I8, n_tasks: int, extent: I8) -> TextUnits:
    """Cut each task at all ends of its spans, from 0 to its extent, so that no span ends inside a unit."""
    span_task = task[rows.row]
    keys = np.concatenate([span_task * FARTHEST + rows.start, span_task * FARTHEST + rows.end])
    task_keys = np.arange(n_tasks) * FARTHEST
    keys = np.unique(np.concatenate([keys, task_keys, task_keys + np.maximum(extent, 0)]))
    task_of_key, place = keys // FARTHEST, keys % FARTHEST
    same = np.diff(task_of_key) == 0
    count = np.bincount(task_of_key[:-1][same], minlength=n_tasks)
    return TextUnits(starts(count), place[:-1][same], place[1:][same])


def select_units(a: TextUnits, b: TextUnits, take_b: npt.NDArray[np.bool_]) -> TextUnits:
    """Return the units of `b` for the tasks in the mask, and of `a` for the others."""
    n_a, n_b = np.diff(a.offsets), np.diff(b.offsets)
    count = np.where(take_b, n_b, n_a)
    first = np.where(take_b, len(a) + b.offsets[:-1], a.offsets[:-1])
    pick = ranges(first, count)
    ends = [np.concatenate([x, y])[pick] for x, y in ((a.start, b.start), (a.end, b.end))]
    return TextUnits(starts(count), ends[0], ends[1])


def covered_units(rows: SpanRows, task: I8, units: TextUnits) -> tuple[I8, I8]:
    """Return the first unit of each span and the one after its last.

    A span covers the units whose middle lies in it or, if there are none, the unit in which it begins.
    """
    span_task = task[rows.row]
    middle = units.task * FARTHEST + units.start + units.end - 1
    first = np.searchsorted(middle, span_task * FARTHEST + 2 * rows.start)
    last = np.searchsorted(middle, span_task * FARTHEST + 2 * rows.end - 1, side="right")
    thin = last <= first
    if thin.any():
        begin = units.task * FARTHEST + units.start
        at = np.searchsorted(begin, span_task[thin] * FARTHEST + rows.start[thin], side="right") - 1
        at = np.clip(
            at,
            units.offsets[span_task[thin]],
            np.maximum(units.offsets[span_task[thin] + 1] - 1, units.offsets[span_task[thin]]),
        )
        first[thin] = at
        last[thin] = np.minimum(at + 1, units.offsets[span_task[thin] + 1])
    return first, last


def cells(rows: SpanRows, task: I8, units: TextUnits) -> Cells:
    """Return the label that each row gives to each unit of its task; of two spans in a unit the later one counts."""
    count = np.diff(units.offsets)[task]
    offsets = starts(count)
    unit = ranges(units.offsets[:-1][task], count)
    row = np.repeat(np.arange(len(rows)), count)
    label = np.zeros(offsets[-1], dtype=np.int32)
    first, last = covered_units(rows, task, units)
    span_row = rows.row
    place = offsets[:-1][span_row] - units.offsets[:-1][task[span_row]]
    n = last - first
    label[ranges(first + place, n)] = np.repeat(2 + 2 * rows.tag, n)
    is_covered = n > 0
    label[(first + place)[is_covered]] = 1 + 2 * rows.tag[is_covered]
    return Cells(offsets, unit, row, label)


# ----------------------------------------------------------------
# Chains: a hidden label for every unit of a text, in order, and workers who report it with errors.
# States and labels are 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside a span. A span cannot continue
# without having begun: the transitions from outside to inside, and to inside of another tag, are impossible.
#
#     z_1 ~ start,  z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k ~ A[w, previous, ., k]
#
# `previous` is constant (HMM-Crowd) or the worker's own label of the previous unit (BSC-seq). Fitted by EM with
# pseudo-counts, or by variational Bayes with Dirichlet priors.


@dataclass(frozen=True, eq=False)
class ChainData:
    """Tasks as chains of units, with the labels of the rows, sorted by task. gold[unit] is a state or -1."""

    units: TextUnits
    cells: Cells
    row_offsets: I8
    worker: I4
    weight: F8
    n_workers: int
    n_tags: int
    gold: I8

    @property
    def n_states(self) -> int:
        """Number of states: outside, and begin and inside of each tag."""
        return 1 + 2 * self.n_tags


@dataclass(frozen=True, eq=False)
class ChainFit:
    """Fitted chain: probabilities a[worker, previous, label, state], start[state] and move[state, state], the posterior
    q[unit, state], and the objective of each iteration."""

    a: F8
    start: F8
    move: F8
    q: F8
    trace: F8
    converged: bool


def allowed(n_tags: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return (start[state], move[state, state]): which states may come first, and which transitions are possible."""
    k = 1 + 2 * n_tags
    state = np.arange(k)
    inside = (state > 0) & (state % 2 == 0)
    tag = (state + 1) // 2
    move = ~inside[None, :] | ((tag[:, None] == tag[None, :]) & (tag[:, None] > 0))
    return ~inside, move


def e_step(data: ChainData, log_a: F8, start: F8, move: F8, q: F8) -> tuple[float, F8, F8, F8]:
    """Return (log-likelihood, counts like log_a, first[state], steps[state, state]) and write the posterior into q."""
    from .kernels import sweep

    counts, first, steps = np.zeros_like(log_a), np.zeros_like(start), np.zeros_like(move)
    total = sweep(
        data.units.offsets, data.row_offsets, data.cells.offsets, data.worker, data.cells.label, log_a, start, move,
        data.gold, data.weight, q, counts, first, steps, 0, len(data.units.offsets) - 1,
    )  # fmt: skip
    return float(total), counts, first, steps * move


def shares_of_states(data: ChainData, pseudo: float = 0.1) -> F8:
    """Return the initial posterior: the shares of the labels of each unit, smoothed by `pseudo`."""
    k, n = data.n_states, len(data.units)
    cell = data.cells.unit * k + data.cells.label
    q = sums(data.weight[data.cells.row], cell, n * k).reshape(n, k) + pseudo / k
    q /= np.maximum(q.sum(axis=1, keepdims=True), 1e-300)
    is_gold = data.gold >= 0
    q[is_gold] = np.eye(k)[data.gold[is_gold]]
    return np.asarray(q)


def counts_of(data: ChainData, q: F8, previous: bool) -> F8:
    """Return counts[worker, previous, label, state] under a posterior."""
    from .kernels import gather

    k = data.n_states
    counts = np.zeros((data.n_workers, k if previous else 1, k, k))
    gather(data.units.offsets, data.row_offsets, data.cells.offsets, data.worker, data.cells.label, data.weight, q,
           counts)  # fmt: skip
    return counts


# (counts, first, steps) -> the tables of the E-step, and the term that the objective adds to the log-likelihood.
Step = Callable[[F8, F8, F8], tuple[F8, F8, F8, float]]


def fit(
    data: ChainData, step: Step, *, previous: bool, max_iter: int, tol: float, start: F8 | None = None
) -> tuple[F8, F8, F8, F8, F8, bool]:
    """Iterate until no posterior changes by more than tol: (posterior, counts, first, steps, trace, converged).

    `start` is the initial posterior, by default the shares of the labels.
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
    converged = False
    while len(trace) < max_iter and not converged:
        log_a, begin_with, move, extra = step(counts, first, steps)
        before = q.copy()
        loglik, counts, first, steps = e_step(data, log_a, begin_with, move, q)
        trace.append(loglik + extra)
        converged = float(np.abs(q - before).max(initial=0.0)) <= tol
    return q, counts, first, steps, np.array(trace), converged


def viterbi(units: TextUnits, score: F8, start: F8, move: F8, n_tags: int) -> I8:
    """Return the most probable path of possible transitions; start and move are logarithms."""
    from .kernels import best_path

    first, then = allowed(n_tags)
    out = np.zeros(len(units), dtype=np.int64)
    with np.errstate(divide="ignore"):
        best_path(units.offsets, np.ascontiguousarray(score), np.where(first, start, -np.inf),
                  np.where(then, move, -np.inf), out)  # fmt: skip
    return out


# ----------------------------------------------------------------
# The two chain models: HMM-Crowd by EM with pseudo-counts, BSC-seq by variational Bayes.


def hmm_crowd(
    data: ChainData, *, smoothing: float, learn_moves: bool, max_iter: int, tol: float, start: F8 | None = None
) -> ChainFit:
    """Fit a chain with a confusion matrix per worker by EM; with fixed uniform transitions it is Dawid-Skene."""
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

    fitted = fit(data, step, previous=False, max_iter=max_iter, tol=tol, start=start)
    q, counts, begins, steps, trace, converged = fitted
    log_a, begin, move, _ = step(counts, begins, steps)
    return ChainFit(np.exp(log_a), begin, move, q, trace, converged)


def bsc(data: ChainData, *, prior: float, prior_right: float, max_iter: int, tol: float) -> ChainFit:
    """Fit, by variational Bayes, workers whose label depends on the true label and on their previous label.

    `prior` is the pseudo-count of every cell; `prior_right` is added where label and truth agree. Workers may give any
    sequence of labels; only the hidden chain is restricted to possible transitions.
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

    q, counts, begins, steps, trace, converged = fit(data, step, previous=True, max_iter=max_iter, tol=tol)
    alpha = base + counts
    start, move = (_normal(np.where(ok, c + prior, 0.0)) for ok, c in ((first, begins), (then, steps)))
    return ChainFit(alpha / alpha.sum(axis=2, keepdims=True), start, move, q, trace, converged)


def _normal(table: F8) -> F8:
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _moves(counts: F8, ok: Mask, prior: float) -> tuple[F8, float]:
    """Return exp E log of the transitions under their Dirichlet posterior, and its divergence from the prior."""
    out, kl = np.zeros(ok.shape), 0.0
    for row in np.ndindex(ok.shape[:-1]):
        may = ok[row]
        belief = counts[row][may] + prior
        out[row][may] = np.exp(log_mean(belief, 0))
        kl += divergence(belief, np.full(len(belief), prior), 0)
    return out, kl


# ----------------------------------------------------------------
# Votes on units, and the F1 of each worker against the others.

# Weight of the crowd's mean in the F1 of each worker, in rows.
PSEUDO_ROWS = 1.0
_BLOCK = 1_000_000


def shares(cells: Cells, weight: F8, n_units: int, n_tags: int) -> F8:
    """Return share[unit, 0 outside / 1 + tag] of the weight of all answers; units without answers are outside."""
    k = n_tags + 1
    cell = cells.unit * k + cells.tag
    total = sums(weight[cells.row], cell, n_units * k).reshape(n_units, k)
    size = total.sum(axis=1, keepdims=True)
    out = np.divide(total, size, out=np.zeros_like(total), where=size > 0)
    out[size[:, 0] <= 0, 0] = 1.0
    return np.asarray(out)


def splits(cells: Cells, weight: F8, n_units: int) -> F8:
    """Return, for each unit, the share of the workers marking it who begin a span there."""
    inside = cells.label > 0
    w = weight[cells.row[inside]]
    marked = sums(w, cells.unit[inside], n_units)
    begun = sums(w * cells.begins[inside], cells.unit[inside], n_units)
    return np.asarray(np.divide(begun, marked, out=np.zeros(n_units), where=marked > 0))


def f1_terms(cells: Cells, weight: F8, units: TextUnits, n_tags: int, gold: I8 | None = None) -> tuple[F8, F8, F8]:
    """Return (agreed, marked, marked by others)[row]: lengths of text marked by both, by the row, and by the others.

    The others mark the units that more than half of their weight marks, with its most frequent tag. Where gold[unit] is
    not -1, gold is used instead of their vote.
    """
    k, n = n_tags + 1, len(cells.offsets) - 1
    tag = cells.tag
    total = sums(weight[cells.row], cells.unit * k + tag, len(units) * k).reshape(len(units), k)
    parts = np.empty((3, len(tag)))
    for lo in range(0, len(tag), _BLOCK):  # in blocks, as a table of all cells and tags may not fit into memory
        block = slice(lo, lo + _BLOCK)
        parts[:, block] = _cell_parts(total, cells.unit[block], tag[block], weight[cells.row[block]], units, gold)
    agreed, marked, marked_by_others = (sums(part, cells.row, n) for part in parts)
    return agreed, marked, marked_by_others


def voted_credit(total: F8) -> F8:
    """Return credit[unit, tag] of a vote on total[unit, 0 outside / 1 + tag].

    It is 1 if more than half of the weight is inside and this tag has most of it. Tied tags share the credit, so that
    the order of their names does not matter.
    """
    n_votes = total.sum(axis=1)
    inside = (total[:, 1:].sum(axis=1) > 0.5 * n_votes + 1e-12) & (n_votes > 1e-12)
    tied = total[:, 1:] >= total[:, 1:].max(axis=1, keepdims=True, initial=0.0) - 1e-12
    return np.asarray(inside[:, None] * tied / np.maximum(tied.sum(axis=1, keepdims=True), 1))


def _cell_parts(
    total: F8, unit: I8, tag: npt.NDArray[np.int32], weight: F8, units: TextUnits, gold: I8 | None
) -> tuple[F8, F8, F8]:
    """Return the length of each cell that is marked by both, by its row, and by the others."""
    others = total[unit]  # cell, tag
    place = np.arange(len(tag))
    others[place, tag] -= weight
    n_others = others.sum(axis=1)
    credit = voted_credit(others)
    inside = credit.any(axis=1)
    agree = np.where(tag > 0, credit[place, np.maximum(tag - 1, 0)], 0.0)
    unscored = n_others <= 1e-12  # no other answers
    if gold is not None:
        gold_tag = gold[unit]
        agree = np.where(gold_tag >= 0, (tag > 0) & (gold_tag == tag), agree)
        inside = np.where(gold_tag >= 0, gold_tag > 0, inside)
        unscored &= gold_tag < 0
    size = np.where(unscored, 0.0, units.length[unit].astype(np.float64))
    return size * agree, size * (tag > 0), size * inside


def worker_f1(
    agreed: F8,
    marked: F8,
    marked_by_others: F8,
    worker: npt.NDArray[np.int32],
    n_workers: int,
    chance: F8 | None = None,
) -> F8:
    """Return the F1 of each worker against the others, pooled over the worker's rows and shrunk to the crowd's F1.

    chance[worker] is the agreement to subtract from both numerator and denominator.
    """
    hit, size = (sums(lengths, worker, n_workers) for lengths in (2 * agreed, marked + marked_by_others))
    if chance is not None:
        hit, size = hit - 2 * chance, size - 2 * chance
    total = float(size.sum())
    if total <= 0:
        return np.ones(n_workers)
    crowd = max(float(hit.sum()), 0.0) / total
    pseudo = PSEUDO_ROWS * total / max(int((marked + marked_by_others > 0).sum()), 1)
    return np.asarray(np.clip((hit + pseudo * crowd) / np.maximum(size + pseudo, pseudo), 0.0, 1.0))


def runs(tag: I8, breaks: npt.NDArray[np.bool_], units: TextUnits) -> tuple[I8, I8, I8]:
    """Return (first unit, unit after the last, tag) of the runs of one tag within a task, also cut at `breaks`."""
    if not len(tag):
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    task = units.task
    fresh = np.concatenate([[True], (np.diff(tag) != 0) | (np.diff(task) != 0)]) | breaks
    begin = np.flatnonzero(fresh)
    after = np.concatenate([begin[1:], [len(tag)]])
    keep = tag[begin] > 0
    return begin[keep], after[keep], tag[begin][keep]


def leading_tag(share: F8, task: I8, seed: int) -> I8:
    """Return the tag of each unit with the largest share.

    Ties are broken at random by `seed`, in the same way within a task, so that a span with two tied tags stays whole.
    """
    is_leading = winners(share)
    tied = np.flatnonzero(is_leading.sum(axis=1) > 1)
    tag: I8 = is_leading.argmax(axis=1).astype(np.int64)
    if len(tied):
        random_order = np.random.default_rng([seed, STREAM]).random((int(task.max()) + 1, share.shape[1]))
        tag[tied] = np.where(is_leading[tied], random_order[task[tied]], -1.0).argmax(axis=1)
    return tag


# ----------------------------------------------------------------
# Agreement explained by position in the text.
# Workers who mark the beginning of every text agree with each other without reading. Their marks agree equally well
# with the vote on any other text at the same position; marks that follow the text do not.

# Agreement by position counts from this multiple of the agreement that is expected for marks at random positions, as
# that much occurs by chance in a few texts. Chosen on planted crowds.
CHANCE_FACTOR = 1.5


@dataclass(frozen=True, eq=False)
class UnitPositions:
    """Positions of units: unit u reaches from points[first[u]] to points[last[u]].

    rarity[i] is 1 / (number of other texts that contain the piece after point i), 0 if there are none.
    """

    size: F8
    first: I8
    last: I8
    rarity: F8

    def marked_elsewhere(self, mark: F8) -> F8:
        """Return the mean length of each unit that is marked at the same position in other texts, given mark[unit]."""
        n = len(self.size)
        piece = np.cumsum(sums(mark, self.first, n + 1) - sums(mark, self.last, n + 1))[:-1]
        marked, reached = self._between(piece * self.rarity), self._between(self.rarity)
        return np.asarray(np.maximum(marked - mark * reached, 0.0))  # without the text itself

    def _between(self, value: F8) -> F8:
        total = np.concatenate([[0.0], np.cumsum(value * self.size)])
        return np.asarray(total[self.last] - total[self.first])


def unit_positions(units: TextUnits) -> tuple[UnitPositions, UnitPositions]:
    """Return the positions counted from the beginnings of the texts, and from their ends."""
    has_units = np.diff(units.offsets) > 0
    extent = np.zeros(len(has_units), dtype=np.int64)
    extent[has_units] = units.end[units.offsets[1:][has_units] - 1]
    end = extent[units.task]
    return _positions_from(units.start, units.end), _positions_from(end - units.end, end - units.start)


def _positions_from(start: I8, end: I8) -> UnitPositions:
    points = np.unique(np.concatenate([start, end]))
    first, last = np.searchsorted(points, start), np.searchsorted(points, end)
    n = max(len(points) - 1, 0)
    texts = np.cumsum(np.bincount(first, minlength=n + 1) - np.bincount(last, minlength=n + 1))[:-1]
    rarity = np.divide(1.0, texts - 1, out=np.zeros(n), where=texts > 1)
    return UnitPositions(np.diff(points).astype(np.float64), first, last, rarity)


def agreement_by_place(
    cells: Cells, weight: F8, units: TextUnits, n_tags: int, worker: npt.NDArray[np.int32], n_workers: int,
    scored_rows: npt.NDArray[np.bool_], gold: I8, positions: tuple[UnitPositions, UnitPositions],
) -> F8:  # fmt: skip
    """Return the agreement of each worker that is explained by position.

    It is the length of text for which the vote marks the same position of other texts with the same tag, beyond what is
    expected for the same amount of text at random positions, over `scored_rows`.
    """
    k = n_tags + 1
    total = sums(weight[cells.row], cells.unit * k + cells.tag, len(units) * k).reshape(-1, k)
    mark = voted_credit(total)
    is_gold = gold >= 0
    mark[is_gold] = np.eye(k)[gold[is_gold], 1:]
    use = (cells.tag > 0) & scored_rows[cells.row]
    unit, tag, cell_worker = cells.unit[use], cells.tag[use] - 1, worker[cells.row[use]]
    length = units.length.astype(np.float64)
    marked_share = length @ mark / max(float(length.sum()), 1.0)
    by_chance = sums(length[unit] * marked_share[tag], cell_worker, n_workers)
    best = np.zeros(n_workers)
    for position in positions:
        elsewhere = np.stack([position.marked_elsewhere(mark[:, g]) for g in range(n_tags)], axis=1)
        best = np.maximum(best, sums(elsewhere[unit, tag], cell_worker, n_workers))
    return np.asarray(np.maximum(best - CHANCE_FACTOR * by_chance, 0.0))


# ----------------------------------------------------------------
# Scores of estimated spans against true ones: by length of text, by whole spans, and by overlapping spans.

# Columns of `counts`.
BOTH, ESTIMATED, TRUE, EXACT, N_ESTIMATED, N_TRUE, HIT_ESTIMATED, HIT_TRUE = range(8)


def counts(estimated: SpanRows, truth: SpanRows) -> F8:
    """Return counts[row, 8]: length of text in both, estimated, true; number of equal, estimated, true spans; number of
    estimated and of true spans that overlap a span of the other side. Both must use the same tags."""
    n = len(estimated)
    row, in_estimated, in_truth, _ = overlapping_pairs(estimated, truth)
    exact = (estimated.start[in_estimated] == truth.start[in_truth]) & (
        estimated.end[in_estimated] == truth.end[in_truth]
    )
    out = np.zeros((n, 8))
    out[:, BOTH], out[:, ESTIMATED], out[:, TRUE] = (
        shared_lengths(estimated, truth),
        marked_lengths(estimated),
        marked_lengths(truth),
    )
    out[:, EXACT] = np.bincount(row[exact], minlength=n)
    out[:, N_ESTIMATED], out[:, N_TRUE] = np.diff(estimated.offsets), np.diff(truth.offsets)
    out[:, HIT_ESTIMATED] = np.bincount(estimated.row[np.unique(in_estimated)], minlength=n)
    out[:, HIT_TRUE] = np.bincount(truth.row[np.unique(in_truth)], minlength=n)
    return out


def ratios(total: F8) -> dict[str, F8]:
    """Return the scores of sums of `counts` over the last axis; F1 is 1 if there are no spans."""
    c = np.moveaxis(np.asarray(total, dtype=np.float64), -1, 0)
    touched = _over(c[HIT_ESTIMATED], c[N_ESTIMATED]), _over(c[HIT_TRUE], c[N_TRUE])
    return {
        "f1": _over(2 * c[BOTH], c[ESTIMATED] + c[TRUE]),
        "precision": _over(c[BOTH], c[ESTIMATED]),
        "recall": _over(c[BOTH], c[TRUE]),
        "exact_f1": _over(2 * c[EXACT], c[N_ESTIMATED] + c[N_TRUE]),
        "exact_precision": _over(c[EXACT], c[N_ESTIMATED]),
        "exact_recall": _over(c[EXACT], c[N_TRUE]),
        "overlap_f1": _over(2 * touched[0] * touched[1], touched[0] + touched[1], 0.0),
    }


def _over(a: F8, b: F8, empty: float = 1.0) -> F8:
    return np.asarray(np.divide(a, b, out=np.full(np.shape(a), empty), where=np.asarray(b) > 0))
