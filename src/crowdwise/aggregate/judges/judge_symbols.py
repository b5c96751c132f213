"""Judges' symbols: Dawid-Skene over what was said and how firmly, for judges with confidences or repeats, without gold.

    y_n ~ Cat(class_prior),   (label, strength) of judge m on task n | y_n = k ~ Cat(A[m, k, :])

The strength is the tercile of the stated confidence among the judge's own; without confidences, whether at least
`agreement` of the repeats say the same. What a strength is worth is learnt, not believed. Without either this is
`dawid_skene`. Fails, as every method without gold, where judges err together.
Dawid & Skene (1979), doi:10.2307/2346806.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive, Share
from ...kinds.classes.annotations import Annotations
from ...maths.judges.symbols import BINS, fit_symbols, prior_counts, terciles
from ...maths.logspace import shares
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from .voices import Voices, voices

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JudgeSymbols(Aggregator):
    """`smoothing` pseudo-counts for each label, `diagonal` more for the right one; `agreement` (0..1) of repeats makes
    a firm verdict.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxyx"], confidence=[0.9, 0.8, 0.9, 0.4])
    >>> JudgeSymbols().fit(votes).to_table()["label"].to_list()[0]
    'x'
    """

    name: ClassVar[str] = "judge_symbols"
    smoothing: Positive = 0.1
    diagonal: NonNegative = 1.0
    agreement: Share = 0.8
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Symbols, then EM from the shares of the votes."""
        said, k = voices(annotations), annotations.n_classes
        bin_, bins = strengths(said, self.agreement)
        counts = prior_counts(said.judge, bin_, said.n_judges, k, bins, self.smoothing, self.diagonal)
        start = shares(said.score(np.ones(len(said.task))))
        start = start if gold is None else gold.clamp(start)
        known = None if gold is None else gold.label.astype(np.int64)
        # A tie between two classes is broken towards neither: a voice that says both says half of each.
        pair, label = np.nonzero(said.share >= said.share.max(axis=1, keepdims=True) - 1e-9)
        weight = 1.0 / np.bincount(pair, minlength=len(said.task))[pair]
        found = fit_symbols(
            said.task[pair],
            said.judge[pair],
            label * bins + bin_[pair],
            weight,
            start,
            counts,
            known,
            self.max_iter,
            self.tol,
        )
        confusion = found.table.reshape(said.n_judges, k, k, bins).sum(axis=3)
        return Solution(
            posterior=found.posterior,
            class_prior=found.prior,
            confusion=confusion / confusion.sum(axis=2, keepdims=True),
            trace=found.trace,
            n_iter=len(found.trace),
            converged=found.converged,
            extra={"strengths": bins},
        )


def strengths(said: Voices, agreement: float) -> tuple[I8, int]:
    """The strength bin of each voice, and how many bins there are."""
    top = said.share.max(axis=1) if len(said.share) else np.zeros(0)
    if np.isfinite(said.confidence).any():
        found = terciles(said.judge, said.confidence * np.where(np.isfinite(said.confidence), top, 1.0), said.n_judges)
        return found, BINS + 1
    if (said.rows > 1).any():
        return (top >= agreement - 1e-9).astype(np.int64), 2
    return np.zeros(len(said.task), dtype=np.int64), 1
