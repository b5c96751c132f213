"""Answers with predictions of others: what is said more often than people expected is likely to be true.

    surprisingly popular (two classes): k wins where share_k > mean predicted share of k
    several classes: prediction-normalised votes  V_k = x_k sum_i y_k[i] / y_i[k],
                     y_i[k]: mean prediction of k by those who said i
    truth serum: information score  log x_k - mean log y[k]

Prelec, Seung & McCoy (2017), doi:10.1038/nature21054; Prelec (2004), doi:10.1126/science.1102081.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..logspace import segment_sum, shares

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Predictions of 0 and 1 have no logarithm: nobody can know the crowd better than this.
LEAST = 0.01


def surprise(said: F8, expected: F8, n: F8) -> tuple[F8, F8]:
    """How far said[task, class] shares exceed the expected[task, class] ones, and the standard error of that."""
    more = said - expected
    p = (said * n[:, None] + 0.5) / (n[:, None] + 1)
    return more, np.sqrt(p * (1 - p) / np.maximum(n[:, None], 1.0))


def normalised_votes(task: I8, label: I8, prediction: F8, weight: F8, n_tasks: int) -> F8:
    """Prelec's prediction-normalised votes[task, class], rows summing to one; prediction[row, class] of each answer."""
    k = prediction.shape[1]
    cell = task * k + label
    count = np.bincount(cell, weights=weight, minlength=n_tasks * k).astype(np.float64)
    columns = (prediction * weight[:, None]).T
    summed = np.stack([np.bincount(cell, weights=column, minlength=n_tasks * k) for column in columns], axis=1)
    overall = np.stack([np.bincount(task, weights=column, minlength=n_tasks) for column in columns], axis=1)
    size = count.reshape(n_tasks, k).sum(axis=1)
    whole = np.where(size > 0, size, 1.0)[:, None]
    usual = overall / whole
    # Who said i of a task, and expects k: one more answer is what everybody expects.
    mean = (summed.reshape(n_tasks, k, k) + usual[:, None, :]) / (count.reshape(n_tasks, k, 1) + 1)
    mean = np.maximum(mean, LEAST)
    said = count.reshape(n_tasks, k) / whole
    return shares(said * (mean / mean.transpose(0, 2, 1)).sum(axis=2))


def log_scores(said: F8, log_expected: F8, n: F8) -> F8:
    """Information score[task, class] of the truth serum: log share less mean log prediction; half an answer smooths."""
    k = said.shape[1]
    share = (said * n[:, None] + 0.5) / (n[:, None] + 0.5 * k)
    return np.asarray(np.log(share) - log_expected)


def mean_by_task(values: F8, weight: F8, offsets: I8) -> F8:
    """Weighted means of values[row, class] over the rows of each task, NaN without rows."""
    n = segment_sum(weight[:, None], offsets)
    return np.where(n > 0, segment_sum(values * weight[:, None], offsets) / np.where(n > 0, n, 1.0), np.nan)
