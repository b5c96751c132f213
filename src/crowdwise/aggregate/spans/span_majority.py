"""Majority of spans: a place of the text is marked where more than half of the workers mark it.

    share[u] = (workers who mark u) / (workers who answered);  marked where share[u] > cut, with the most frequent tag

The text is cut at the ends of all spans, so nothing is rounded. Neighbours of one tag form one span, cut where more
than half of those who mark the place begin a span there. Fails where half the crowd or more is careless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Share
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from .base import BY_WORKER, Arrays, Learnt, SpanAggregator
from .found import Judged
from .voting import voted
from .work import Work


@dataclass(frozen=True, kw_only=True)
class SpanMajority(SpanAggregator):
    """Every worker has one vote; `cut` is the share that must be exceeded.

    >>> import crowdwise as cw
    >>> votes = cw.span_votes([1, 1, 1], ["a", "b", "c"], [[[0, 9]], [[4, 9]], [[4, 12]]])
    >>> SpanMajority().fit(votes).spans
    [[(4, 9, '')]]
    """

    name: ClassVar[str] = "span_majority"
    cut: Share = 0.5

    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:  # noqa: ARG002
        """Nothing: all workers are alike."""
        return Learnt({f"{BY_WORKER}weight": np.ones(work.n_workers)})

    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """The vote."""
        return voted(work, arrays[f"{BY_WORKER}weight"], self.cut, self.seed)
