"""Expected precision and recall of every class, from the posterior alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from ....core.arrays import F8
from ....core.result import Result


def class_table(result: Result) -> pl.DataFrame:
    """Return the expected quality of the labels, class by class.

    With p[task, class] for the posterior, N[true, label] = sum of p[task, true] over the tasks with this label is the
    expected number of tasks. The figures are as good as the confidence: calibrate it on gold to rely on them.

    Args:
        result: A result of class labels.

    Returns:
        One row per class: class, n_labelled (tasks with this label), n_expected (expected number of tasks of the
        class), precision (expected share of its labels that are right), recall (expected share of its tasks that have
        the label), confused_with (the label that most of its other tasks have) and confused (their share of its tasks).
        Figures without any task are null.
    """
    k = len(result.classes)
    expected = np.zeros((k, k))
    for true in range(k):
        expected[true] = np.bincount(result.labels, weights=result.posterior[:, true], minlength=k)
    right, n_expected = np.diag(expected), expected.sum(axis=1)
    others = expected - np.diag(right)
    other = others.argmax(axis=1) if k > 1 else np.zeros(k, dtype=np.int64)
    confused = others[np.arange(k), other]
    names = result.classes.gather(other)
    return pl.DataFrame(
        {
            "class": result.classes,
            "n_labelled": np.bincount(result.labels, minlength=k),
            "n_expected": n_expected,
            "precision": _share(right, expected.sum(axis=0)),
            "recall": _share(right, n_expected),
            "confused_with": names.set(pl.Series(confused <= 0), None),
            "confused": _share(confused, n_expected),
        }
    )


def _share(part: F8, whole: F8) -> pl.Series:
    """Return shares; null where there is nothing to take a share of."""
    return pl.Series(np.where(whole > 0, part / np.maximum(whole, 1e-300), np.nan)).fill_nan(None)
