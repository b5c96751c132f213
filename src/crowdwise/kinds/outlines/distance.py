"""How far two answers with outlines are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...maths.outlines.masks import overlap
from ...maths.outlines.raster import fill_even_odd, grid
from .answers import Outlines

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Pixels that two answers are compared on.
MOST = 4096


def distance(answers: Outlines, i: I8, j: I8) -> F8:
    """1 - IoU of what the outlines enclose; two answers without outlines agree."""
    out = np.empty(len(i))
    for at, (a, b) in enumerate(zip(np.asarray(i).tolist(), np.asarray(j).tolist(), strict=True)):
        if not answers.size[a] or not answers.size[b]:
            out[at] = float(answers.size[a] != answers.size[b])
            continue
        one, two = answers.of_row(a), answers.of_row(b)
        x, y = grid([*one, *two], MOST)
        out[at] = 1 - overlap(fill_even_odd(one, x, y), fill_even_odd(two, x, y))
    return out
