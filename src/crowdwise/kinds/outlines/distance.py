"""How far two answers with outlines are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .answers import Outlines

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Pixels that two answers are compared on.
MOST = 4096


def distance(answers: Outlines, i: I8, j: I8) -> F8:
    """1 - IoU of what the outlines enclose; two answers without outlines agree."""
    from ...maths.kernels.outlines_compiled import common_pixels

    i, j = (np.asarray(each, dtype=np.int64) for each in (i, j))
    both, either = np.empty(len(i), dtype=np.int64), np.empty(len(i), dtype=np.int64)
    common_pixels(answers.start, answers.first, answers.point, i, j, MOST, both, either)
    iou = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    blank = (answers.size[i] == 0) | (answers.size[j] == 0)
    return np.asarray(np.where(blank, (answers.size[i] != answers.size[j]).astype(np.float64), 1 - iou))
