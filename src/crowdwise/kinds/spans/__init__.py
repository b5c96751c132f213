"""Spans of a text, each with a class.

Public as `crowdwise.spans`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Spans as Spans
    from .answers import span_votes as span_votes
    from .estimate import SpanEstimate as SpanEstimate
    from .estimate import SpanWorkers as SpanWorkers
    from .fitting import SpanAggregator as SpanAggregator
    from .learn import CrowdTagger as CrowdTagger
    from .methods import BSC as BSC
    from .methods import HMMCrowd as HMMCrowd
    from .methods import SpanCombined as SpanCombined
    from .methods import SpanMajority as SpanMajority
    from .methods import SpanVote as SpanVote
    from .methods import TokenDawidSkene as TokenDawidSkene

__getattr__, __dir__, __all__ = attach(__name__, __file__)
