"""What a verdict is worth beside a person's label: variances of two-phase estimates, prices, subsets of judges.

    V = S^2 [(1 - R2) / n + R2 / N],   n people's labels, N judged tasks, R2: squared correlation of truth and verdict
    best split of a budget:  n / N = sqrt((1 - R2) / R2 * c_judge / c_person)
    a judge is worth paying where  c_judge / c_person < R2 / (1 + sqrt(1 - R2))^2

Cochran (1977), Sampling Techniques, ch. 12.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

ALL_SUBSETS = 10


def labels_per_task(r2: float, judge: float, person: float) -> float:
    """People's labels for each judged task, under prices of a judged task and a person's label.

    >>> round(labels_per_task(0.504, 0.5, 20.0), 4)
    0.1569
    """
    if r2 <= 0 or person <= 0:
        return float("inf")
    return float(np.sqrt((1 - r2) / r2 * judge / person))


def worth_up_to(r2: float) -> float:
    """The price of a judged task, in people's labels, up to which judging beats more labels.

    >>> round(worth_up_to(0.5), 2), round(worth_up_to(0.17), 3)
    (0.17, 0.047)
    """
    return float(r2 / (1 + np.sqrt(max(1 - r2, 0.0))) ** 2)


def best_variance(r2: float, judge: float, person: float, budget: float) -> float:
    """V / S^2 of the best split of a budget between a judge and people."""
    return float((np.sqrt((1 - r2) * person) + np.sqrt(r2 * judge)) ** 2 / budget)


def variance(r2: float, n: float, judged: float) -> float:
    """V / S^2 with n people's labels and so many judged tasks."""
    return (1 - r2) / n + r2 / judged


def squared_correlation(posterior: F8, truth: I8, times: F8 | None = None) -> float:
    """R2 of the truth as 0 and 1 with the beliefs, over all classes; of two classes the plain squared correlation."""
    w = np.ones(len(truth)) if times is None else times
    y = np.eye(posterior.shape[1])[truth]
    y = y - w @ y / w.sum()
    p = posterior - w @ posterior / w.sum()
    top = float((w[:, None] * y * p).sum())
    below = float((w[:, None] * y * y).sum() * (w[:, None] * p * p).sum())
    return max(top, 0.0) ** 2 / below if below > 1e-300 else 0.0


def subsets(n_judges: int) -> list[tuple[int, ...]]:
    """All non-empty subsets of few judges."""
    return [c for size in range(1, n_judges + 1) for c in combinations(range(n_judges), size)]


def pareto(cost: F8, loss: F8) -> npt.NDArray[np.bool_]:
    """Which offers nobody beats: none is as cheap with a lower loss."""
    out = np.zeros(len(cost), dtype=bool)
    best = np.inf
    for i in np.lexsort((loss, cost)):
        out[i] = loss[i] < best - 1e-12
        best = min(best, loss[i])
    return out
