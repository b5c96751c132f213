"""Kemeny's order: the one with the fewest disagreements, exact by dynamic programming, else by local search.

Kemeny (1959), Daedalus 88(4); Betzler et al. (2009), doi:10.1016/j.tcs.2009.08.033 for the programme over subsets.
Where several orders are best, an item's place is its mean over all of them: no order of names or codes decides.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
EXACT = 12
STARTS = 8


def kemeny_places(table: F8, rng: np.random.Generator, exact: int = EXACT) -> tuple[F8, float]:
    """Mean place (from 0) of each item over the best orders of preferences W[i, j] (i before j), and their cost."""
    k = len(table)
    if k < 2:
        return np.zeros(k), 0.0
    return _exact(table) if k <= exact else _search(table, rng)


def cost(table: F8, order: I8) -> float:
    """The weight of the preferences that an order (best first) goes against."""
    own = table[np.ix_(order, order)]
    return float(np.tril(own, -1).sum())


def _exact(table: F8) -> tuple[F8, float]:
    """best[S]: the least cost of putting the items of S first; counts of the ways there give the mean places."""
    k = len(table)
    n = 1 << k
    every = np.arange(n)
    size = np.array([bin(s).count("1") for s in range(n)]) if k <= 8 else _bits(every, k).sum(axis=1)
    # after[i][S]: what it costs to put i right after all of S: the weight of those who want i before them
    after = np.zeros((k, n))
    for j in range(k):
        has = (every >> j) & 1 == 1
        after[:, has] += table[:, j][:, None]
    scale = max(float(np.abs(table).sum()), 1.0)
    best, ways = _sweep(k, n, size, after, scale, forward=True)
    back, ways_back = _sweep(k, n, size, after, scale, forward=False)
    total = best[-1]
    place, weight = np.zeros(k), 0.0
    for i in range(k):
        free = every[(every >> i) & 1 == 0]
        there = free | (1 << i)
        on = np.abs(best[free] + after[i, free] + back[there] - total) <= 1e-9 * scale
        paths = ways[free] * ways_back[there] * on
        place[i] = float(paths @ size[free])
        weight = float(paths.sum())
        place[i] /= max(weight, 1.0)
    return place, float(total)


def _sweep(k: int, n: int, size: I8, after: F8, scale: float, *, forward: bool) -> tuple[F8, F8]:
    """Least costs and numbers of ways from nothing to S, or from S to everything."""
    every = np.arange(n)
    best, ways = np.full(n, np.inf), np.zeros(n)
    start = 0 if forward else n - 1
    best[start], ways[start] = 0.0, 1.0
    layers = range(1, k + 1) if forward else range(k - 1, -1, -1)
    for layer in layers:
        here = every[size == layer]
        options = np.full((k, len(here)), np.inf)
        counts = np.zeros((k, len(here)))
        for i in range(k):
            has = (here >> i) & 1 == (1 if forward else 0)
            other = here[has] ^ (1 << i)
            step = after[i, other] if forward else after[i, here[has]]
            options[i, has] = best[other] + step
            counts[i, has] = ways[other]
        best[here] = options.min(axis=0)
        ways[here] = (counts * (options <= best[here] + 1e-9 * scale)).sum(axis=0)
    return best, ways


def _bits(values: I8, k: int) -> I8:
    return (values[:, None] >> np.arange(k)) & 1


def _search(table: F8, rng: np.random.Generator) -> tuple[F8, float]:
    """Moves of single items to better places, from Borda's order and from drawn ones; ties of the best averaged."""
    k = len(table)
    lead = (table - table.T).sum(axis=1)
    noise = rng.random((STARTS, k))
    orders = [np.lexsort((noise[0], -lead))] + [rng.permutation(k) for _ in range(STARTS - 1)]
    found = [_improved(table, order) for order in orders]
    costs = np.array([cost(table, order) for order in found])
    least = float(costs.min())
    best = {tuple(o.tolist()) for o, c in zip(found, costs, strict=True) if c <= least + 1e-9 * max(abs(least), 1.0)}
    places = np.zeros((len(best), k))
    for row, order in zip(places, sorted(best), strict=True):
        row[list(order)] = np.arange(k)
    return places.mean(axis=0), least


def _improved(table: F8, order: I8) -> I8:
    gap = table - table.T
    tiny = 1e-9 * max(float(np.abs(table).sum()), 1.0)
    moved = True
    while moved:
        moved = False
        for item in order.tolist():
            rest = order[order != item]
            # cost of each place for the item, up to a constant: those before it who want to be after, and so on
            gain = np.concatenate([[0.0], np.cumsum(gap[item, rest])])
            at = int(np.flatnonzero(order == item)[0])
            to = int(gain.argmin())
            if gain[to] < gain[at] - tiny:
                order = np.insert(rest, to, item)
                moved = True
    return order
