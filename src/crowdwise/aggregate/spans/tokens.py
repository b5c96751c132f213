"""Dawid-Skene on single units: what each is, apart from its neighbours."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from ...kinds.classes.annotations import Annotations
from ...maths.spans.rows import F8
from ..confusion.hierarchical import Hierarchical
from .work import Work

# What is said of a unit: its tag, or its state in a chain (begin and inside apart).
Said = Literal["tags", "states"]


def unit_annotations(work: Work, said: Said) -> Annotations:
    """Every cell as an annotation of its unit."""
    label = work.cells.tag if said == "tags" else work.cells.label
    k = 1 + work.n_tags if said == "tags" else 1 + 2 * work.n_tags
    order = np.argsort(work.cells.unit, kind="stable")
    row = work.cells.row[order]
    return Annotations(
        work.cells.unit[order].astype(np.int32),
        work.worker[row],
        label[order].astype(np.int32),
        tasks=pl.Series("task", np.arange(len(work.units))),
        workers=pl.Series("worker", np.arange(work.n_workers)),
        classes=pl.Series("label", np.arange(k)),
        weight=work.weight[row] if work.weighted else None,
    )


def learn_confusions(work: Work, said: Said, max_iter: int) -> tuple[F8, F8, F8, int, bool]:
    """(confusion[worker, true, said], prior[true], trace, rounds, settled)."""
    k = 1 + work.n_tags if said == "tags" else 1 + 2 * work.n_tags
    votes = unit_annotations(work, said)
    known = work.known if said == "tags" else work.known_state
    if not len(votes):
        return np.full((work.n_workers, k, k), 1 / k), np.full(k, 1 / k), np.empty(0), 0, True
    gold = None
    if (known >= 0).any():
        told = np.flatnonzero(known >= 0)
        gold = pl.DataFrame({"task": told, "label": known[told]})
    import warnings

    from ...core.errors import CrowdwiseWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        found = Hierarchical(max_iter=max_iter).fit(votes, gold=gold)
    assert found.confusion is not None
    return found.confusion, found.class_prior, found.trace, found.n_iter, found.converged


def unit_posterior(work: Work, said: Said, confusion: F8, prior: F8) -> F8:
    """p[unit, true] by workers with these confusions."""
    k = len(prior)
    label = work.cells.tag if said == "tags" else work.cells.label
    known = work.known if said == "tags" else work.known_state
    log_a = np.log(np.maximum(confusion, 1e-12))
    worker = work.worker[work.cells.row]
    weight = work.weight[work.cells.row]
    out = np.empty((len(work.units), k))
    for j in range(k):
        out[:, j] = np.bincount(work.cells.unit, weights=weight * log_a[worker, j, label], minlength=len(out))
    out += np.log(np.maximum(prior, 1e-12))
    out -= out.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    silent = np.bincount(work.cells.unit, minlength=len(out)) == 0
    out[silent] = np.eye(k)[0]  # nobody has read it: nothing is marked
    told = known >= 0
    out[told] = np.eye(k)[known[told]]
    return out
