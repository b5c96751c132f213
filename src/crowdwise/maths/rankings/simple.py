"""Borda and Copeland."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..comparisons.uncertainty import Block
from .rows import RankRows

F8 = npt.NDArray[np.float64]


def borda(rows: RankRows) -> tuple[F8, list[Block]]:
    """score[entry]: the share of the other ranked items that it is put before, mean over rankings (a tie is a half);
    one half where nobody ranked it. With its covariance over the rankings of each task."""
    score, blocks = np.full(rows.n_entries, 0.5), []
    for task, own in enumerate(rows.by_task):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        if end == begin:
            continue
        share = shares(rows.levels(task))
        w = rows.weights[own][:, None] * np.isfinite(share)
        total = w.sum(axis=0)
        mean = np.where(total > 0, (w * np.nan_to_num(share)).sum(axis=0) / np.where(total > 0, total, 1.0), 0.5)
        score[begin:end] = mean
        gap = np.where(np.isfinite(share), share - mean, 0.0) * w
        spread = gap.T @ gap / np.maximum(np.outer(total, total), 1e-300)
        n = len(own)
        spread = spread * (n / (n - 1)) if n > 1 else np.full_like(spread, np.nan)
        if n > 1:  # a crowd of one mind still is a sample
            spread += np.diag(np.full(end - begin, 1e-12))
        blocks.append(Block(np.arange(begin, end)[None], spread[None], np.diag(spread)[None]))
    return score, blocks


def shares(level: F8) -> F8:
    """Of each row and entry: the share of the others in the row that come after it."""
    out = np.full_like(level, np.nan)
    n = np.isfinite(level).sum(axis=1)
    for lo in range(0, len(level), 4096):
        some = level[lo : lo + 4096]
        gap = some[:, None, :] - some[:, :, None]
        before = np.where(np.isnan(gap), 0.0, (np.sign(gap) + 1) / 2).sum(axis=2) - 0.5  # not before itself
        others = np.maximum(n[lo : lo + 4096] - 1, 1)[:, None]
        out[lo : lo + 4096] = np.where(np.isnan(some), np.nan, np.where(others > 0, before / others, np.nan))
    out[n < 2] = np.nan
    return out


def copeland(rows: RankRows) -> F8:
    """score[entry]: the share of the others that a majority puts it before; a draw is a half."""
    score = np.zeros(rows.n_entries)
    for task in range(len(rows.by_task)):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        table = rows.preferences(task)
        lead = np.sign(np.round(table - table.T, 9))
        score[begin:end] = ((lead + 1) / 2).sum(axis=1) - 0.5
        score[begin:end] /= max(end - begin - 1, 1)
    return score
