"""Classes that have an order (ratings from 1 to 5, grades of relevance).

Public as `crowdwise.ordered`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .fitting import OrderedAggregator as OrderedAggregator
    from .methods import OrdinalCommittee as OrdinalCommittee
    from .methods import OrdinalPrior as OrdinalPrior
    from .methods import OrdinalSplit as OrdinalSplit
    from .methods import OrdinalTypes as OrdinalTypes

__getattr__, __dir__, __all__ = attach(__name__, __file__)
