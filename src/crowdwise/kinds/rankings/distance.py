"""How far two rankings are apart: the share of pairs of common items that stand the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .answers import Rankings

F8 = npt.NDArray[np.float64]
_CELLS = 20_000_000


def distance(answers: Rankings, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> F8:
    """Kendall's, 0 to 1: a pair tied in one of them counts half; without two common items one half."""
    width = int(answers.size.max(initial=1))
    item = np.full((len(answers), width), -1, dtype=np.int64)
    level = np.zeros((len(answers), width), dtype=np.float64)
    row = np.repeat(np.arange(len(answers)), answers.size)
    place = np.arange(len(row)) - np.repeat(answers.offset[:-1], answers.size)
    item[row, place], level[row, place] = answers.item, answers.level
    out = np.empty(len(i))
    step = max(1, _CELLS // width**2)
    for lo in range(0, len(i), step):
        a, b = i[lo : lo + step], j[lo : lo + step]
        same = (item[a][:, :, None] == item[b][:, None, :]) & (item[a] >= 0)[:, :, None]
        common = same.any(axis=2)
        theirs = np.where(common, np.take_along_axis(level[b], same.argmax(axis=2), axis=1), np.nan)
        mine = np.where(common, level[a], np.nan)
        one = np.sign(mine[:, :, None] - mine[:, None, :])
        two = np.sign(theirs[:, :, None] - theirs[:, None, :])
        n = common.sum(axis=1)
        pairs = n * (n - 1) / 2
        off = (np.nansum(np.abs(one - two), axis=(1, 2)) / 4).astype(np.float64)
        out[lo : lo + step] = np.where(pairs > 0, off / np.maximum(pairs, 1), 0.5)
    return out
