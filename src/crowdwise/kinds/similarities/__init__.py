"""Whether two items are the same or different.

Public as `crowdwise.similarities`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Similarities as Similarities
    from .answers import partition_votes as partition_votes
    from .answers import similarity_votes as similarity_votes
    from .estimate import SimilarityEstimate as SimilarityEstimate
    from .estimate import SimilarityWorkers as SimilarityWorkers
    from .fitting import SimilarityAggregator as SimilarityAggregator
    from .learn import CrowdClusterer as CrowdClusterer
    from .methods import Clusters as Clusters
    from .methods import CrowdClusters as CrowdClusters
    from .methods import FreeLogits as FreeLogits
    from .methods import SpectralClusters as SpectralClusters

__getattr__, __dir__, __all__ = attach(__name__, __file__)
