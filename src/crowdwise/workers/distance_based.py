"""Worker studies for kinds of answers with a distance: random and reversed workers, flags, and tables.

Any kind with a distance is judged by how closely a worker's answers follow those of the others; a kind that knows more
(scores, clusters, positions, rates of classes) provides probabilities of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I8
from ..core.kind import KindHooks
from ..core.result import Result
from ..core.votes import Votes
from ..stats.abilities import BehaviourPosterior, posterior_from_means, shrunk_error, zero_posterior
from ..stats.distance_based import Closeness, Distance, TaskRows, closeness, copies
from ..stats.ragged import ranges
from .flags import Coefficient, Flag, examples
from .studied import RankedStudy, number
from .tables import interval_cells
from .timing import Speed, speed

# Minimum number of answers of a worker.
LEAST = 8
# In a crowd of rankings that agrees with its own orders by less than this, no worker can be singled out.
LITTLE = 0.1


@dataclass(frozen=True, eq=False)
class BehaviourFlags:
    """Posterior of random and reversed behaviour, with evidence.

    `words(worker)` returns the evidence; `reversed_as` is the flag name of workers who reverse answers ("random" if
    answers have no opposite).
    """

    chances: BehaviourPosterior
    words: Callable[[int], str]
    reversed_as: str = "reversed"

    def flags(self, votes: Votes[Any]) -> Iterator[Flag]:
        """Yield the flags of reversed workers, then of random workers, with their probability."""
        is_random, is_reversed = self.chances.sure()
        for name, is_flagged in ((self.reversed_as, is_reversed), ("random", is_random)):
            for w in np.flatnonzero(is_flagged).tolist():
                worker_tasks = votes.task[votes.worker == w]
                yield Flag(votes.workers[w], name, probability=float(self.chances.either[w]), evidence=self.words(w),
                           tasks=examples(votes, worker_tasks), of=votes.kind.name)  # fmt: skip


def no_behaviour_flags(votes: Votes[Any], _: Any) -> BehaviourFlags:
    """For kinds without flags of random or reversed workers."""
    return BehaviourFlags(zero_posterior(votes.n_workers), str)


def by_distance(close: Closeness) -> BehaviourFlags:
    """Judge workers by how closely their answers follow the others', compared with answers assigned to tasks
    at random.
    """
    n = close.n.astype(np.float64)
    judged = (close.n >= LEAST) & np.isfinite(close.follows) & np.isfinite(close.error)
    square = np.where(judged, close.error**2 * n * np.maximum(n - 1, 0), 0.0)
    error, degrees = shrunk_error(square, n, judged)
    usual = float(np.median(close.follows[judged])) if judged.any() else 0.0

    def words(w: int) -> str:
        text = (
            f"follows the tasks by {number(close.follows[w], 2)} (0: answers given at random) over "
            f"{int(close.n[w]):,} answers, where the median worker has {number(usual, 2)}"
        )
        return text + "; they may confuse an answer with its opposite" * bool(close.follows[w] < -2 * error[w])

    return BehaviourFlags(posterior_from_means(close.follows, error, degrees, judged), words)


# ----------------------------------------------------------------
# Flags from the distances between answers, with evidence.


# Meaning of the flags, most serious first.
DISTANCE_FLAGS = {
    "constant": "gives one answer whatever the task",
    "random": "the answers do not follow those of the others",
    "reversed": "the answers are opposed to those of the others",
    "copying": "shares answers with another worker that no other worker gave",
    "fast": "answers far more quickly than the rest of the crowd",
    "unknown": "too few answers to judge",
}
# Constant: minimum share of one answer, and maximum probability of it given the others' answers to the same tasks.
ONE_ANSWER, UNLIKELY = 0.9, 1e-4


@dataclass(frozen=True, eq=False)
class FlagInputs:
    """What the flags are computed from.

    `answer_codes` are equal for equal answers, `differs` marks rows that differ from the estimate, `behaviour` holds
    the posterior of random and reversed behaviour.
    """

    rows: TaskRows
    close: Closeness
    answer_codes: I8
    differs: npt.NDArray[np.bool_] | None
    behaviour: BehaviourFlags


def distance_flags(votes: Votes[Any], inputs: FlagInputs, speed: Speed) -> list[Flag]:
    """Return all flags, most serious first."""
    constant = list(_constant(votes, inputs))
    constant_workers = {flag.worker for flag in constant}
    flags = [*constant, *(flag for flag in inputs.behaviour.flags(votes) if flag.worker not in constant_workers)]
    flags += [flag for flag in _copying(votes, inputs) if flag.worker not in constant_workers]
    return [*flags, *_fast(votes, inputs, speed), *_unknown(votes, inputs)]


def _flag(votes: Votes[Any], worker: int, name: str, **more: Any) -> Flag:
    return Flag(votes.workers[worker], name, of=votes.kind.name, **more)


def _unknown(votes: Votes[Any], inputs: FlagInputs) -> Iterator[Flag]:
    for w in np.flatnonzero(inputs.close.n < LEAST).tolist():
        words = f"{inputs.close.n[w]} answers to tasks that others answered too; at least {LEAST} are needed"
        yield _flag(votes, w, "unknown", evidence=words)


def _constant(votes: Votes[Any], inputs: FlagInputs) -> Iterator[Flag]:
    """One answer nearly always, while the others' answers to the same tasks differ."""
    from scipy.stats import binom

    order, begin = inputs.rows.by_worker
    for w in np.flatnonzero(inputs.close.n >= LEAST).tolist():
        worker_rows = order[begin[w] : begin[w + 1]]
        values, count = np.unique(inputs.answer_codes[worker_rows], return_counts=True)
        most_common, n = int(count.max()), len(worker_rows)
        if most_common < ONE_ANSWER * n:
            continue
        usual = values[count.argmax()]
        other_rows = _others_at(inputs.rows, worker_rows)
        share = (float((inputs.answer_codes[other_rows] == usual).sum()) + 1) / (len(other_rows) + 2)
        p = min(float(binom.sf(most_common - 1, n, share)) * len(begin), 1.0)
        if p <= UNLIKELY:
            answer_text = _in_words(votes, int(worker_rows[inputs.answer_codes[worker_rows] == usual][0]))
            words = (
                f"gave {answer_text} in {most_common:,} of {n:,} answers; {share:.0%} of the others' answers to the "
                "same tasks agree"
            )
            tasks = examples(votes, inputs.rows.task[worker_rows])
            yield _flag(votes, w, "constant", p_value=p, evidence=words, tasks=tasks)


def _others_at(rows: TaskRows, worker_rows: I8) -> I8:
    """Return the rows of other workers on the tasks of these rows."""
    others = ranges(rows.begin[rows.task[worker_rows]], rows.size[worker_rows])
    return np.asarray(others[rows.worker[others] != rows.worker[worker_rows[0]]])


def _in_words(votes: Votes[Any], row: int) -> str:
    """Return an answer as it is in the file, shortened if it is long."""
    texts = votes.answers.words(np.array([row]))
    text = str(texts[0]) if texts else ""
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _copying(votes: Votes[Any], inputs: FlagInputs) -> Iterator[Flag]:
    """One flag per worker, from the pair with the smallest p-value."""
    if inputs.differs is None:
        return
    pairs = copies(inputs.rows, inputs.answer_codes, inputs.differs, inputs.close.pairs)
    order = np.argsort(pairs.p, kind="stable")
    order = order[pairs.first[order] != pairs.second[order]]  # a worker's own repeats are no copies
    best, partners = first_pairs(pairs.first, pairs.second, order)
    for w, k in best.items():
        other = int(pairs.second[k] if pairs.first[k] == w else pairs.first[k])
        words = (
            f"same answer as {votes.workers[other]} on {pairs.equal[k]:,} of {pairs.common[k]:,} common tasks where "
            f"both differ from the estimate and no other worker gave it; two independent workers would share about "
            f"{pairs.expected[k]:.1f}; the answers do not show which of them copied, or whether both used one source"
        )
        yield _flag(votes, w, "copying", p_value=float(pairs.p[k]), evidence=words,
                    partners=tuple(votes.workers.gather(partners[w]).to_list()),
                    tasks=examples(votes, inputs.rows.task[pairs.rows[k]]))  # fmt: skip


def first_pairs(first: I8, second: I8, order: I8) -> tuple[dict[int, int], dict[int, list[int]]]:
    """Return the first pair of each worker in this order of the pairs, and all partners of each worker."""
    best: dict[int, int] = {}
    partners: dict[int, list[int]] = {}
    for k in order.tolist():
        a, b = int(first[k]), int(second[k])
        for worker, partner in ((a, b), (b, a)):
            best.setdefault(worker, k)
            partners.setdefault(worker, []).append(partner)
    return best, partners


def _fast(votes: Votes[Any], inputs: FlagInputs, speed: Speed) -> Iterator[Flag]:
    for w in np.flatnonzero(speed.quick).tolist():
        words = (
            f"half of {int(speed.n[w]):,} answers took less than {speed.median[w]:.2g} seconds, where the usual worker "
            f"takes {speed.usual:.2g}"
        )
        if np.isfinite(inputs.close.follows[w]):
            words += f"; they follow the tasks by {number(inputs.close.follows[w], 2)}"
        yield _flag(votes, w, "fast", evidence=words)


# ----------------------------------------------------------------
# Study of workers for any kind of answers with a distance.
# The kind provides the hook `distance(answers, i, j)`; with the hooks `estimated_answers(votes, result)` and
# `gold_answers(votes, gold)` the study also reports distances from the estimate and from gold. A kind with more
# information extends `DistanceStudy`, or appends to its flags.

# Posterior of random and reversed workers from what a kind knows.
Judge = Callable[[Votes[Any], Result], BehaviourFlags]


@dataclass(frozen=True, eq=False)
class DistanceStudy(RankedStudy):
    """Study of workers by distances between answers.

    Columns of `quality`: n_labels; follows (1: always like the others, 0: like answers assigned to tasks at random)
    with _low and _high (95 %); apart (mean distance from the others' answers to the same tasks); off (mean distance
    from the estimates); n_gold, gold_off; seconds_median.
    """

    meanings: ClassVar[Mapping[str, str]] = DISTANCE_FLAGS
    RANKED_BY: ClassVar[str] = "follows"
    TITLES: ClassVar[tuple[str, str, str]] = (
        "Workers, by how far they go with the others",
        "Workers who go with the others most {ends}",
        "Workers who go with the others least {ends}",
    )
    HEADER: ClassVar[tuple[str, ...]] = ("worker", "answers", "follows", "95 % interval", "0 to 1", "apart", "off")

    speed: Speed = field(repr=False)

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            *interval_cells(row, "follows"),
            number(row["apart"], 2),
            number(row["off"], 2),
        ]


def study_by_distance(votes: Votes[Any], result: Result, *, gold: Any = None, idle: float = 600.0) -> DistanceStudy:
    """Study the workers of any kind with a distance.

    Args:
        votes: The votes.
        result: A result of these votes.
        gold: Known answers; adds distances on these tasks.
        idle: Longest pause in seconds that is counted as work.
    """
    return DistanceStudy(**study_parts(votes, result, gold=gold, idle=idle))


def flags_by_distance(votes: Votes[Any], result: Result) -> list[Any]:
    """Return all flags of a result, by distances."""
    return study_by_distance(votes, result).flags


def study_parts(
    votes: Votes[Any], result: Result, *, gold: Any = None, idle: float = 600.0, judge: Judge | None = None
) -> dict[str, Any]:
    """Return the fields of a study, for kinds that add to it: votes, result, quality, agreement, flags, speed.

    `judge` returns the posterior of random and reversed behaviour if a kind knows more than distances.
    """
    if votes.weight is not None and bool((votes.weight <= 0).any()):
        votes = votes.take(np.flatnonzero(votes.weight > 0))
    rows = TaskRows(votes.task, votes.worker, votes.n_tasks, votes.n_workers)
    distance = votes.kind.hooks.distance
    close = closeness(rows, partial(distance, votes.answers))
    distances = _off(votes, result)
    behaviour = by_distance(close) if judge is None else judge(votes, result)
    inputs = FlagInputs(rows, close, answer_codes(votes), None if distances is None else distances > 0, behaviour)
    speed_ = speed(votes, idle)
    return {
        "votes": votes,
        "result": result,
        "quality": _table(votes, close, distances, _on_gold(votes, gold), speed_),
        "agreement": [_coefficient(close)],
        "flags": distance_flags(votes, inputs, speed_),
        "speed": speed_,
    }


def alpha(votes: Votes[Any], distance: Distance | None = None) -> float | None:
    """Return Krippendorff's alpha by a distance of rows, by default that of the kind; None if it is undefined."""
    rows = TaskRows(votes.task, votes.worker, votes.n_tasks, votes.n_workers)
    close = closeness(rows, distance or partial(votes.kind.hooks.distance, votes.answers))
    return _coefficient(close).value


def judged_workers(votes: Votes[Any]) -> set[Any]:
    """Return the workers with enough answers to be judged by a model, even if no other worker answered their tasks."""
    return set(votes.workers.gather(np.flatnonzero(votes.labels_per_worker >= LEAST)).to_list())


def with_first_columns(quality: pl.DataFrame, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Insert columns after the worker and the number of answers; NaN becomes null."""
    added = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    keys = ["worker", "n_labels"]
    return pl.concat([quality.select(keys), added, quality.drop(keys)], how="horizontal")


def with_summary(quality: pl.DataFrame, summary: pl.DataFrame) -> pl.DataFrame:
    """Append the columns of a worker table."""
    summary = summary.drop("n_labels").with_columns(pl.col("worker").cast(quality["worker"].dtype))
    return quality.join(summary, on="worker", how="left", maintain_order="left")


def answer_codes(votes: Votes[Any]) -> npt.NDArray[np.int64]:
    """Return a code for every row, equal for equal answers."""
    keys = votes.answers.keys()
    if not len(votes):
        return np.empty(0, dtype=np.int64)
    code = np.zeros(len(votes), dtype=np.int64)
    for key in keys:
        _, at = np.unique(key, return_inverse=True)
        _, code = np.unique(code * (int(at.max()) + 1) + at.ravel(), return_inverse=True)
        code = code.ravel().astype(np.int64)
    return code


def _off(votes: Votes[Any], result: Result) -> F8 | None:
    """Distance of each row from the estimate of its task."""
    kind = votes.kind
    if not kind.hooks.supports(KindHooks.estimated_answers) or not len(votes):
        return None
    joined = votes.answers.join(kind.hooks.estimated_answers(votes, result))
    distances: F8 = kind.hooks.distance(joined, np.arange(len(votes)), len(votes) + votes.task.astype(np.int64))
    return distances


def _on_gold(votes: Votes[Any], gold: Any) -> dict[str, Any]:
    """Distance of each worker from the truth of known tasks."""
    m, kind = votes.n_workers, votes.kind
    if gold is None or not kind.hooks.supports(KindHooks.gold_answers):
        return {"n_gold": np.zeros(m, dtype=np.int64), "gold_off": np.full(m, np.nan)}
    tasks, answers = kind.hooks.gold_answers(votes, gold)
    gold_row = np.full(votes.n_tasks, -1, dtype=np.int64)
    gold_row[tasks] = np.arange(len(tasks))
    on_gold = np.flatnonzero(gold_row[votes.task] >= 0)
    joined = votes.answers.join(answers)
    off = kind.hooks.distance(joined, on_gold, len(votes) + gold_row[votes.task[on_gold]])
    n = np.bincount(votes.worker[on_gold], minlength=m)
    return {"n_gold": n, "gold_off": np.bincount(votes.worker[on_gold], off, m) / np.where(n > 0, n, np.nan)}


def _table(votes: Votes[Any], close: Closeness, off: F8 | None, on_gold: dict[str, Any], pace: Speed) -> pl.DataFrame:
    n = votes.labels_per_worker
    mean_off = np.full(votes.n_workers, np.nan)
    if off is not None:
        mean_off = np.bincount(votes.worker, off, votes.n_workers) / np.where(n > 0, n, np.nan)
    wide = 1.96 * close.error
    table = pl.DataFrame(
        {
            "worker": votes.workers,
            "n_labels": n,
            "follows": close.follows,
            "follows_low": np.maximum(close.follows - wide, -1.0),
            "follows_high": np.minimum(close.follows + wide, 1.0),
            "apart": close.apart,
            "off": mean_off,
            **on_gold,
            "seconds_median": pace.median,
        }
    )
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    return table.with_columns(pl.col(floats).fill_nan(None))


def agreement_by_distance(votes: Votes[Any]) -> list[Coefficient]:
    """Return Krippendorff's alpha from the distance of the kind."""
    if votes.weight is not None and bool((votes.weight <= 0).any()):
        votes = votes.take(np.flatnonzero(votes.weight > 0))
    rows = TaskRows(votes.task, votes.worker, votes.n_tasks, votes.n_workers)
    return [_coefficient(closeness(rows, partial(votes.kind.hooks.distance, votes.answers)))]


def _coefficient(close: Closeness) -> Coefficient:
    name = "Krippendorff's alpha"
    if not close.n_tasks:
        return Coefficient(name, None, reason="no task has two answers, so agreement is undefined")
    ends = close.alpha, close.alpha_low, close.alpha_high
    undefined = "the answers do not differ enough to measure agreement"
    return Coefficient.of_interval(name, ends, close.n_tasks, undefined)
