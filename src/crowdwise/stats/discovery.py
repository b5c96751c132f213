"""Multiple testing: p-values adjusted to control the false discovery rate.

Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import F8


def adjusted(p: F8) -> F8:
    """Benjamini-Hochberg adjusted p-values: rejecting those of at most q gives a false discovery rate of at most q.

    >>> adjusted(np.array([0.01, 0.04, 0.03, 0.5]))
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0))) if len(p) else np.empty(0)
