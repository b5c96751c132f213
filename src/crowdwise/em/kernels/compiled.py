"""The kernels in numba: fused over task-sorted offsets, float64, specialised on the number of classes.

Up to 64 classes the loops over classes become vector instructions (rows.py); with more classes, or if most rows have a
weight other than one, a generic kernel works in log space. Probabilities are multiplied in blocks of 16 votes and the
logarithms of the blocks are added: with rescaling by the maximum instead, a class would underflow to zero if thousands
of votes for one class are followed by thousands for another.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log

import numpy as np
from numba import njit

from ...core.arrays import F8
from ...core.order_kernels import counting_order
from .rows import add_row, finish_row, prefetch_at, prefetch_row, product_row, scale_row

SPECIALISED_UP_TO = 64
_BLOCK = 16
# Number of votes between prefetching a row and using it.
_AHEAD = 16
# Numbers in a cache line.
_LINE = 8


@cache
def _sweep(K: int) -> Callable[..., float]:  # the closure holds one int, so numba can cache it on disk
    @njit(cache=True, nogil=True, error_model="numpy")
    def kernel(offset, cell, weight, theta, prior, gold, q, counts, mass, lo, hi):
        s = np.empty(K)
        logs = np.empty(K)
        total = 0.0
        product = 1.0  # of the likelihoods of tasks, so that few logarithms are taken
        counts[:] = 0.0
        mass[:] = 0.0
        end = offset[hi] - 1
        for i in range(lo, hi):
            first, last = offset[i], offset[i + 1]
            # The rows of later votes are anywhere in the tables: prefetch them early.
            for e in range(first, last):
                ahead = np.int64(cell[min(e + _AHEAD, end)]) * K
                prefetch_row(theta, ahead, K)
                prefetch_row(counts, ahead, K)
            is_gold = gold.size > 0 and gold[i] < K
            unweighted = True
            if weight.size:
                for e in range(first, last):
                    unweighted = unweighted and weight[e] == 1.0
            if unweighted and last - first <= _BLOCK:
                norm = product_row(s, prior, theta, cell, first, last, K)
                if is_gold:
                    total += log(s[gold[i]])
                elif norm < 1e-100:
                    total += log(norm)
                else:
                    product *= norm
                    if product < 1e-150:
                        total += log(product)
                        product = 1.0
            else:
                norm = 0.0
                for k in range(K):
                    s[k] = prior[k]
                    logs[k] = 0.0
                for e in range(first, last):
                    if unweighted or weight[e] == 1.0:
                        scale_row(s, theta, np.int64(cell[e]) * K, K)
                    else:
                        start = np.int64(cell[e]) * K
                        for k in range(K):
                            logs[k] += weight[e] * log(theta[start + k])
                    if (e - first) % _BLOCK == _BLOCK - 1 or e == last - 1:
                        for k in range(K):
                            logs[k] += log(s[k])
                            s[k] = 1.0
                top = logs[0]
                for k in range(1, K):
                    top = max(top, logs[k])
                for k in range(K):
                    s[k] = exp(logs[k] - top)
                    norm += s[k]
                total += logs[gold[i]] if is_gold else top + log(norm)
            scale = 1.0 / norm
            if is_gold:
                for k in range(K):
                    s[k] = 0.0
                s[gold[i]] = scale = 1.0
            finish_row(s, scale, q, np.int64(i) * K, mass, K)
            for e in range(first, last):
                if unweighted or weight[e] == 1.0:
                    add_row(counts, np.int64(cell[e]) * K, s, K)
                else:
                    start = np.int64(cell[e]) * K
                    for k in range(K):
                        counts[start + k] += weight[e] * s[k]
        return total + log(product)

    return kernel


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep_generic(offset, cell, weight, log_theta, log_prior, gold, q, counts, mass, lo, hi):
    """Any number of classes, weights or none, in log space."""
    K = log_prior.size
    total = 0.0
    counts[:] = 0.0
    mass[:] = 0.0
    end = offset[hi] - 1
    for i in range(lo, hi):
        s = q[i]
        for k in range(K):
            s[k] = log_prior[k]
        for e in range(offset[i], offset[i + 1]):
            ahead = np.int64(cell[min(e + _AHEAD, end)]) * K
            for k in range(0, K, _LINE):
                prefetch_at(log_theta, ahead + k)
                prefetch_at(counts, ahead + k)
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            start = np.int64(cell[e]) * K
            for k in range(K):
                s[k] += w * log_theta[start + k]
        top = s.max()
        if gold.size and gold[i] < K:
            total += s[gold[i]]
            s[:] = 0.0
            s[gold[i]] = 1.0
        else:
            norm = 0.0
            for k in range(K):
                s[k] = exp(s[k] - top)
                norm += s[k]
            total += top + log(norm)
            for k in range(K):
                s[k] /= norm
        for k in range(K):
            mass[k] += s[k]
        for e in range(offset[i], offset[i + 1]):
            w = weight[e] if weight.size else 1.0
            start = np.int64(cell[e]) * K
            for k in range(K):
                counts[start + k] += w * s[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _scatter(offset, cell, weight, q, counts, mass, lo, hi):
    K = q.shape[1]
    counts[:] = 0.0
    mass[:] = 0.0
    end = offset[hi] - 1
    for i in range(lo, hi):
        for k in range(K):
            mass[k] += q[i, k]
        for e in range(offset[i], offset[i + 1]):
            ahead = np.int64(cell[min(e + _AHEAD, end)]) * K
            for k in range(0, K, _LINE):
                prefetch_at(counts, ahead + k)
            w = weight[e] if weight.size else 1.0
            start = np.int64(cell[e]) * K
            for k in range(K):
                counts[start + k] += w * q[i, k]
    return 0.0


def _in_log_space(weight: F8, k: int) -> bool:
    """Whether to use log space; otherwise every row with a weight other than one takes a logarithm per class."""
    return k > SPECIALISED_UP_TO or 2 * int(np.count_nonzero(weight == 1.0)) < weight.size


def sweep(weight: F8, k: int, theta: F8, floor: float) -> tuple[Callable[..., float], F8]:
    """Return the fused kernel for k classes, and the confusion table in the form that it uses."""
    log = _in_log_space(weight, k)
    return _sweep_generic if log else _sweep(k), _floored.of(theta, floor, log)


class _Floored:
    """Cache of the last confusion table in the form of the kernels, which the parts of a pass share.

    Only read-only arrays are cached, and only as long as they exist.
    """

    def __init__(self) -> None:
        self.theta: Callable[[], F8 | None] = lambda: None
        self.how: tuple[float, bool] = (0.0, False)
        self.table: F8 | None = None

    def of(self, theta: F8, floor: float, log: bool) -> F8:
        """Return the floored table, or its logarithm."""
        with _lock:
            if self.theta() is theta and self.how == (floor, log) and self.table is not None:
                return self.table
            table = np.maximum(theta, floor).ravel()
            table = np.log(table) if log else table
            if not theta.flags.writeable:
                self.theta, self.how, self.table = weakref.ref(theta, self._forget), (floor, log), table
            return table

    def _forget(self, ref: object) -> None:
        if ref is self.theta:
            self.table = None


_lock, _floored = threading.RLock(), _Floored()


def prior_for(weight: F8, k: int, prior: F8, floor: float) -> F8:
    """Return the class prior in the form that the kernel uses."""
    safe = np.maximum(prior, floor)
    return np.log(safe) if _in_log_space(weight, k) else safe


def scatter() -> Callable[..., float]:
    """Return the kernel that only computes statistics."""
    return _scatter


def ordered_sum(tables: Sequence[F8]) -> F8:
    """Return the sum over chunks, always in the same order; it overwrites the first table."""
    total = tables[0]
    for table in tables[1:]:
        total += table
    return total


__all__: list[str] = ["counting_order", "ordered_sum", "prior_for", "scatter", "sweep"]
