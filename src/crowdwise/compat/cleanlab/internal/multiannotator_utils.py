"""cleanlab.internal.multiannotator_utils: conversion of labels to class numbers, and validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..errors import LabelsError, value_errors
from ..matrix import check, probabilities, read

__all__ = ["assert_valid_inputs_multiannotator", "format_multiannotator_labels"]


@value_errors
def format_multiannotator_labels(labels: Any) -> tuple[pd.DataFrame, dict[int, Any]]:
    """Convert a wide matrix of any labels to class numbers in sorted order, and return the name of each number.

    >>> numbers, names = format_multiannotator_labels(np.array([["b", "a"], ["b", np.nan]], dtype=object))
    >>> numbers.to_numpy().tolist(), names
    ([[1.0, 0.0], [1.0, nan]], {0: 'a', 1: 'b'})
    """
    if not isinstance(labels, pd.DataFrame | np.ndarray):
        raise LabelsError(f"labels must be a 2D numpy array or a pandas DataFrame, got {type(labels).__name__}")
    frame = pd.DataFrame(labels)
    values = frame.to_numpy(dtype=object).ravel()
    # numpy arrays of text store NaN as "nan".
    has_label = ~(pd.isna(values) | (values == "nan"))
    present = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values[has_label]]
    code, names = pd.factorize(pd.Series(present, dtype=object), sort=True)
    out = np.full(len(values), np.nan)
    out[has_label] = code
    return pd.DataFrame(out.reshape(frame.shape), frame.index, frame.columns), dict(enumerate(names))


@value_errors
def assert_valid_inputs_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any = None,
    ensemble: bool = False,
    allow_single_label: bool = False,
    annotator_ids: Any = None,  # noqa: ARG001 - cleanlab lists annotators without labels, who are not an error here
) -> None:
    """Raise a ValueError if the other functions would; warn if no two annotators agree."""
    probs = None if pred_probs is None else probabilities(pred_probs, ensemble=ensemble)
    check(read(labels_multiannotator, None if probs is None else probs.shape[2]), probs, single=allow_single_label)
