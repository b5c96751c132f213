"""How good sets are, given the truth: F1 over all classes and class by class, Jaccard, exact sets, log-loss.

Every score is a function of sums over tasks, so intervals come from tasks drawn with replacement: a draw is a row of
task counts, and all scores of all draws come from one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..bootstrap import central, times_drawn

F8 = npt.NDArray[np.float64]
I1 = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
# Probabilities nearer to 0 or 1 than this count as this in the log-loss.
CLIP = 1e-6
# Task counts are made for so many (draw, task) cells at a time.
_CELLS = 4_000_000
# Draws × tasks beyond which fewer draws do.
_DRAWS = 100_000_000


@dataclass(frozen=True)
class SetScores:
    """The scores by name, their intervals where they were asked for, and F1 of each class with its counts."""

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    by_class: F8  # class: right, said, true


def set_scores(said: Mask, p: F8 | None, known: I1, resamples: int = 0, seed: int = 0) -> SetScores:
    """Of said[task, class] against known[task, class] (1, 0, or -1: not counted), with p[task, class] if there is."""
    counted, true = known >= 0, known == 1
    said = said & counted
    right = said & true
    per_task = [right.sum(axis=1), said.sum(axis=1), true.sum(axis=1)]
    both, one = per_task[0], per_task[1] + per_task[2] - per_task[0]
    terms = {
        "jaccard": np.where(one > 0, both / np.maximum(one, 1), 1.0),
        "exact": (said == true).all(axis=1, where=counted).astype(np.float64),
        "hamming": ((said == true) & counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1),
    }
    if p is not None:
        own = np.clip(np.where(true, p, 1 - p), CLIP, 1.0)
        n = np.maximum(counted.sum(axis=1), 1)
        terms["log_loss"] = np.where(counted, -np.log(own), 0.0).sum(axis=1) / n
        terms["brier"] = np.where(counted, (p - true) ** 2, 0.0).sum(axis=1) / n
    by_class = np.stack([x.sum(axis=0) for x in (right, said, true)], axis=1).astype(np.float64)
    values = {**_f1(by_class[None]), **{name: np.array([term.mean()]) for name, term in terms.items()}}
    found = {name: float(value[0]) for name, value in values.items()}
    between = _intervals(terms, [right, said, true], resamples, seed) if resamples else {}
    return SetScores(found, between, by_class)


def f1_of(counts: F8) -> F8:
    """2 right / (said + true) over the last axis; NaN where neither was."""
    both = counts[..., 1] + counts[..., 2]
    return np.where(both > 0, 2 * counts[..., 0] / np.where(both > 0, both, 1.0), np.nan)


def _f1(counts: F8) -> dict[str, F8]:
    """Micro and macro F1 of counts[draw, class, (right, said, true)]; nothing said and nothing true is all right."""
    micro = np.nan_to_num(f1_of(counts.sum(axis=1)), nan=1.0)
    each = f1_of(counts)
    some = np.isfinite(each)
    macro = np.where(some.any(axis=1), np.where(some, each, 0.0).sum(axis=1) / np.maximum(some.sum(axis=1), 1), 1.0)
    return {"micro_f1": micro, "macro_f1": macro}


def _intervals(terms: dict[str, F8], parts: list[Mask], resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    rng = np.random.default_rng(seed)
    n, k = parts[0].shape
    from scipy.sparse import csr_array

    table = csr_array(np.concatenate(parts, axis=1).astype(np.float64)).T.tocsr()  # part and class, task
    names = list(terms)
    means = np.stack([terms[name] for name in names])
    times = min(resamples, max(_DRAWS // max(n, 1), 100))
    step = max(1, _CELLS // max(n, 1))
    drawn: dict[str, list[F8]] = {}
    for lo in range(0, times, step):
        size = min(step, times - lo)
        count = times_drawn(size, n, rng)
        sums = np.asarray(table @ count.T).T.reshape(size, 3, k).transpose(0, 2, 1)
        own = {**_f1(sums), **dict(zip(names, (means @ count.T) / n, strict=True))}
        for name, value in own.items():
            drawn.setdefault(name, []).append(value)
    return {name: central(np.concatenate(values), n, 0.95) for name, values in drawn.items()}
