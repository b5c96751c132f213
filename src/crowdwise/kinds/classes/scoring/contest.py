"""Running many methods on the same annotations, one after the other or in several processes."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core import method_registry as registry
from ....core.errors import CrowdwiseError, CrowdwiseWarning, DataError
from ....core.result import Result
from ....core.vocabulary import as_series, lookup, quote
from ....em.kernels import Workspace, accumulate
from ....evaluation.evaluate import evaluate
from ....evaluation.scores import Table
from ..annotations import Annotations
from ..methods.base import Aggregator, Run
from ..methods.gold import Gold, as_gold
from ..methods.held_out import held_out
from ..methods.needs import too_dear
from ..methods.spread import Solution
from .evaluate import Evaluation

if TYPE_CHECKING:
    from .compare import Comparison

# ----------------------------------------------------------------
# A comparison of methods for classes, for people and machines.

# Methods whose shares of equal labels still fit on a line.
_FEW = 8
LEGEND = (
    "conf.: mean confidence; agrees: mean share of labels shared with the other methods; held-out: mean "
    "log-likelihood of annotations not seen; differ: share of pairs of methods that differ"
)


def plain(found: Comparison, limit: int) -> dict[str, Any]:
    """Plain values."""
    names = found.agreement["method"].to_list()
    known = [name for name in found.tasks.columns if name not in names]
    tasks = [
        {**{name: row[name] for name in known}, "labels": {name: row[name] for name in names}}
        for row in found.disputed(limit).to_dicts()
    ]
    return {
        "methods": found.methods.to_dicts(),
        "agreement": {row.pop("method"): row for row in found.agreement.to_dicts()},
        "disputed": tasks,
        "n_gold_left_out": found.n_gold_left_out,
        "notes": list(found.notes),
    }


def tables(found: Comparison, limit: int, annotations: Annotations) -> list[Table]:
    """The methods, the best first; those that could not run; who agrees with whom; the most disputed tasks."""
    table = found.methods.filter(found.methods["reason"].is_null())
    with_truth = "accuracy" in table.columns
    if with_truth:
        table = table.sort("accuracy", "log_loss", descending=[True, False])
    elif table["held_out"].is_not_null().any():
        table = table.sort("held_out", descending=True, nulls_last=True)
    header = ["method", "CPU s", "steps", "conf.", "agrees", "held-out"]
    header += ["accuracy", "95 % interval", "log-loss", "ECE", "F1"] if with_truth else []
    out = [Table("", header, [_cells(row, with_truth) for row in table.to_dicts()])]
    refused = found.methods.filter(found.methods["reason"].is_not_null())
    if len(refused):
        rows = [list(row) for row in refused.select("method", "reason").rows()]
        out.append(Table("Could not run", ["method", "reason"], rows))
    if 2 <= len(found.agreement) <= _FEW:
        rows = [[row[0], *(f"{value:.3f}" for value in row[1:])] for row in found.agreement.rows()]
        out.append(Table("Share of equal labels", ["", *found.agreement["method"].to_list()], rows))
    disputes = found.disputed(limit)
    if len(disputes):
        names = found.agreement["method"].to_list()
        rows = [_dispute(row, names, annotations) for row in disputes.to_dicts()]
        header = ["task", "differ", *(["true"] if with_truth else []), "votes", "who says what"]
        out.append(Table("Most disputed tasks", header, rows))
    return out


def _cells(row: dict[str, Any], with_truth: bool) -> list[str]:
    agrees, score = row["agreement"], row["held_out"]
    cells = [row["method"], f"{row['cpu_seconds']:.2f}", str(row["iterations"]), f"{row['mean_confidence']:.3f}"]
    cells += ["–" if agrees is None else f"{agrees:.3f}"]
    cells += ["–" if score is None else f"{score:.4f} ± {row['held_out_error']:.4f}"]
    if with_truth:
        cells += [f"{row['accuracy']:.4f}", f"{row['accuracy_low']:.4f} – {row['accuracy_high']:.4f}"]
        cells += [f"{row[name]:.4f}" for name in ("log_loss", "ece", "macro_f1")]
    return cells


def _dispute(row: dict[str, Any], names: list[str], annotations: Annotations) -> list[str]:
    """One disputed task: what was voted, and which methods say what, the largest party first."""
    task = int((annotations.tasks == row["task"]).arg_max() or 0)
    votes = annotations.votes[task]
    ballots = ", ".join(f"{annotations.classes[int(k)]} {votes[k]:g}" for k in (-votes).argsort() if votes[k] > 0)
    parties = Counter(row[name] for name in names).most_common()
    sides = []
    for label, size in parties:
        members = [name for name in names if row[name] == label]
        sides.append(
            f"{label}: " + (", ".join(members) if size <= 3 else f"{', '.join(members[:2])} and {size - 2} more")
        )
    true = [str(row["true"] if row["true"] is not None else "–")] if "true" in row else []
    return [str(row["task"]), f"{row['disagreement']:.2f}", *true, ballots, "; ".join(sides)]


# Called with how many methods are done, of how many, and the one that is waited for.
Watch = Callable[[int, int, str], None]
# Seconds between two looks at what other processes have done.
_GLANCE = 0.5


@dataclass(frozen=True)
class Contest:
    """What all methods are given: annotations, gold and truth, the seed, folds held out, resamples for intervals.

    `everyone`: nobody chose the methods, so those that would cost too much are left out.
    """

    annotations: Annotations
    gold: Any = None
    truth: Any = None
    seed: int = 0
    folds: int = 5
    resamples: int = 1000
    everyone: bool = False


@dataclass(frozen=True)
class Entry:
    """How one method did; `reason` says why it could not run, and then nothing else is known."""

    method: str
    reason: str | None = None
    labels: npt.NDArray[np.int32] | None = None
    cpu_seconds: float = float("nan")
    iterations: int = 0
    converged: bool = True
    mean_confidence: float = float("nan")
    held_out: float | None = None
    held_out_error: float | None = None
    scores: Evaluation | None = None
    notes: tuple[str, ...] = field(default=())


def run_one(contest: Contest, name: str) -> Entry:
    """Fit a method, score it on held-out annotations and, with truth, against it."""
    if contest.everyone and (reason := too_dear(name, contest.annotations)) is not None:
        return Entry(name, reason=reason)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CrowdwiseWarning)
        try:
            method = registry.method(name, seed=contest.seed)
            start = time.process_time()
            result = method.fit(contest.annotations, gold=contest.gold)
            took = time.process_time() - start
        except CrowdwiseError as refusal:
            return Entry(name, reason=str(refusal))
        except Exception as bug:  # a plug-in's fault must not hide what the others found
            return Entry(name, reason=f"failed: {_fault(bug)}")
    notes = [str(w.message) for w in caught]
    score, error = _held_out(contest, lambda votes: method.fit(votes, gold=contest.gold), notes)
    scores = None
    if contest.truth is not None:
        try:
            scores = evaluate(result, contest.truth, resamples=contest.resamples, seed=contest.seed)
        except Exception as bug:
            return Entry(name, reason=f"what it found cannot be scored: {_fault(bug)}")
    return Entry(
        name,
        labels=result.labels,
        cpu_seconds=took,
        iterations=result.n_iter,
        converged=result.converged,
        mean_confidence=result.mean_confidence,
        held_out=score,
        held_out_error=error,
        scores=scores,
        notes=tuple(dict.fromkeys(notes)),
    )


def _fault(bug: BaseException) -> str:
    return f"{type(bug).__name__}: {' '.join(str(bug).split())[:200]}"


def _held_out(
    contest: Contest, fit: Callable[[Annotations], Result], notes: list[str]
) -> tuple[float | None, float | None]:
    if not contest.folds:
        return None, None
    with warnings.catch_warnings():
        # What a fit on all labels has to say was said; with fewer labels it is said more often.
        warnings.simplefilter("ignore", CrowdwiseWarning)
        try:
            found = held_out(fit, contest.annotations, folds=contest.folds, seed=contest.seed)
        except CrowdwiseError as refusal:
            notes.append(f"no held-out score: {refusal}")
            return None, None
        except Exception as bug:  # a plug-in that fits all labels may still fail on a part of them
            notes.append(f"no held-out score: it failed without a part of the labels ({_fault(bug)})")
            return None, None
    return found.score, found.standard_error


# ---------------------------------------------------------------------- several processes
def run_all(contest: Contest, names: Sequence[str], jobs: int, watch: Watch | None = None) -> Iterator[Entry]:
    """The entries in the order of the names, as they come in; the same for any number of jobs, save the times."""
    _warm_up()
    tell = watch or (lambda *_: None)
    if jobs <= 1 or len(names) <= 1:
        for done, name in enumerate(names):
            tell(done, len(names), name)
            yield run_one(contest, name)
        return
    # Fresh processes: a fork would copy the locks of threads that the copy does not have.
    with ProcessPoolExecutor(
        min(jobs, len(names)), mp_context=get_context("spawn"), initializer=_enter, initargs=(contest,)
    ) as pool:
        every = {name: pool.submit(_run_here, name) for name in names}
        for name, waiting in every.items():
            while not waiting.done():
                tell(sum(each.done() for each in every.values()), len(names), name)
                wait([waiting], timeout=_GLANCE)
            try:
                yield waiting.result()
            except BrokenProcessPool:
                yield Entry(name, reason="a process of the comparison was ended from outside; is there enough memory?")
            except Exception as bug:  # what a plug-in gives back may not travel between processes
                yield Entry(name, reason=f"failed: {_fault(bug)}")


_here: list[Contest] = []


def _enter(contest: Contest) -> None:
    os.environ["CROWDWISE_THREADS"] = "1"  # the processes share the cores already
    _here[:] = [contest]
    _warm_up()


def _warm_up() -> None:
    """What is imported at the first fit is not the first method's to pay."""
    registry.method("majority_vote").fit(Annotations.from_arrays([0], [0], [0]))


def _run_here(name: str) -> Entry:
    return run_one(_here[0], name)


# ----------------------------------------------------------------
# Oracle: the posterior under known confusion matrices, the best that any method can do. A yardstick, not a method.
#     posterior[i, k] ∝ class_prior[k] · prod_w confusion[w, k, y_iw]
#
# Use it where the truth about the workers is known: in simulations, or to carry one fit's workers to other data.

F8 = npt.NDArray[np.float64]


def oracle(
    annotations: Annotations, confusion: Any, class_prior: Any = None, gold: Any = None, *, seed: int = 0
) -> Result:
    """Posteriors under given confusion matrices and class prior (default: even, or the Result's).

    `confusion` is an array [worker, true, observed] in the order of annotations.workers and classes, a table
    worker, true, observed, p (as of confusion_table), or a Result.

    >>> votes = Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
    >>> oracle(votes, [[[0.9, 0.1], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]]).posterior.round(2)
    array([[0.86, 0.14]])
    """
    k = annotations.n_classes
    if class_prior is None:
        class_prior = confusion.class_prior if isinstance(confusion, Result) else np.full(k, 1 / k)
    table = _confusion(confusion, annotations)
    prior = _checked(np.asarray(class_prior, dtype=np.float64), (k,), "class_prior")
    known = as_gold(gold, annotations)
    space = Workspace.of(annotations, None if known is None else known.label)
    stats, _ = accumulate(space, np.ascontiguousarray(table.transpose(0, 2, 1)), prior)
    found = Solution(space.memory.take(), prior, table, np.ascontiguousarray(stats.counts.transpose(0, 2, 1)))
    return _Oracle(seed=seed)._result(annotations, known, found)


@dataclass(frozen=True, kw_only=True)
class _Oracle(Aggregator):
    name: ClassVar[str] = "oracle"

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        raise NotImplementedError("the oracle is told what it knows; call crowdwise.oracle")


def _confusion(given: Any, annotations: Annotations) -> F8:
    m, k = annotations.n_workers, annotations.n_classes
    if isinstance(given, Result):
        if given.confusion is None:
            raise DataError(f"{given.method} gives no confusion matrices")
        given = given.confusion_table()
    if not isinstance(given, np.ndarray | list | tuple):
        given = _from_table(given, annotations)
    return _checked(np.asarray(given, dtype=np.float64), (m, k, k), "confusion")


def _from_table(given: Any, annotations: Annotations) -> F8:
    from ....core.intake.frames import to_polars

    frame = to_polars(given)
    missing = [name for name in ("worker", "true", "observed", "p") if name not in frame.columns]
    if missing:
        raise DataError(f"the confusion table has no column {missing[0]!r}; it has {', '.join(frame.columns)}")
    places, known = [], np.ones(len(frame), dtype=bool)
    for column, vocabulary in (("worker", annotations.workers), ("true", annotations.classes),
                               ("observed", annotations.classes)):  # fmt: skip
        codes, there = lookup(vocabulary, as_series(frame[column], column))
        places.append(codes)
        known &= there
    m, k = annotations.n_workers, annotations.n_classes
    table = np.full((m, k, k), np.nan)
    table[tuple(codes[known] for codes in places)] = frame["p"].to_numpy()[known]
    unknown = np.isnan(table).any(axis=(1, 2))
    if unknown.any():
        strangers = annotations.workers.filter(pl.Series(unknown))
        raise DataError(f"the confusion table does not cover {len(strangers)} workers: {quote(strangers)}")
    return table


def _checked(values: F8, shape: tuple[int, ...], name: str) -> F8:
    if values.shape != shape:
        raise DataError(f"{name} must have the shape {shape}, got {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all() and np.allclose(values.sum(axis=-1), 1, atol=1e-6)):
        raise DataError(f"the rows of {name} must be probabilities that sum to one")
    return values
