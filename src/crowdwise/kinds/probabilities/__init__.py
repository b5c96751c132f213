"""Probabilities that the answer is yes.

Public as `crowdwise.probabilities`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Probabilities as Probabilities
    from .answers import probability_votes as probability_votes
    from .estimate import ProbabilityEstimate as ProbabilityEstimate
    from .estimate import ProbabilityWorkers as ProbabilityWorkers
    from .fitting import ProbabilityAggregator as ProbabilityAggregator
    from .methods import Extremized as Extremized
    from .methods import Followed as Followed
    from .methods import MeanProbability as MeanProbability
    from .methods import MedianProbability as MedianProbability
    from .methods import PooledProbabilities as PooledProbabilities
    from .methods import Signals as Signals

__getattr__, __dir__, __all__ = attach(__name__, __file__)
