"""Running many methods on the same annotations, one after the other or in several processes."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregate import registry
from ..aggregate.cost import too_dear
from ..core.errors import CrowdwiseError, CrowdwiseWarning
from ..core.result import Result
from ..engine.selection import held_out
from ..kinds.classes.annotations import Annotations
from .evaluate import Evaluation, evaluate

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
