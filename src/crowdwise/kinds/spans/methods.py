"""Methods for spans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ...core.arrays import F8
from ...core.errors import ParameterError
from ...core.estimate import Arrays
from ...core.params import Count, NonNegative, Positive, Share
from ...core.votes import Votes
from .answers import Spans
from .fitting import (
    BY_WORKER,
    LONG,
    ROUNDS,
    DecodedUnits,
    LayerFit,
    SpanAggregator,
    SpanLayer,
    arrays_of,
    decoded,
    decoded_inside_first,
    fit_confusions,
    median_length,
    posterior,
    refuse_too_large,
    split_places,
    unit_posterior,
    use_words,
    vote_units,
    weights_by_f1,
)
from .maths import bsc, hmm_crowd, shares_of_states


@dataclass(frozen=True, kw_only=True)
class UnitsAggregator(SpanAggregator):
    """Base class of methods that cut texts at words, at the ends of all spans, or at either as the votes suggest.

    Args:
        units: "words" cuts texts at words and needs all texts, "ends" at the ends of all spans; "auto" is "words" if
            all texts are known and the median span has at most four words.
    """

    units: Literal["auto", "words", "ends"] = "auto"

    def by_words(self, votes: Votes[Spans]) -> bool:
        """Follow the parameter `units`."""
        return use_words(self.units, votes)


@dataclass(frozen=True, kw_only=True)
class ChainAggregator(UnitsAggregator):
    """Base class of methods with a hidden chain of labels over the text."""

    def decode_layer(self, layer: SpanLayer, arrays: Arrays) -> DecodedUnits:
        """Run forward-backward, then find the best path in which every span has a beginning."""
        return decoded(layer.units, posterior(layer, arrays), layer.n_tags)


@dataclass(frozen=True, kw_only=True)
class BSC(ChainAggregator):
    """BSC-seq: a hidden chain of labels, with workers whose label depends on the true and on their previous label.
        z_i | z_{i-1} ~ move[z_{i-1}], y_wi | z_i = k, y_w(i-1) = p ~ Cat(A[w, p, ., k]), all rows with Dirichlet priors

    Simpson & Gurevych (2019), A Bayesian approach for sequence tagging with crowds, EMNLP, doi:10.18653/v1/D19-1101;
    by variational Bayes. Impossible sequences (a span that continues without having begun) have probability 0, so they
    are never returned. Unlike `hmm_crowd`, it models workers who end spans too late or too early. Fails with few
    answers per worker and many tags, since each worker has (2 · tags + 1)³ parameters.

    `prior` is the pseudo-count of every cell, `prior_right` is added where label and truth agree (the authors use 1 and
    1, which with several tags means workers who are mostly wrong). It stops after `max_iter` iterations (20 as in the
    paper), or when no posterior changes by more than `tol`.

    Args:
        prior: Pseudo-count of every cell of the workers' tables and of every transition.
        prior_right: Further pseudo-count where label and truth agree; larger values presume more accurate workers.
        max_iter: Maximum number of iterations; the fit counts as converged when it is reached.
        tol: Largest change of a posterior at which the fit stops.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("spans_plain", tasks=40, workers=8, seed=1)
    >>> cw.evaluate(cw.spans.BSC().fit(crowd.votes), crowd.truth_table()).f1 > 0.8
    True
    """

    name: ClassVar[str] = "bsc"
    prior: Positive = 0.1
    prior_right: NonNegative = 1.0
    max_iter: Count = 20
    tol: NonNegative = 1e-4

    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:  # noqa: ARG002
        """Run variational Bayes. The number of iterations is part of the method, so it always counts as converged."""
        refuse_too_large(self.name, layer, previous=True)
        chain = bsc(layer.chain, prior=self.prior, prior_right=self.prior_right, max_iter=self.max_iter, tol=self.tol)
        return LayerFit(arrays_of(chain), trace=chain.trace, n_iter=len(chain.trace))


@dataclass(frozen=True, kw_only=True)
class HMMCrowd(ChainAggregator):
    """HMM-Crowd: a hidden chain of labels over the text and a confusion matrix per worker, by EM.

        z_1 ~ start,  z_i | z_{i-1} ~ move[z_{i-1}],  y_wi | z_i = k ~ Cat(confusion[w, k])

    Labels are outside, and begin and inside of each tag. Nguyen, Wallace, Li, Nenkova & Lease (2017), Aggregating and
    predicting sequence labels from crowd annotations, ACL, doi:10.18653/v1/P17-1028 (without features of the words).
    With uniform transitions it is Dawid-Skene with a uniform prior. Fails with long passages cut at words: the words
    of a worker's span repeat one decision, but the chain treats each as new evidence.

    `smoothing` is the pseudo-count of every cell; `moves="uniform"` ignores the neighbouring labels. It stops when no
    posterior changes by more than `tol`.

    Args:
        smoothing: Pseudo-count of every cell of the confusion matrices and, if they are learnt, of every transition.
        moves: "learnt" estimates the transitions; "uniform" makes all equally likely, so that neighbours have no
            influence.
        max_iter: Maximum number of EM iterations.
        tol: Largest change of a posterior at which EM stops.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("spans_plain", tasks=40, workers=8, seed=1)
    >>> cw.evaluate(cw.spans.HMMCrowd().fit(crowd.votes), crowd.truth_table()).f1 > 0.8
    True
    """

    name: ClassVar[str] = "hmm_crowd"
    smoothing: Positive = 0.1
    moves: Literal["learnt", "uniform"] = "learnt"
    max_iter: Count = 200
    tol: NonNegative = 1e-3

    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:  # noqa: ARG002
        """Run EM."""
        refuse_too_large(self.name, layer, previous=False)
        chain = hmm_crowd(layer.chain, smoothing=self.smoothing, learn_moves=self.moves == "learnt",
                          max_iter=self.max_iter, tol=self.tol)  # fmt: skip
        return LayerFit(arrays_of(chain), trace=chain.trace, n_iter=len(chain.trace), converged=chain.converged)


@dataclass(frozen=True, kw_only=True)
class SpanCombined(SpanAggregator):
    """The default for spans: a weighted vote for passages, an average of three different methods for short spans.

    If the median span is longer than four words, the words of a span are one decision, and models that treat them as
    many do worse than a vote: `span_vote`. Shorter spans are estimated by the average of `bsc`, Dawid-Skene on states
    and the weighted vote, decoded so that every span has a beginning. The three fail in different crowds, and their
    average is never far from the best.

    `spans` selects one of the two; "auto" uses the median length in words.

    Args:
        spans: "long" uses the weighted vote, "short" the average; "auto" is "long" if the median span is longer than
            four words.
        max_iter: Maximum number of EM iterations of Dawid-Skene on short spans.

    >>> import crowdwise as cw
    >>> votes = cw.spans.span_votes([1, 1, 1], ["a", "b", "c"], [[[0, 3, "PER"]], [[0, 3, "PER"]], [[4, 9, "LOC"]]])
    >>> cw.spans.SpanCombined().fit(votes).spans
    [[(0, 3, 'PER')]]
    """

    name: ClassVar[str] = "span_combined"
    calibrates: ClassVar[bool] = True
    spans: Literal["auto", "long", "short"] = "auto"
    max_iter: Count = 500

    def by_words(self, votes: Votes[Spans]) -> bool:
        """Cut at words if spans are short and the texts are known; otherwise at the ends of all spans."""
        return not self._long(votes) and use_words("auto", votes)

    def _long(self, votes: Votes[Spans]) -> bool:
        return self.spans == "long" or (self.spans == "auto" and median_length(votes) > LONG)

    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:
        """Fit the weights of the vote and, for short spans, the confusion matrices and the chain."""
        weight, _ = weights_by_f1(layer, 2.0)
        arrays = {f"{BY_WORKER}weight": weight}
        long = f"the median span has {median_length(votes):.3g} words"
        if self._long(votes):
            return LayerFit(arrays, n_iter=ROUNDS, reason=f"a weighted vote, as {long}")
        confusion, prior, _, n_iter, converged = fit_confusions(layer, "states", self.max_iter)
        arrays |= {f"{BY_WORKER}confusion": confusion, "prior": prior}
        reason = f"the average of bsc, Dawid-Skene and a weighted vote, as {long}"
        try:
            refuse_too_large("bsc", layer, previous=True)
            arrays |= arrays_of(bsc(layer.chain, prior=0.1, prior_right=1.0, max_iter=20, tol=1e-4))
        except ParameterError:
            reason = f"the average of Dawid-Skene and a weighted vote (bsc would not fit into memory), as {long}"
        return LayerFit(arrays, n_iter=n_iter, converged=converged, reason=reason)

    def decode_layer(self, layer: SpanLayer, arrays: Arrays) -> DecodedUnits:
        """Return the vote or, for short spans, the decoded average."""
        weight = np.asarray(arrays[f"{BY_WORKER}weight"])
        if "prior" not in arrays:
            return vote_units(layer, weight, 0.5, self.seed)
        parts = [state_shares(layer, weight)]
        parts.append(unit_posterior(layer, "states", np.asarray(arrays[f"{BY_WORKER}confusion"]), arrays["prior"]))
        if "move" in arrays:
            parts.append(posterior(layer, arrays))
        return decoded_inside_first(layer.units, np.asarray(np.mean(parts, axis=0)), layer.n_tags)


def state_shares(layer: SpanLayer, weight: F8) -> F8:
    """Return the weighted vote on states."""
    chain = replace(layer.chain, weight=layer.weight * weight[layer.worker])
    share = shares_of_states(chain, 0.0 if len(layer.cells.label) == 0 else 1e-9)
    unanswered = np.bincount(layer.cells.unit, minlength=len(layer.units)) == 0
    share[unanswered & (layer.gold < 0)] = np.eye(share.shape[1])[0]
    return share


@dataclass(frozen=True, kw_only=True)
class SpanMajority(SpanAggregator):
    """Majority vote: a piece of the text is marked if more than half of the workers mark it.

        share[u] = (workers who mark u) / (workers who answered);  marked if share[u] > cut, with the most frequent tag

    The text is cut at the ends of all spans, so nothing is rounded. Adjacent pieces with the same tag form one span,
    which is split where more than half of the workers who mark the piece begin a span. Fails if half of the workers or
    more are careless.

    Every worker has one vote; `cut` is the share that must be exceeded.

    Args:
        cut: Share of the weight that must be exceeded to mark a piece; smaller values mark more.

    >>> import crowdwise as cw
    >>> votes = cw.spans.span_votes([1, 1, 1], ["a", "b", "c"], [[[0, 9]], [[4, 9]], [[4, 12]]])
    >>> cw.spans.SpanMajority().fit(votes).spans
    [[(4, 9, '')]]
    """

    name: ClassVar[str] = "span_majority"
    cut: Share = 0.5

    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:  # noqa: ARG002
        """Give all workers the same weight."""
        return LayerFit({f"{BY_WORKER}weight": np.ones(layer.n_workers)})

    def decode_layer(self, layer: SpanLayer, arrays: Arrays) -> DecodedUnits:
        """Take the weighted vote."""
        return vote_units(layer, arrays[f"{BY_WORKER}weight"], self.cut, self.seed)


@dataclass(frozen=True, kw_only=True)
class SpanVote(SpanMajority):
    """Weighted vote: each worker is weighted by the square of their F1 against the others.

        F1_w: of what w marks against the vote of all the others, over all tasks of w;   weight_w = F1_w ^ power

    The others' vote is itself weighted, in a few rounds. Unlike the chain models, a vote does not treat the words of a
    long passage as independent evidence. Agreement explained by the position in the text alone (marks that agree as
    well with the vote on other texts) is subtracted first. Fails if agreement does not come from reading the texts, for
    example if many workers copy each other.

    `cut` is the share of the weight that must be exceeded, `power` controls how much more better workers count.

    Args:
        power: Exponent of the workers' F1; larger values favour better workers more, and 0 gives equal weights.

    >>> import crowdwise as cw
    >>> votes = cw.spans.span_votes([1, 1, 1], ["a", "b", "c"], [[[0, 9]], [[4, 9]], [[4, 12]]])
    >>> cw.spans.SpanVote().fit(votes).spans
    [[(4, 9, '')]]
    """

    name: ClassVar[str] = "span_vote"
    power: NonNegative = 2.0

    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:  # noqa: ARG002
        """Compute the weight of each worker."""
        return LayerFit({f"{BY_WORKER}weight": weights_by_f1(layer, self.power)[0]}, n_iter=ROUNDS)


@dataclass(frozen=True, kw_only=True)
class TokenDawidSkene(UnitsAggregator):
    """Token-wise Dawid-Skene: every piece of the text is a separate task with the tags and "outside" as classes.

        z_u ~ Cat(prior), y_wu | z_u = k ~ Cat(confusion[w, k]), confusion[w] shrunk toward the crowd's (`hierarchical`)

    Neighbouring pieces are treated as independent. Nguyen et al. (2017), ACL, doi:10.18653/v1/P17-1028, use it as a
    baseline; Dawid & Skene (1979), doi:10.2307/2346806. With long passages cut at words it becomes overconfident, as
    the words of a span repeat one decision; cut at the ends of spans (`units`) it does not.

    `units`: cut texts at words, at the ends of all spans, or ("auto") at words if texts are known and spans are short.

    Args:
        max_iter: Maximum number of EM iterations.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("spans_plain", tasks=40, workers=8, seed=1)
    >>> cw.evaluate(cw.spans.TokenDawidSkene().fit(crowd.votes), crowd.truth_table()).f1 > 0.8
    True
    """

    name: ClassVar[str] = "token_dawid_skene"
    max_iter: Count = 500

    def fit_layer(self, layer: SpanLayer, votes: Votes[Spans]) -> LayerFit:  # noqa: ARG002
        """Fit confusion matrices of the tags and "outside"."""
        confusion, prior, trace, n_iter, converged = fit_confusions(layer, "tags", self.max_iter)
        return LayerFit(
            {f"{BY_WORKER}confusion": confusion, "prior": prior}, trace=trace, n_iter=n_iter, converged=converged
        )

    def decode_layer(self, layer: SpanLayer, arrays: Arrays) -> DecodedUnits:
        """Return the most probable tag of each unit."""
        p = unit_posterior(layer, "tags", arrays[f"{BY_WORKER}confusion"], arrays["prior"])
        return DecodedUnits(p[:, 1:], p.argmax(axis=1).astype(np.int64), split_places(layer, np.ones(layer.n_workers)))
