"""crowdwise: Dawid-Skene on a stored crowd."""

from __future__ import annotations

import hashlib
import time
import warnings
from typing import Any

import numpy as np

import crowdwise as cw

from .. import data


def _annotations(path: str) -> cw.Annotations:
    return cw.Annotations.from_arrays(*data.load(path))


def _fit(votes: cw.Annotations, passes: int, **options: Any) -> tuple[cw.Result, list[tuple[float, float, float]]]:
    """A fit of so many passes, with (CPU time, wall time, objective) at the end of each."""
    seen: list[tuple[float, float, float]] = []

    def watch(_: int, objective: float) -> None:
        seen.append((time.process_time(), time.perf_counter(), objective))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
        result = cw.DawidSkene(max_iter=passes, **{"tol": 0.0, **options}).fit(votes, callback=watch)
    return result, seen


def iteration(path: str, first: int, last: int, repeats: int) -> dict[str, float]:
    """Seconds per iteration (all of it: pass, M-step, objective), the best of several fits."""
    votes = _annotations(path)
    _fit(votes, 2)  # compile, and touch every page once
    cpu, wall = [], []
    for _ in range(repeats):
        _, seen = _fit(votes, last)
        a, b = seen[first - 1], seen[last - 1]
        cpu.append((b[0] - a[0]) / (last - first))
        wall.append((b[1] - a[1]) / (last - first))
    return {"cpu": min(cpu), "wall": min(wall)}


def whole(path: str, passes: int, repeats: int) -> dict[str, float]:
    """Seconds of a fit, of its passes alone, and of the workers' skills, which are computed when they are asked for."""
    votes = _annotations(path)
    _fit(votes, 2)[0].skill.sum()  # compile, and touch every page once
    fit, alone, skills = [], [], []
    for _ in range(repeats):
        start = time.process_time()
        result, seen = _fit(votes, passes)
        fit.append(time.process_time() - start)
        alone.append((seen[-1][0] - seen[0][0]) * passes / (passes - 1))  # the first is timed with the start
        start = time.process_time()
        result.skill.sum()
        skills.append(time.process_time() - start)
    return {"fit": min(fit), "passes": min(alone), "skills": min(skills)}


def posterior(path: str, passes: int, out: str | None = None) -> dict[str, str]:
    """A digest of the posterior after so many passes; the posterior itself goes to `out`."""
    result, _ = _fit(_annotations(path), passes)
    if out:
        np.save(out, result.posterior)
    return {"digest": hashlib.sha256(np.ascontiguousarray(result.posterior).tobytes()).hexdigest()}


def memory(path: str, passes: int) -> dict[str, float]:
    """From integer arrays to a Result; the peak is what counts."""
    start = time.perf_counter()
    _fit(_annotations(path), passes)
    return {"wall": time.perf_counter() - start}


def squarem(path: str, relative: float) -> dict[str, int]:
    """Passes until plain EM's final objective is reached within a relative distance, plain and accelerated."""
    votes = _annotations(path)
    _, plain = _fit(votes, 5_000, tol=1e-14)
    goal = plain[-1][2] - relative * abs(plain[-1][2])
    _, leaps = _fit(votes, 5_000, tol=1e-14, accelerate=True)

    def reached(seen: list[tuple[float, float, float]]) -> int:
        return next((i for i, stamp in enumerate(seen, 1) if stamp[2] >= goal), -1)

    return {"plain": reached(plain), "accelerated": reached(leaps)}
