"""Boxes drawn on an image.

Public as `crowdwise.boxes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Boxes as Boxes
    from .answers import box_votes as box_votes
    from .estimate import BoxEstimate as BoxEstimate
    from .estimate import BoxWorkers as BoxWorkers
    from .fitting import BoxAggregator as BoxAggregator
    from .methods import BoxClusters as BoxClusters
    from .methods import BoxHungarian as BoxHungarian
    from .methods import BoxLatentClass as BoxLatentClass
    from .methods import BoxMean as BoxMean

__getattr__, __dir__, __all__ = attach(__name__, __file__)
