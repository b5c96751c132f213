"""Run many methods on the same annotations, one after the other or in several processes."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from ....core import method_registry as registry
from ....core.arrays import I4
from ....core.errors import CrowdwiseError, CrowdwiseWarning
from ....core.method_classes import is_importable
from ....core.result import Result
from ....evaluation.evaluate import evaluate
from ..annotations import Annotations
from ..methods.held_out import held_out
from ..methods.requirements import reason_to_skip
from .evaluate import Evaluation

# Called with the number of finished methods, the number of all methods, and the method in progress.
ProgressCallback = Callable[[int, int, str], None]
# Seconds between progress checks of worker processes.
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class ComparisonInputs:
    """Inputs common to all methods: annotations, gold, truth, seed, held-out folds, and resamples for intervals.

    `cluster`: table of the tasks that belong together, for the intervals of the scores. `all_methods`: the caller named
    no methods, so those that would be too expensive are skipped.
    """

    annotations: Annotations
    gold: Any = None
    truth: Any = None
    seed: int = 0
    folds: int = 5
    resamples: int = 1000
    all_methods: bool = False
    cluster: Any = None


@dataclass(frozen=True)
class MethodRun:
    """Outcome of one method; if it could not run, `reason` is the only other field that is set."""

    method: str
    reason: str | None = None
    labels: I4 | None = None
    cpu_seconds: float = float("nan")
    iterations: int = 0
    converged: bool = True
    mean_confidence: float = float("nan")
    held_out: float | None = None
    held_out_error: float | None = None
    scores: Evaluation | None = None
    notes: tuple[str, ...] = field(default=())


def run_one(inputs: ComparisonInputs, name: str) -> MethodRun:
    """Fit a method, score it on held-out annotations and, with truth, against it."""
    if inputs.all_methods and (reason := reason_to_skip(name, inputs.annotations)) is not None:
        return MethodRun(name, reason=reason)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", CrowdwiseWarning)
        try:
            method = registry.method(name, seed=inputs.seed)
            start = time.process_time()
            result = method.fit(inputs.annotations, gold=inputs.gold)
            cpu_seconds = time.process_time() - start
        except CrowdwiseError as refusal:
            return MethodRun(name, reason=str(refusal))
        except Exception as bug:  # a failing plug-in must not hide the results of other methods
            return MethodRun(name, reason=f"failed: {_fault(bug)}")
    notes = [str(w.message) for w in warned]
    score, error = _held_out(inputs, lambda votes: method.fit(votes, gold=inputs.gold), notes)
    scores = None
    if inputs.truth is not None:
        try:
            scores = evaluate(
                result, inputs.truth, resamples=inputs.resamples, seed=inputs.seed, cluster=inputs.cluster
            )
        except Exception as bug:
            return MethodRun(name, reason=f"its result cannot be scored: {_fault(bug)}")
    return MethodRun(
        name,
        labels=result.labels,
        cpu_seconds=cpu_seconds,
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
    inputs: ComparisonInputs, fit: Callable[[Annotations], Result], notes: list[str]
) -> tuple[float | None, float | None]:
    if not inputs.folds:
        return None, None
    with warnings.catch_warnings():
        # The fit on all labels gave these warnings already; with fewer labels they are more frequent.
        warnings.simplefilter("ignore", CrowdwiseWarning)
        try:
            score = held_out(fit, inputs.annotations, folds=inputs.folds, seed=inputs.seed)
        except CrowdwiseError as refusal:
            notes.append(f"no held-out score: {refusal}")
            return None, None
        except Exception as bug:  # a plug-in that fits all labels may still fail on a part of them
            notes.append(f"no held-out score: the fit failed on a part of the labels ({_fault(bug)})")
            return None, None
    return score.score, score.standard_error


# ---------------------------------------------------------------------- several processes
def run_all(
    inputs: ComparisonInputs, names: Sequence[str], jobs: int, watch: ProgressCallback | None = None
) -> Iterator[MethodRun]:
    """Yield the runs in the order of the names as they finish; apart from times, independent of the number of jobs."""
    _warm_up()
    report = watch or (lambda *_: None)
    classes = registry.local_classes(names)
    if jobs <= 1 or len(names) <= 1 or not all(map(is_importable, classes.values())):
        for done, name in enumerate(names):
            report(done, len(names), name)
            yield run_one(inputs, name)
        return
    # Spawn, because a fork would copy locks held by threads that do not exist in the child.
    with ProcessPoolExecutor(
        min(jobs, len(names)), mp_context=get_context("spawn"), initializer=_initialise, initargs=(inputs, classes)
    ) as pool:
        futures = {name: pool.submit(_run_in_process, name) for name in names}
        for name, future in futures.items():
            while not future.done():
                report(sum(map(Future.done, futures.values())), len(names), name)
                wait([future], timeout=_POLL_SECONDS)
            try:
                yield future.result()
            except BrokenProcessPool:
                yield MethodRun(name, reason="its process was killed; is there enough memory?")
            except Exception as bug:  # the result of a plug-in may not be picklable
                yield MethodRun(name, reason=f"failed: {_fault(bug)}")


_inputs: list[ComparisonInputs] = []


def _initialise(inputs: ComparisonInputs, classes: dict[str, type[Any]]) -> None:
    os.environ["CROWDWISE_THREADS"] = "1"  # the processes already use all cores
    for cls in classes.values():
        registry.register(cls)
    _inputs[:] = [inputs]
    _warm_up()


def _warm_up() -> None:
    """Make a small fit, so that the imports at the first fit do not count towards the first method's time."""
    registry.method("majority_vote").fit(Annotations.from_arrays([0], [0], [0]))


def _run_in_process(name: str) -> MethodRun:
    return run_one(_inputs[0], name)
