"""Rankings of several items.

Public as `crowdwise.rankings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Rankings as Rankings
    from .answers import ranking_votes as ranking_votes
    from .estimate import RankingEstimate as RankingEstimate
    from .estimate import RankingWorkers as RankingWorkers
    from .fitting import RankingAggregator as RankingAggregator
    from .methods import Borda as Borda
    from .methods import Copeland as Copeland
    from .methods import Kemeny as Kemeny
    from .methods import Mallows as Mallows
    from .methods import PlackettLuce as PlackettLuce
    from .methods import Podium as Podium

__getattr__, __dir__, __all__ = attach(__name__, __file__)
