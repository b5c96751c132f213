"""Outlines of one object in an image.

Public as `crowdwise.outlines`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Outlines as Outlines
    from .answers import outline_votes as outline_votes
    from .estimate import OutlineEstimate as OutlineEstimate
    from .estimate import OutlineWorkers as OutlineWorkers
    from .fitting import OutlineAggregator as OutlineAggregator
    from .methods import OutlineVote as OutlineVote
    from .methods import PixelRasa as PixelRasa
    from .methods import PixelVote as PixelVote
    from .methods import Staple as Staple

__getattr__, __dir__, __all__ = attach(__name__, __file__)
