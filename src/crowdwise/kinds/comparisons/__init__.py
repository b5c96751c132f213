"""Which of two items is better.

Public as `crowdwise.comparisons`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Comparisons as Comparisons
    from .answers import comparison_votes as comparison_votes
    from .estimate import ComparisonEstimate as ComparisonEstimate
    from .estimate import ComparisonWorkers as ComparisonWorkers
    from .fitting import ComparisonAggregator as ComparisonAggregator
    from .learn import CrowdRanker as CrowdRanker
    from .methods import BradleyTerry as BradleyTerry
    from .methods import CrowdBT as CrowdBT
    from .methods import Davidson as Davidson
    from .methods import Elo as Elo
    from .methods import NoisyBT as NoisyBT
    from .methods import RankCentrality as RankCentrality
    from .methods import Tournament as Tournament
    from .methods import WinRate as WinRate

__getattr__, __dir__, __all__ = attach(__name__, __file__)
