"""Sets of classes (several labels per task).

Public as `crowdwise.sets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Sets as Sets
    from .answers import set_votes as set_votes
    from .estimate import SetPosterior as SetPosterior
    from .estimate import SetWorkers as SetWorkers
    from .fitting import SetAggregator as SetAggregator
    from .methods import BinaryRelevance as BinaryRelevance
    from .methods import JointSets as JointSets
    from .methods import SetCoin as SetCoin
    from .methods import SetMajority as SetMajority

__getattr__, __dir__, __all__ = attach(__name__, __file__)
