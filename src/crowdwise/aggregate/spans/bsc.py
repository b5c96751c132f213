"""BSC-seq: a hidden chain of labels, and workers whose label depends on the true one and on their own label before it.

    z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k, y_w(i-1) = p ~ Cat(A[w, p, ., k]),  all rows with Dirichlet priors

Simpson & Gurevych (2019), A Bayesian approach for sequence tagging with crowds, EMNLP, doi:10.18653/v1/D19-1101; by
variational Bayes. What cannot be (a span that goes on without having begun) has no mass, so it is never emitted. A
worker who drags spans on too long, or cuts them short, is understood, unlike in `hmm_crowd`. Fails with few answers per
worker and many tags: a worker has (2 · tags + 1)³ numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core.params import Count, NonNegative, Positive
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...maths.spans.chain_models import bsc
from .base import Arrays, Learnt, SpanAggregator, cut_by_words
from .chains import arrays_of, decoded, posterior, refuse_too_large
from .found import Judged
from .work import Work


@dataclass(frozen=True, kw_only=True)
class BSC(SpanAggregator):
    """`prior` pseudo-counts in every cell, `prior_right` more where label and truth agree (the authors have 1 and 1,
    which with several tags means workers who are mostly wrong). It stops after `max_iter` rounds, or when no posterior
    moves by more than `tol`; 20 rounds are the authors' choice.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("spans_plain", tasks=40, workers=8, seed=1)
    >>> cw.evaluate(BSC().fit(crowd.votes), crowd.truth_table()).f1 > 0.8
    True
    """

    name: ClassVar[str] = "bsc"
    units: Literal["auto", "words", "ends"] = "auto"
    prior: Positive = 0.1
    prior_right: NonNegative = 1.0
    max_iter: Count = 20
    tol: NonNegative = 1e-4

    def by_words(self, votes: Votes[Spans]) -> bool:
        """As `units` says."""
        return cut_by_words(self.units, votes)

    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:  # noqa: ARG002
        """Variational Bayes; a fixed number of rounds is part of the method, so nothing is said when they are over."""
        refuse_too_large(self.name, work, previous=True)
        found = bsc(work.chain, prior=self.prior, prior_right=self.prior_right, max_iter=self.max_iter, tol=self.tol)
        return Learnt(arrays_of(found), found.trace, len(found.trace), True)

    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """Forward and backward, then the best path that begins every span."""
        return decoded(work.units, posterior(work, arrays), work.n_tags)
