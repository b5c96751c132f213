"""Which of two items is more like a third.

Public as `crowdwise.triplets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Triplets as Triplets
    from .answers import triplet_votes as triplet_votes
    from .estimate import TripletEstimate as TripletEstimate
    from .estimate import TripletWorkers as TripletWorkers
    from .fitting import TripletAggregator as TripletAggregator
    from .methods import CrowdEmbedding as CrowdEmbedding
    from .methods import TripletEmbedding as TripletEmbedding

__getattr__, __dir__, __all__ = attach(__name__, __file__)
