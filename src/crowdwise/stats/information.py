"""Information of a label: a worker as a noisy channel from the truth to the label.

Arrays are confusion[worker, true, observed] with rows that sum to one; information is in nats. Blahut (1972),
doi:10.1109/TIT.1972.1054855; Arimoto (1972), doi:10.1109/TIT.1972.1054753.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8

NATS_PER_BIT = float(np.log(2))


def mutual_information(prior: F8, confusion: F8) -> F8:
    """I(truth; label) of each worker when the classes occur as prior[class].

    >>> mutual_information(np.array([0.5, 0.5]), np.array([[[0.9, 0.1], [0.1, 0.9]]])).round(6)
    array([0.368064])
    """
    return np.asarray(_divergence(confusion, prior @ confusion) @ prior)


def entropy(p: F8) -> F8:
    """Entropy over the last axis, in nats; 0 log 0 = 0."""
    return np.asarray(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1))


def expected_gain(q: F8, confusion: F8) -> F8:
    """gain[task, worker]: expected reduction of the entropy of q[task, class] by one label of this worker.

    H(sum_k q_k A[k, :]) - sum_k q_k H(A[k, :]); zero for a worker with equal rows, and for a task that is certain.

    >>> expected_gain(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[[0.9, 0.1], [0.1, 0.9]]])).round(6)
    array([[0.368064],
           [0.      ]])
    """
    mix = np.matmul(q, confusion)  # worker, task, observed
    return np.maximum(entropy(mix).T - q @ entropy(confusion).T, 0.0)


def capacity(confusion: F8, tol: float = 1e-10, max_iter: int = 10_000) -> tuple[F8, F8]:
    """Channel capacity of each worker, and the prior[worker, class] that attains it.

    Blahut-Arimoto: the lower bound log sum r exp(D) and the upper bound max D converge to the capacity.

    >>> capacity(np.array([[[1.0, 0.0], [0.5, 0.5]]]))[0].round(6)  # the Z-channel
    array([0.223144])
    """
    m, k, _ = confusion.shape
    r = np.full((m, k), 1 / k)
    low, open_ = np.zeros(m), np.arange(m)
    for _ in range(max_iter):
        if not len(open_):
            break
        table, now = confusion[open_], r[open_]
        d = _divergence(table, np.einsum("wk,wkl->wl", now, table))
        grown = now * np.exp(d)
        total = grown.sum(axis=1)
        low[open_] = np.log(total)
        r[open_] = grown / total[:, None]
        open_ = open_[d.max(axis=1) - np.log(total) >= tol]
    return np.maximum(low, 0.0), r


def _divergence(confusion: F8, output: F8) -> F8:
    """D[worker, class] = KL(confusion[worker, class] || output[worker]); 0 log 0 = 0."""
    ratio = np.where(confusion > 0, confusion / np.maximum(output, 1e-300)[:, None, :], 1.0)
    return np.asarray((confusion * np.log(ratio)).sum(axis=2))


def unbias(information: F8, n: F8, n_classes: int) -> F8:
    """Subtract from the information the average bias of estimating the table from n labels, (K - 1)² / 2n; not below
    zero.
    """
    return np.maximum(information - (n_classes - 1) ** 2 / (2 * np.maximum(n, 1e-9)), 0.0)


def spammer_score(confusion: F8) -> F8:
    """Distance between the rows: 0 for a worker who guesses, 1 for one who is always right or always swapped.

    sum over pairs of classes |A_k - A_k'|² / (K (K - 1)), over the last two axes; for two classes
    (sensitivity + specificity - 1)². Raykar & Yu (2012), JMLR 13(16), section 3.

    >>> spammer_score(np.array([[[0.9, 0.1], [0.2, 0.8]]])).round(2)
    array([0.49])
    """
    k = confusion.shape[-1]
    if k < 2:
        return np.zeros(confusion.shape[:-2])
    # sum over pairs |a - b|² = K sum |a|² - |sum a|²
    spread = k * (confusion**2).sum(axis=(-2, -1)) - (confusion.sum(axis=-2) ** 2).sum(axis=-1)
    return np.asarray(np.maximum(spread, 0.0) / (k * (k - 1)))


def counts_as(n: F8 | npt.NDArray[np.integer], dependence: float) -> F8:
    """Weight of each of n correlated labels of one task.

    Together they are worth n / (1 + (n - 1) · dependence) independent labels, the effective sample size within a
    cluster (Kish 1965).
    """
    return np.asarray(1 / (1 + np.maximum(n - 1, 0) * dependence))
