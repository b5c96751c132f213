"""Numbers: counts, measurements, ratings on a scale.

Public as `crowdwise.numbers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .answers import Numbers as Numbers
    from .answers import number_votes as number_votes
    from .estimate import NumberEstimate as NumberEstimate
    from .estimate import NumberWorkers as NumberWorkers
    from .fitting import NumberAggregator as NumberAggregator
    from .learn.regressor import CrowdRegressor as CrowdRegressor
    from .maths.rows import NumberFit as NumberFit
    from .maths.rows import NumberRows as NumberRows
    from .methods import CATD as CATD
    from .methods import CRH as CRH
    from .methods import BayesianIterative as BayesianIterative
    from .methods import BiasedMean as BiasedMean
    from .methods import Combined as Combined
    from .methods import Gaussian as Gaussian
    from .methods import Mean as Mean
    from .methods import Median as Median
    from .methods import SpectralRegression as SpectralRegression
    from .methods import Student as Student
    from .methods import TrimmedMean as TrimmedMean

__getattr__, __dir__, __all__ = attach(__name__, __file__)
