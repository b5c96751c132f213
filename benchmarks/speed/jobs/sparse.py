"""Dawid-Skene with scipy.sparse in log space: what a careful user would write, and the oracle for ours."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from .. import data

SMOOTHING = 0.01


class SparseDawidSkene:
    """The same model as cw.DawidSkene: smoothing pseudo-counts, vote shares as the start."""

    def __init__(self, path: str) -> None:
        task, worker, label = data.load(path)
        n, self.workers, self.classes = (int(codes.max()) + 1 for codes in (task, worker, label))
        cells = self.workers * self.classes
        cell = worker.astype(np.int64) * self.classes + label
        self.said = sp.csr_array((np.ones(len(task)), (task, cell)), shape=(n, cells))  # task, (worker, label)
        self.told = self.said.T.tocsr()
        votes = np.bincount(task.astype(np.int64) * self.classes + label, minlength=n * self.classes)
        votes = votes.reshape(n, self.classes).astype(float)
        self.q = votes / votes.sum(axis=1, keepdims=True)

    def step(self) -> float:
        """One iteration: M-step, E-step, objective."""
        counts = (self.told @ self.q).reshape(self.workers, self.classes, self.classes) + SMOOTHING
        counts /= counts.sum(axis=1, keepdims=True)  # worker, observed, true
        prior = self.q.mean(axis=0)
        log_theta = np.log(counts).reshape(-1, self.classes)
        score = self.said @ log_theta
        score += np.log(prior)
        top = score.max(axis=1, keepdims=True)
        score -= top
        np.exp(score, out=score)
        norm = score.sum(axis=1, keepdims=True)
        score /= norm
        self.q = score
        return float(top.sum() + np.log(norm).sum() + SMOOTHING * log_theta.sum())


def iteration(path: str, first: int, last: int) -> dict[str, float]:
    """CPU seconds per iteration between two run lengths."""
    model = SparseDawidSkene(path)
    stamps = []
    for _ in range(last):
        model.step()
        stamps.append(time.process_time())
    return {"cpu": (stamps[last - 1] - stamps[first - 1]) / (last - first)}


def difference(path: str, passes: int, posterior: str) -> dict[str, float]:
    """Largest difference from a stored posterior after the same number of passes."""
    model = SparseDawidSkene(path)
    for _ in range(passes):
        model.step()
    return {"difference": float(np.abs(model.q - np.load(posterior)).max())}
