"""Free texts: transcripts, translations, answers.

Public as `crowdwise.texts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Texts as Texts
    from .answers import text_votes as text_votes
    from .estimate import TextEstimate as TextEstimate
    from .estimate import TextWorkers as TextWorkers
    from .fitting import TextAggregator as TextAggregator
    from .methods import Medoid as Medoid
    from .methods import Rover as Rover
    from .methods import TextCombined as TextCombined
    from .methods import WeightedMedoid as WeightedMedoid
    from .methods import WeightedRover as WeightedRover

__getattr__, __dir__, __all__ = attach(__name__, __file__)
