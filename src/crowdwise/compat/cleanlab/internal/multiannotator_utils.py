"""cleanlab.internal.multiannotator_utils: names to class numbers, and the check of a wide matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..errors import LabelsError, value_errors
from ..matrix import check, probabilities, read

__all__ = ["assert_valid_inputs_multiannotator", "format_multiannotator_labels"]


@value_errors
def format_multiannotator_labels(labels: Any) -> tuple[pd.DataFrame, dict[int, Any]]:
    """A wide matrix of any labels as class numbers in sorted order, and the name of each number.

    >>> numbers, names = format_multiannotator_labels(np.array([["b", "a"], ["b", np.nan]], dtype=object))
    >>> numbers.to_numpy().tolist(), names
    ([[1.0, 0.0], [1.0, nan]], {0: 'a', 1: 'b'})
    """
    if not isinstance(labels, pd.DataFrame | np.ndarray):
        raise LabelsError(f"labels must be a 2D numpy array or a pandas DataFrame, got {type(labels).__name__}")
    frame = pd.DataFrame(labels)
    values = frame.to_numpy(dtype=object).ravel()
    # An array of text has turned NaN into a word.
    there = ~(pd.isna(values) | (values == "nan"))
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values[there]]
    code, names = pd.factorize(pd.Series(whole, dtype=object), sort=True)
    out = np.full(len(values), np.nan)
    out[there] = code
    return pd.DataFrame(out.reshape(frame.shape), frame.index, frame.columns), dict(enumerate(names))


@value_errors
def assert_valid_inputs_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any = None,
    ensemble: bool = False,
    allow_single_label: bool = False,
    annotator_ids: Any = None,  # noqa: ARG001 - cleanlab names annotators without labels, who are no error here
) -> None:
    """Raise a ValueError where the other functions would; warn where no two annotators agree."""
    probs = None if pred_probs is None else probabilities(pred_probs, ensemble=ensemble)
    check(read(labels_multiannotator, None if probs is None else probs.shape[2]), probs, single=allow_single_label)
