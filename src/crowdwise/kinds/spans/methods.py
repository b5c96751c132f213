""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.errors import ParameterError
from ...core.params import Count, NonNegative, Positive, Share
from ...core.votes import Votes
from .answers import Spans
from .fitting import (
    BY_WORKER,
    LONG,
    ROUNDS,
    Arrays,
    Judged,
    Learnt,
    SpanAggregator,
    Work,
    arrays_of,
    cut_by_words,
    decoded,
    decoded_inside_first,
    learn_confusions,
    posterior,
    refuse_too_large,
    split_places,
    unit_posterior,
    usual_length,
    voted,
    weights_by_f1,
)
from .maths import F8, bsc, hmm_crowd, shares_of_states


@dataclass(frozen=True, kw_only=True)
class BSC(SpanAggregator):
    """BSC-seq: a hidden chain of labels, and workers whose label depends on the true one and on their own label before
    it.

        z_i | z_{i-1} ~ move[z_{i-1}], y_wi | z_i = k, y_w(i-1) = p ~ Cat(A[w, p, ., k]), all rows with Dirichlet priors

    Simpson & Gurevych (2019), A Bayesian approach for sequence tagging with crowds, EMNLP, doi:10.18653/v1/D19-1101;
    by variational Bayes. What cannot be (a span that goes on without having begun) has no mass, so it is never
    emitted. A worker who drags spans on too long, or cuts them short, is understood, unlike in `hmm_crowd`. Fails
    with few answers per worker and many tags: a worker has (2 · tags + 1)³ numbers.

    `prior` pseudo-counts in every cell, `prior_right` more where label and truth agree (the authors have 1 and 1,
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


@dataclass(frozen=True, kw_only=True)
class HMMCrowd(SpanAggregator):
    """HMM-Crowd: a hidden chain of labels over the text, and a confusion matrix of each worker, by EM.

        z_1 ~ start,  z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k ~ Cat(confusion[w, k])

    Labels are outside, begin and inside of each tag. Nguyen, Wallace, Li, Nenkova & Lease (2017), Aggregating and
    predicting sequence labels from crowd annotations, ACL, doi:10.18653/v1/P17-1028 (without features of the words).
    With uniform moves it is Dawid-Skene with a uniform prior. Fails with long passages cut at words: inside one
    worker's span the words repeat one decision, and the chain takes each for new evidence.

    `smoothing` pseudo-counts stand in every cell; `moves="uniform"` forgets the neighbours. Ends when no posterior
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


@dataclass(frozen=True, kw_only=True)
class SpanCombined(SpanAggregator):
    """The default for spans: a weighted vote on passages, an average of three unlike methods on names and the like.

    Where the median span is longer than four words, places of one span are one decision, and models that take them
    for many lose to a vote: `span_vote`. Shorter spans are judged by the average of `bsc`, Dawid-Skene on states and
    the weighted vote, decoded so that every span begins: they fail in different crowds, and their average is never
    far from the best.

    `spans` says which of the two it is; auto looks at the median length in words.

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


@dataclass(frozen=True, kw_only=True)
class SpanMajority(SpanAggregator):
    """Majority of spans: a place of the text is marked where more than half of the workers mark it.

        share[u] = (workers who mark u) / (workers who answered);  marked where share[u] > cut, with the most frequent
        tag

    The text is cut at the ends of all spans, so nothing is rounded. Neighbours of one tag form one span, cut where
    more than half of those who mark the place begin a span there. Fails where half the crowd or more is careless.

    Every worker has one vote; `cut` is the share that must be exceeded.

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


@dataclass(frozen=True, kw_only=True)
class SpanVote(SpanAggregator):
    """Weighted vote on spans: a worker's vote counts as the square of their F1 against the others.

        F1_w: of what w marks against the vote of all the others, over all tasks of w;   weight_w = F1_w ^ power

    The others' vote is itself weighted, in a few rounds. The places of a long passage are one decision and no
    independent evidence, which a vote does not take them for. Agreement that the place in the text alone explains
    (marks that go as well with the vote on other texts) is taken off first. Fails where those who agree most are not
    those who look: many who copy each other.

    `cut` is the share of the weight that must be exceeded, `power` how much better workers count for more.

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


@dataclass(frozen=True, kw_only=True)
class TokenDawidSkene(SpanAggregator):
    """Token-wise Dawid-Skene: every piece of the text is a task of its own, tags and "outside" are its classes.

        z_u ~ Cat(prior), y_wu | z_u = k ~ Cat(confusion[w, k]), confusion[w] shrunk toward the crowd's (`hierarchical`)

    Neighbours are forgotten: nothing says that a span goes on. Nguyen et al. (2017), ACL, doi:10.18653/v1/P17-1028,
    have it as a baseline; Dawid & Skene (1979), doi:10.2307/2346806. With long passages cut at words it grows too
    sure, as the words of one span repeat one decision; cut at the ends of spans (`units`) it does not.

    `units`: cut texts at words, at the ends of all spans, or (auto) at words where texts are known and spans short.

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
