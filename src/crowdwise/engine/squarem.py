"""SQUAREM: a leap along the path of EM.

Varadhan & Roland (2008), Scandinavian Journal of Statistics 35(2), doi:10.1111/j.1467-9469.2007.00585.x.

The leap is taken in the space of expected counts, not of parameters: counts are linear, an M-step maps whatever
comes out back into the model's own family, and one function serves one-coin and full matrices alike.
"""

from __future__ import annotations

import numpy as np

from ..maths.kernels import Stats


def extrapolate(s0: Stats, s1: Stats, s2: Stats) -> Stats:
    """The statistics that three successive steps point to, kept non-negative."""
    first = Stats(s1.counts - s0.counts, s1.mass - s0.mass)
    second = Stats(s2.counts - s1.counts - first.counts, s2.mass - s1.mass - first.mass)
    bend = float(np.sum(second.counts**2))
    if bend == 0.0:
        return s2
    # Step length of scheme S3; -1 would be the plain step.
    alpha = min(-np.sqrt(float(np.sum(first.counts**2)) / bend), -1.0)
    counts = s0.counts - 2 * alpha * first.counts + alpha**2 * second.counts
    mass = s0.mass - 2 * alpha * first.mass + alpha**2 * second.mass
    return Stats(np.maximum(counts, 0.0), np.maximum(mass, 0.0))
