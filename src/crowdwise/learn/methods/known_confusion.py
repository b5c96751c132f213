"""Known confusion: the classifier under confusion matrices that are given; the oracle of the confusion methods.

    p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   only f is trained

With the true matrices it bounds what ccem, trace and the like can reach; with an aggregator's it is a two-stage method
that keeps every label. It is as good as the matrices are.
Patrini et al. 2017, arXiv:1609.03683 (forward correction), for every worker.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from ...core.errors import DataError, ParameterError
from ...core.result import Result
from ...core.rules import Note
from ...core.vocabulary import lookup, quote
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output

F8 = npt.NDArray[np.float64]


class KnownConfusion(CrowdMethod):
    """`confusion` is worker × true × observed (tensor or array, rows summing to one) or a Result that has it.

    Arrays stand in the order of the annotations' workers and classes; one matrix true × observed serves all workers.
    A Result is taken in its own order here; CrowdClassifier matches it by names (`aligned`).
    """

    name = "known_confusion"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, confusion: Annotated[Any, Note("a result or matrices")] | None = None) -> None:
        super().__init__(crowd)
        self.register_buffer("matrices", _matrices(confusion, crowd))
        self.heard = torch.ones_like(self.heard)  # every worker is known, with labels in training or without

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        found, _ = batch.present
        log_confusion = self.matrices.index_select(0, found).clamp_min(1e-12).log()
        said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + batch.said(log_confusion), dim=1)
        return {"cross_entropy": -batch.mean_over_labels(said)}

    def confusion(self) -> Tensor:
        """The matrices that were given."""
        return self.matrices


def aligned(result: Result, workers: pl.Series, classes: pl.Series) -> Result | F8:
    """The result's confusions in the order of these workers and classes; an unknown name is an error."""
    if result.confusion is None:
        return result
    places = []
    for what, mine, given in (("workers", workers, result.workers), ("classes", classes, result.classes)):
        at, known = lookup(given, mine)
        if not known.all():
            missing = mine.filter(pl.Series(~known))
            raise DataError(f"the result given as confusion= does not know the {what} {quote(missing)}")
        places.append(at)
    worker, label = places
    return result.confusion[np.ix_(worker, label, label)]


def _matrices(confusion: Any, crowd: Crowd) -> Tensor:
    """The given matrices, checked: worker, true, observed."""
    m, k = crowd.n_workers, crowd.n_classes
    if confusion is None:
        if len(crowd):
            raise ParameterError(
                "known_confusion needs the matrices: confusion=array (worker, true, observed) or a Result"
            )
        confusion = np.full((k, k), 1 / k)  # a mere shape: the matrices come from a file
    given = getattr(confusion, "confusion", confusion)
    if given is None:
        raise ParameterError("the result given as confusion= has no confusion matrices; its method estimates none")
    found = given.detach().cpu() if isinstance(given, Tensor) else torch.from_numpy(np.asarray(given, dtype=float))
    if found.shape == (k, k):
        found = found.expand(m, k, k)
    if found.shape != (m, k, k):
        raise DataError(
            f"confusion= has shape {tuple(found.shape)}, but {m} workers and {k} classes need ({m}, {k}, {k})"
        )
    bad = ~((found >= 0).all(2) & ((found.sum(2) - 1).abs() < 1e-4))
    if bad.any():
        worker, true = (int(i) for i in bad.nonzero()[0])
        raise DataError(f"confusion= is no distribution for worker {worker}, class {true}; its rows must sum to one")
    return found.float().clone()
