"""Methods for outlines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.arrays import F8, Mask
from ...core.params import Count, NonNegative, Positive, Share
from ...core.votes import Votes
from .answers import Outlines
from .fitting import MaskEstimate, OutlineAggregator, weights_by_overlap
from .maths import rasa, staple, vote


@dataclass(frozen=True, kw_only=True)
class PixelVote(OutlineAggregator):
    """Majority vote on every pixel.

    A pixel is inside if more than `share` of the image's workers marked it.

    Args:
        share: A pixel is inside if more than this share of the weight marks it; larger values shrink the outlines.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outlines.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, []])
    >>> cw.outlines.PixelVote().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "pixel_vote"
    share: Share = 0.5

    def combine(self, masks: Mask, weight: F8) -> MaskEstimate:
        """Take the weighted majority of each pixel."""
        none = np.full(len(masks), np.nan)
        return MaskEstimate(vote(masks, weight) > self.share + 1e-12, none, none)


@dataclass(frozen=True, kw_only=True)
class OutlineVote(PixelVote):
    """Pixel vote weighted by each worker's overlap with the others over all images.

        IoU_w: mean over w's images of the IoU of w's mask with the vote of the others;   weight_w = IoU_w ^ power

    The others' vote is itself weighted, in a few rounds. Empty images are ignored, and the weight of workers who draw
    the same place on every image is reduced. Fails if agreement does not come from looking at the images, for example
    if many workers copy each other.

    `power` controls how much more better workers count; a pixel is inside if it has more than `share` of the weight.

    Args:
        power: Exponent of the workers' mean IoU; larger values favour better workers more, and 0 gives equal weights.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outlines.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, []])
    >>> cw.outlines.OutlineVote().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "outline_vote"
    calibrates: ClassVar[bool] = True
    power: NonNegative = 3.0

    def worker_weights(self, votes: Votes[Outlines], gold_shapes: dict[int, list[F8]]) -> F8:
        """Return the weight of each worker."""
        return weights_by_overlap(votes, gold_shapes, self.pixels, self.power)


@dataclass(frozen=True, kw_only=True)
class PixelRasa(OutlineAggregator):
    """Pixel vote weighted by the overlap of each worker's mask with the result.

    On each image, workers are weighted by the IoU of their mask with the vote until the weights converge: RASA (Li
    2019) with IoU as the similarity.

    Args:
        max_iter: Maximum number of rounds per image.
        tol: Largest change of a worker's weight at which the rounds stop.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outlines.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, []])
    >>> cw.outlines.PixelRasa().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "pixel_rasa"
    max_iter: Count = 25
    tol: NonNegative = 1e-3

    def combine(self, masks: Mask, weight: F8) -> MaskEstimate:
        """Iterate the weighted vote."""
        none = np.full(len(masks), np.nan)
        return MaskEstimate(rasa(masks, weight, max_iter=self.max_iter, tol=self.tol)[0] > 0.5 + 1e-12, none, none)


@dataclass(frozen=True, kw_only=True)
class Staple(OutlineAggregator):
    """EM on pixels with a sensitivity and a specificity of each worker on each image (STAPLE).

    Simultaneous truth and performance level estimation: Warfield, Zou & Wells (2004), doi:10.1109/TMI.2004.828354.

    Args:
        strength: Number of pseudo-pixels, at a rate of .9, in each worker's sensitivity and specificity; larger values
            make workers more alike.
        max_iter: Maximum number of EM iterations per image.
        tol: Largest change of a pixel's probability at which EM stops.

    >>> import crowdwise as cw
    >>> square = [[[0, 0], [4, 0], [4, 4], [0, 4]]]
    >>> votes = cw.outlines.outline_votes([1, 1, 1], ["a", "b", "c"], [square, square, [[[1, 1], [3, 1], [3, 3]]]])
    >>> cw.outlines.Staple().fit(votes).to_table()["outlines"].to_list()
    ['[[[0, 0], [4, 0], [4, 4], [0, 4]]]']
    """

    name: ClassVar[str] = "staple"
    strength: Positive = 1.0
    max_iter: Count = 100
    tol: NonNegative = 1e-6

    def combine(self, masks: Mask, weight: F8) -> MaskEstimate:
        """Run EM on the masks of one image."""
        fit = staple(masks, weight, max_iter=self.max_iter, tol=self.tol, strength=self.strength)
        return MaskEstimate(fit.belief > 0.5, fit.sensitivity, fit.specificity)
