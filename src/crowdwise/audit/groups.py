"""Who depends on whom? Groups of workers who err together, in the form that `group_aware` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregate.dependence.find_groups import find_groups
from ..kinds.classes.annotations import Annotations

I8 = npt.NDArray[np.int64]

# The search holds worker × worker tables.
MAX_WORKERS = 3_000


def dependence_groups(
    annotations: Annotations, *, level: float = 0.001, excess: float = 0.1
) -> tuple[tuple[Any, ...], ...]:
    """Groups of two workers or more who agree beyond what independent errors explain, the largest first.

    `cw.GroupAware(groups=dependence_groups(votes))` gives each group one voice. `level` is the share of false
    discoveries among pairs, `excess` the agreement beyond the fit that a pair must show.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> dependence_groups(votes)
    ()
    """
    return named(annotations, group_numbers(annotations, level, excess))


def group_numbers(annotations: Annotations, level: float, excess: float) -> I8:
    """Group number of each worker; crowds too large for the search stay single."""
    if annotations.n_workers > MAX_WORKERS:
        return np.arange(annotations.n_workers)
    return find_groups(annotations, level, excess)


def named(annotations: Annotations, group: I8) -> tuple[tuple[Any, ...], ...]:
    """Groups of several by the workers' names."""
    sizes = np.bincount(group)
    order = sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda g: (-sizes[g], g))
    return tuple(tuple(annotations.workers.gather(np.flatnonzero(group == g)).to_list()) for g in order)
