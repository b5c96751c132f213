"""Variance components of crossed and nested random effects, from sums of squares.

Henderson's method I: the sum of squares of every term is set equal to its expectation, which the counts of the cells
give exactly, whether the design is balanced or not. On balanced data this is the analysis of variance, and REML where
no estimate is negative (Searle, Casella & McCulloch 1992, Variance Components, ch. 4 and 5). Intervals are generalized
confidence intervals: every sum of squares over its expectation is taken as a chi-squared variable (Weerahandi 1993).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import F8, I8
from ..core.errors import DataError

DRAWS = 4000
RESIDUAL: tuple[str, ...] = ()

Term = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Components:
    """Variance components; the last one is the residual, whose term is empty.

    Attributes:
        terms: The factors of each term.
        value: Estimates, which may be below zero.
        draws: Generalized draws of each component, to get intervals of any function of them.
        freedom: Degrees of freedom of each sum of squares.
        levels: Number of cells of each term.
        mean: Mean of all values.
    """

    terms: list[Term]
    value: F8
    draws: F8
    freedom: F8
    levels: I8
    mean: float

    def interval(self, level: float) -> tuple[F8, F8]:
        """Return the ends of the intervals of the components, at least zero."""
        tails = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return np.maximum(tails[0], 0.0), np.maximum(tails[1], 0.0)


def variance_components(y: F8, factors: Mapping[str, I8], terms: Sequence[Term], *, seed: int = 0) -> Components:
    """Estimate the variance of each term and of the residual.

    Args:
        y: Values.
        factors: Code of every value for each factor.
        terms: Sets of factors; with a term its subsets that are terms too are taken out first. A term whose cells hold
            one value each, or that is not identified, belongs to the residual and is left out.
        seed: Seed of the intervals.

    Raises:
        DataError: If nothing is left to estimate.

    >>> y = np.array([1.0, 2, 4, 3, 5, 7])
    >>> result = variance_components(y, {"p": np.repeat(np.arange(3), 2), "i": np.tile([0, 1], 3)}, [("p",), ("i",)])
    >>> [round(float(v), 3) for v in result.value]
    [-0.167, 4.5, 1.167]
    """
    n = len(y)
    cells = {term: _cells(factors, term) for term in sorted(set(terms), key=lambda t: (len(t), t))}
    kept, freedom = _identified(cells, n)
    if not kept:
        raise DataError("no source of variation has several levels with several values each")
    codes = [cells[term] for term in kept]
    levels = np.array([int(code.max()) + 1 for code in codes])
    centred = y - y.mean()
    squares = np.array([*(_square(centred, code) for code in codes), float(centred @ centred)])
    expected = _expectations(codes, n)
    contrast = _contrasts(kept)
    sums, matrix = contrast @ squares, contrast @ expected
    freedom = np.append(freedom, n - 1 - freedom.sum())
    if freedom[-1] < 1 or np.linalg.cond(matrix) > 1e12:
        raise DataError(
            "there are too few values for these sources of variation; leave out a column or repeat verdicts"
        )
    chi = np.random.default_rng([seed, 0x7A2]).chisquare(freedom, size=(DRAWS, len(freedom)))
    draws = np.linalg.solve(matrix, (sums * freedom / chi).T).T
    return Components(
        [*kept, RESIDUAL], np.linalg.solve(matrix, sums), draws, freedom, np.append(levels, n), float(y.mean())
    )


def _cells(factors: Mapping[str, I8], term: Term) -> I8:
    """Return the code of every value's cell."""
    code = np.zeros(len(next(iter(factors.values()))), dtype=np.int64)
    for name in term:
        code = code * (int(factors[name].max()) + 1) + factors[name]
        code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    return code


def _identified(cells: Mapping[Term, I8], n: int) -> tuple[list[Term], F8]:
    """Return the terms with degrees of freedom of their own, before the residual's, and these."""
    kept: list[Term] = []
    freedom: list[int] = []
    for term, code in cells.items():
        size = int(code.max()) + 1
        own = size - 1 - sum(df for other, df in zip(kept, freedom, strict=True) if set(other) < set(term))
        if own > 0 and size < n:
            kept.append(term)
            freedom.append(own)
    return kept, np.array(freedom, dtype=float)


def _square(y: F8, code: I8) -> float:
    """Sum over cells of size times squared mean."""
    return float((np.bincount(code, weights=y) ** 2 / np.bincount(code)).sum())


def _expectations(codes: Sequence[I8], n: int) -> F8:
    """Return the coefficient of each component in the expectation of the square of each term, about the grand mean."""
    size = len(codes) + 1
    out = np.empty((size, size))
    grand = np.array([*(float((np.bincount(code).astype(float) ** 2).sum()) / n for code in codes), 1.0])
    for i, code in enumerate(codes):
        counts = np.bincount(code).astype(float)
        for j, other in enumerate(codes):
            pair, times = np.unique(code * (int(other.max()) + 1) + other, return_counts=True)
            out[i, j] = float((times.astype(float) ** 2 / counts[pair // (int(other.max()) + 1)]).sum())
        out[i, -1] = len(counts)
    out[-1] = n
    # Of centred values the square of the grand mean is zero; cross products of both means count the grand mean once.
    return np.asarray(out - grand)


def _contrasts(terms: Sequence[Term]) -> F8:
    """Return the matrix from squares of terms to sums of squares without those of the terms inside them."""
    size = len(terms) + 1
    out = np.eye(size)
    for i, term in enumerate(terms):
        for j, other in enumerate(terms):
            if set(other) < set(term):
                out[i] -= out[j]
    out[-1] = np.eye(size)[-1] - out[:-1].sum(axis=0)
    return out
