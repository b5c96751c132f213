"""How far two answers with boxes are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...maths.boxes.matching import match_lists, soft_f1
from .answers import Boxes

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Pairs of rows that are matched at a time: their boxes' pairs must fit into memory.
_BLOCK = 2_000_000


def distance(answers: Boxes, i: I8, j: I8) -> F8:
    """1 - 2 × the overlap of the best matching / the boxes of both: 0 the same, 1 nothing in common.

    Two answers without boxes agree; an answer without boxes and one with some are wholly apart.
    """
    i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    out = np.empty(len(i))
    work = np.cumsum(answers.size[i] * answers.size[j] + 1)
    cuts = np.searchsorted(work, np.arange(_BLOCK, work[-1], _BLOCK)) if len(work) else np.empty(0, dtype=np.int64)
    for part in np.split(np.arange(len(i)), cuts):
        a, b = i[part], j[part]
        group, _, _, overlap = match_lists(
            answers.corner, answers.corner, answers.start[a], answers.size[a], answers.start[b], answers.size[b],
            tag_a=answers.tag, tag_b=answers.tag,
        )  # fmt: skip
        out[part] = 1 - soft_f1(overlap, group, answers.size[a], answers.size[b])
    return np.clip(out, 0.0, 1.0)
