"""The default for spans: a weighted vote on passages, an average of three unlike methods on names and the like.

Where the median span is longer than four words, places of one span are one decision, and models that take them for many
lose to a vote: `span_vote`. Shorter spans are judged by the average of `bsc`, Dawid-Skene on states and the weighted
vote, decoded so that every span begins: they fail in different crowds, and their average is never far from the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.errors import ParameterError
from ...core.params import Count
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...maths.spans.chain import shares_of_states
from ...maths.spans.chain_models import bsc
from ...maths.spans.rows import F8
from .base import BY_WORKER, Arrays, Learnt, SpanAggregator, cut_by_words
from .chains import arrays_of, decoded_inside_first, posterior, refuse_too_large
from .found import Judged
from .tokens import learn_confusions, unit_posterior
from .voting import ROUNDS, voted, weights_by_f1
from .work import LONG, Work, usual_length


@dataclass(frozen=True, kw_only=True)
class SpanCombined(SpanAggregator):
    """`spans` says which of the two it is; auto looks at the median length in words.

    >>> import crowdwise as cw
    >>> votes = cw.span_votes([1, 1, 1], ["a", "b", "c"], [[[0, 3, "PER"]], [[0, 3, "PER"]], [[4, 9, "LOC"]]])
    >>> SpanCombined().fit(votes).spans
    [[(0, 3, 'PER')]]
    """

    name: ClassVar[str] = "span_combined"
    calibrates: ClassVar[bool] = True
    spans: Literal["auto", "long", "short"] = "auto"
    max_iter: Count = 500

    def by_words(self, votes: Votes[Spans]) -> bool:
        """Words of short spans in texts that are known; else the ends of all spans."""
        return not self._long(votes) and cut_by_words("auto", votes)

    def _long(self, votes: Votes[Spans]) -> bool:
        return self.spans == "long" or (self.spans == "auto" and usual_length(votes) > LONG)

    def learn(self, work: Work, votes: Votes[Spans]) -> Learnt:
        """The weights of the vote and, of short spans, confusions and the chain."""
        weight, _ = weights_by_f1(work, 2.0)
        arrays = {f"{BY_WORKER}weight": weight}
        long = f"the median span has {usual_length(votes):.3g} words"
        if self._long(votes):
            return Learnt(arrays, n_iter=ROUNDS, reason=f"a weighted vote, as {long}")
        confusion, prior, _, n_iter, settled = learn_confusions(work, "states", self.max_iter)
        arrays |= {f"{BY_WORKER}confusion": confusion, "prior": prior}
        reason = f"the average of bsc, Dawid-Skene and a weighted vote, as {long}"
        try:
            refuse_too_large("bsc", work, previous=True)
            arrays |= arrays_of(bsc(work.chain, prior=0.1, prior_right=1.0, max_iter=20, tol=1e-4))
        except ParameterError:
            reason = f"the average of Dawid-Skene and a weighted vote (bsc would not fit into memory), as {long}"
        return Learnt(arrays, n_iter=n_iter, converged=settled, reason=reason)

    def judge(self, work: Work, arrays: Arrays) -> Judged:
        """The vote, or the average decoded."""
        weight = np.asarray(arrays[f"{BY_WORKER}weight"])
        if "prior" not in arrays:
            return voted(work, weight, 0.5, self.seed)
        parts = [state_shares(work, weight)]
        parts.append(unit_posterior(work, "states", np.asarray(arrays[f"{BY_WORKER}confusion"]), arrays["prior"]))
        if "move" in arrays:
            parts.append(posterior(work, arrays))
        return decoded_inside_first(work.units, np.asarray(np.mean(parts, axis=0)), work.n_tags)


def state_shares(work: Work, weight: F8) -> F8:
    """The weighted vote on states."""
    from dataclasses import replace

    chain = replace(work.chain, weight=work.weight * weight[work.worker])
    share = shares_of_states(chain, 0.0 if len(work.cells.label) == 0 else 1e-9)
    silent = np.bincount(work.cells.unit, minlength=len(work.units)) == 0
    share[silent & (work.known < 0)] = np.eye(share.shape[1])[0]
    return share
