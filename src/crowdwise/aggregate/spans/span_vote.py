"""Weighted vote on spans: a worker's vote counts as the square of their F1 against the others.

    F1_w: of what w marks against the vote of all the others, over all tasks of w;   weight_w = F1_w ^ power

The others' vote is itself weighted, in a few rounds. The places of a long passage are one decision and no independent
evidence, which a vote does not take them for. Agreement that the place in the text alone explains (marks that go as
well with the vote on other texts) is taken off first. Fails where those who agree most are not those who look: many
who copy each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...core.params import NonNegative, Share
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from .base import BY_WORKER, Arrays, Learnt, SpanAggregator
from .found import Judged
from .voting import ROUNDS, voted, weights_by_f1
from .work import Work


@dataclass(frozen=True, kw_only=True)
class SpanVote(SpanAggregator):
    """`cut` is the share of the weight that must be exceeded, `power` how much better workers count for more.

    >>> import crowdwise as cw
    >>> votes = cw.span_votes([1, 1, 1], ["a", "b", "c"], [[[0, 9]], [[4, 9]], [[4, 12]]])
    >>> SpanVote().fit(votes).spans
    [[(4, 9, '')]]
    """

    name: ClassVar[str] = "span_vote"
    cut: Share = 0.5
    power: NonNegative = 2.0

    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:  # noqa: ARG002
        """Everybody's weight."""
        return Learnt({f"{BY_WORKER}weight": weights_by_f1(work, self.power)[0]}, n_iter=ROUNDS)

    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """The vote."""
        return voted(work, arrays[f"{BY_WORKER}weight"], self.cut, self.seed)
