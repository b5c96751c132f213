"""HMM-Crowd: a hidden chain of labels over the text, and a confusion matrix of each worker, by EM.

    z_1 ~ start,  z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k ~ Cat(confusion[w, k])

Labels are outside, begin and inside of each tag. Nguyen, Wallace, Li, Nenkova & Lease (2017), Aggregating and
predicting sequence labels from crowd annotations, ACL, doi:10.18653/v1/P17-1028 (without features of the words). With
uniform moves it is Dawid-Skene with a uniform prior. Fails with long passages cut at words: inside one worker's span
the words repeat one decision, and the chain takes each for new evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...core.params import Count, NonNegative, Positive
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...maths.spans.chain_models import hmm_crowd
from .base import Arrays, Learnt, SpanAggregator, cut_by_words
from .chains import arrays_of, decoded, posterior, refuse_too_large
from .found import Judged
from .work import Work


@dataclass(frozen=True, kw_only=True)
class HMMCrowd(SpanAggregator):
    """`smoothing` pseudo-counts stand in every cell; `moves="uniform"` forgets the neighbours. Ends when no posterior
    moves by more than `tol`.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("spans_plain", tasks=40, workers=8, seed=1)
    >>> cw.evaluate(HMMCrowd().fit(crowd.votes), crowd.truth_table()).f1 > 0.8
    True
    """

    name: ClassVar[str] = "hmm_crowd"
    units: Literal["auto", "words", "ends"] = "auto"
    smoothing: Positive = 0.1
    moves: Literal["learnt", "uniform"] = "learnt"
    max_iter: Count = 200
    tol: NonNegative = 1e-3

    def by_words(self, votes: Votes[Spans]) -> bool:
        """As `units` says."""
        return cut_by_words(self.units, votes)

    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:  # noqa: ARG002
        """EM."""
        refuse_too_large(self.name, work, previous=False)
        found = hmm_crowd(work.chain, smoothing=self.smoothing, learn_moves=self.moves == "learnt",
                          max_iter=self.max_iter, tol=self.tol)  # fmt: skip
        return Learnt(arrays_of(found), found.trace, len(found.trace), found.converged)

    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """Forward and backward, then the best path that begins every span."""
        return decoded(work.units, posterior(work, arrays), work.n_tags)
