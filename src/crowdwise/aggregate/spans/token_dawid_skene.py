"""Token-wise Dawid-Skene: every piece of the text is a task of its own, tags and "outside" are its classes.

    z_u ~ Cat(prior),   y_wu | z_u = k ~ Cat(confusion[w, k]),   confusion[w] shrunk toward the crowd's (`hierarchical`)

Neighbours are forgotten: nothing says that a span goes on. Nguyen et al. (2017), ACL, doi:10.18653/v1/P17-1028, have it
as a baseline; Dawid & Skene (1979), doi:10.2307/2346806. With long passages cut at words it grows too sure, as the
words of one span repeat one decision; cut at the ends of spans (`units`) it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.params import Count
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from .base import BY_WORKER, Arrays, Learnt, SpanAggregator, cut_by_words
from .found import Judged
from .tokens import learn_confusions, unit_posterior
from .voting import split_places
from .work import Work


@dataclass(frozen=True, kw_only=True)
class TokenDawidSkene(SpanAggregator):
    """`units`: cut texts at words, at the ends of all spans, or (auto) at words where texts are known and spans short.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("spans_plain", tasks=40, workers=8, seed=1)
    >>> cw.evaluate(TokenDawidSkene().fit(crowd.votes), crowd.truth_table()).f1 > 0.8
    True
    """

    name: ClassVar[str] = "token_dawid_skene"
    units: Literal["auto", "words", "ends"] = "auto"
    max_iter: Count = 500

    def by_words(self, votes: Votes[Spans]) -> bool:
        """As `units` says."""
        return cut_by_words(self.units, votes)

    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:  # noqa: ARG002
        """Confusions of tags and outside."""
        confusion, prior, trace, n_iter, settled = learn_confusions(work, "tags", self.max_iter)
        return Learnt({f"{BY_WORKER}confusion": confusion, "prior": prior}, trace, n_iter, settled)

    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """The likeliest tag of every unit by itself."""
        p = unit_posterior(work, "tags", arrays[f"{BY_WORKER}confusion"], arrays["prior"])
        return Judged(p[:, 1:], p.argmax(axis=1).astype(np.int64), split_places(work, np.ones(work.n_workers)))
