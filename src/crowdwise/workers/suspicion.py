"""Who answers without looking? A spammer's labels do not depend on the truth: their confusion rows are all alike.

For every worker the evidence of their labels is weighed under three models; the truth is what the *others* say of it:

    spammer   label ~ Cat(own),                      own ~ Dir(1/2)
    honest    label ~ Cat(confusion[truth]),         rows ~ apart · Dir(1/2), or ~ apart · Dir(strength · honest mean)
    expert    label ~ Cat(row[truth = c]),           one class c told from the rest, rows ~ apart · Dir(1/2)

`apart` is the squared distance between the rows: a non-local prior (Johnson & Rossell 2010, JRSS B 72(2)). Without it
the honest models allow rows that are alike too, and with two classes, whose rows have one number each, hundreds of
labels do not tell a guesser from an honest worker.
The first is exact, the others variational bounds (the truth is uncertain). The shares of all kinds and the honest
mean are learnt from the crowd. Constant and random spammers are one model; who is wrong on purpose is no spammer but
adversarial: their labels tell as much as an honest worker's once they are read the other way round.
After Raykar & Yu (2012), Eliminating spammers and ranking annotators, JMLR 13(16).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kinds.classes.annotations import Annotations
from ..maths.dirichlet import divergences, log_evidence, log_mean, log_rows
from ..maths.logspace import normalise_rows

F8 = npt.NDArray[np.float64]

# Fewer labels say nothing of a worker; a flag needs this probability; one class this often is "always".
MIN_LABELS = 5
LEVEL = 0.9
ALWAYS = 0.95
# A random worker follows the others by less than this share of what the typical worker does.
TYPICAL = 0.65
# To be called an adversary takes more: among many guessers some are unlucky.
ADVERSARIAL = 0.999
# Pseudo-workers of each kind: spammers, workers like most, workers of their own kind, experts on one class.
PSEUDO = np.array([0.5, 2.0, 0.3, 0.3])
# Pseudo-labels a cell of a worker of their own kind: below one, rows that lean to few classes.
FREE = 0.5
# Pseudo-labels a class behind the honest workers' mean confusion; rounds of the two loops.
STRENGTHS = (2.0, 5.0, 10.0, 20.0)
STEPS, ROUNDS = 12, 4


@dataclass(frozen=True)
class Suspicion:
    """Of each worker: the log odds spammer : honest of their labels alone, the probability with the crowd's share
    of spammers, and that share."""

    log_odds: F8
    probability: F8
    share: float


def suspicion(annotations: Annotations, belief: F8) -> Suspicion:
    """How probable is it that each worker is a spammer, given belief[row, class] about the row's task without them?

    Labels of tasks that nobody else labelled tell nothing: they do not count.
    """
    told = _told(annotations, belief)
    annotations, belief = (annotations, belief) if told.all() else (annotations.take(told), belief[told])
    n, k = annotations.labels_per_worker, annotations.n_classes
    judged = n >= MIN_LABELS
    if k < 2 or not judged.any():
        return Suspicion(np.zeros(len(n)), np.full(len(n), 0.1), 0.1)
    said = np.bincount(annotations.cell, minlength=len(n) * k).reshape(len(n), k).astype(np.float64)
    spam = log_rows(said, np.full(said.shape[1], FREE), axis=1)
    free, table = _informative(annotations, belief, np.full((1, k, k), FREE))
    expert = _experts(annotations, belief)
    share = PSEUDO / PSEUDO.sum()
    probability = np.full(len(n), 0.1)
    for _ in range(ROUNDS):
        trust = np.where(judged, 1 - probability, 0.0)
        mean = np.einsum("w,wkl->kl", trust, table) + np.eye(k) + 1.0 / k
        mean /= mean.sum(axis=1, keepdims=True)
        usual, _ = _informative(annotations, belief, (_strength(table[trust > 0.5], mean) * mean + 0.1)[None])
        evidence = np.stack([spam, usual, free, expert], axis=1)
        for _ in range(20):
            each = normalise_rows(evidence + np.log(share))[0]
            share = each[judged].sum(axis=0) + PSEUDO
            share /= share.sum()
        probability = each[:, 0]
    honest = np.log(share[1:] / share[1:].sum())
    odds = spam - np.logaddexp.reduce(evidence[:, 1:] + honest, axis=1)
    return Suspicion(odds, probability, float(share[0]))


def _told(annotations: Annotations, belief: F8) -> npt.NDArray[np.bool_]:
    """Rows of whose task something is known without the worker: others labelled it, or the truth was given."""
    task, m = annotations.task.astype(np.int64), annotations.n_workers
    workers = np.bincount(np.unique(task * m + annotations.worker) // max(m, 1), minlength=annotations.n_tasks)
    return np.asarray((workers[task] > 1) | (belief.max(axis=1, initial=0.0) == 1))


def _strength(table: F8, mean: F8) -> float:
    """How alike the honest workers are: pseudo-labels behind each row of their mean, by the evidence of their counts.

    Expected counts are smoother than real ones and would make everybody alike, so there is a bound.
    """
    scores = [sum(log_evidence(table[:, k], mean[k], s) for k in range(len(mean))) for s in STRENGTHS]
    return STRENGTHS[int(np.argmax(scores))]


def _experts(annotations: Annotations, belief: F8) -> F8:
    """Evidence for a worker who tells one class from the rest and looks no further, whichever class it is.

    Among many labels of common classes such an expert on a rare one looks like a spammer; with few tasks of the rare
    class behind them nobody can tell, and they must not be accused.
    """
    k = annotations.n_classes
    if k == 2:  # to tell one class from the rest is then to tell them all
        return np.full(annotations.n_workers, -np.inf)
    prior = np.full((1, 2, k), FREE)
    each = [_informative(annotations, np.stack([belief[:, c], 1 - belief[:, c]], axis=1), prior)[0] for c in range(k)]
    return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(k))


def _informative(annotations: Annotations, belief: F8, prior: F8) -> tuple[F8, F8]:
    """`_honest` under the prior times the squared distance between its rows: rows that are alike are a spammer's."""
    evidence, counts = _honest(annotations, belief, prior)
    return evidence + np.log(_apart(counts + prior) / _apart(prior)), counts


def _apart(rows: F8) -> F8:
    """Expected squared distance between two rows, summed over all pairs; rows[worker, true, observed] of Dirichlets."""
    total = rows.sum(axis=2, keepdims=True)
    mean = rows / total
    spread = (mean * (1 - mean) / (total + 1)).sum(axis=(1, 2))
    n = rows.shape[1]
    gaps = n * (mean**2).sum(axis=(1, 2)) - (mean.sum(axis=1) ** 2).sum(axis=1)
    return np.asarray((n - 1) * spread + np.maximum(gaps, 0.0))


def _honest(annotations: Annotations, belief: F8, prior: F8) -> tuple[F8, F8]:
    """Evidence (variational bound) of each worker's labels with rows of their own, and the counts [true, observed]."""
    m, k, n_rows = annotations.n_workers, annotations.n_classes, belief.shape[1]
    resp, counts = belief, np.zeros((m, n_rows, k))
    for _ in range(STEPS):
        for true in range(n_rows):
            counts[:, true] = np.bincount(annotations.cell, weights=resp[:, true], minlength=m * k).reshape(m, k)
        theta = np.exp(log_mean(counts + prior, axis=2))
        rows = belief * theta.transpose(0, 2, 1).reshape(m * k, n_rows)[annotations.cell]
        total = np.maximum(rows.sum(axis=1), 1e-300)
        resp = rows / total[:, None]
    gain = np.bincount(annotations.worker, weights=np.log(total), minlength=m)
    return gain - divergences(counts + prior, prior, axis=2).sum(axis=1), counts
