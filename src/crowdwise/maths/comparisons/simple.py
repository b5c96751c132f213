"""Scores without a model of the workers: win rates, Elo, rank centrality."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .rows import PairRows, total

F8 = npt.NDArray[np.float64]
# Games times passes from which compiled code pays for its loading.
COMPILED = 200_000


def win_rates(rows: PairRows, smoothing: float) -> F8:
    """Log-odds of the share of wins, `smoothing` wins and losses added."""
    won = total(rows.left, rows.weights * rows.share, rows.n_items)
    won += total(rows.right, rows.weights * (1 - rows.share), rows.n_items)
    return np.log((won + smoothing) / (rows.asked - won + smoothing))


def elo(rows: PairRows, step: float, passes: int, order: list[npt.NDArray[np.int64]]) -> F8:
    """Game after game the winner takes `step` times the surprise from the loser, in natural logits."""
    score = np.zeros(rows.n_items)
    play: Any = _play
    if len(rows) * passes >= COMPILED:
        from ..kernels.comparisons_compiled import elo_pass

        play = elo_pass
    for each in order:
        play(rows.left[each], rows.right[each], rows.share[each], rows.weights[each], score, step)
    return score


def _play(left: Any, right: Any, share: F8, weight: F8, score: F8, step: float) -> None:
    for e in range(len(left)):
        i, j = left[e], right[e]
        move = step * weight[e] * (share[e] - 1 / (1 + np.exp(score[j] - score[i])))
        score[i] += move
        score[j] -= move


def rank_centrality(rows: PairRows, smoothing: float, max_iter: int, tol: float) -> tuple[F8, int, bool]:
    """Logarithms of the stationary distribution of a walk that goes from item to item by who beats whom, island by
    island; Negahban, Oh & Shah (2017), doi:10.1287/opre.2016.1534."""
    from scipy.sparse import coo_array

    one, two, won, lost = rows.pairs
    heard = won + lost > 0
    one, two, won, lost = one[heard], two[heard], won[heard], lost[heard]
    share = (won + smoothing) / (won + lost + 2 * smoothing)
    k, island = rows.n_items, rows.component
    degree = np.bincount(np.concatenate([one, two]), minlength=k)
    widest = np.ones(int(island.max(initial=0)) + 1)
    np.maximum.at(widest, island, degree)
    scale = 1 / widest[island]
    at = (np.concatenate([two, one]), np.concatenate([one, two]))  # [to, from]
    walk = coo_array((np.concatenate([scale[one] * (1 - share), scale[two] * share]), at), shape=(k, k)).tocsr()
    leaves = np.bincount(at[1], np.concatenate([scale[one] * (1 - share), scale[two] * share]), k)
    size = np.bincount(island, minlength=1)
    here = 1 / size[island]
    n, gap = 0, 0.0
    for n in range(1, max_iter + 1):  # noqa: B007
        there = walk @ here + (1 - leaves) * here
        gap = float(np.abs(there / here - 1).max(initial=0.0))
        here = there
        if gap <= tol:
            break
    score = np.log(np.maximum(here, 1e-300))
    return score - (np.bincount(island, score) / size)[island], n, gap <= tol
