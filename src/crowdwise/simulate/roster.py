"""The workers of a simulated crowd, all groups in one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import ParameterError
from .attacks import Colluder, Copier
from .groups import F8, Group, Setting

# worker × true × observed cells; more is a slip of the sizes, not a wish.
MAX_CELLS = 400_000_000


@dataclass(frozen=True)
class Roster:
    """Every worker in order of the groups.

    `own` is how they answer when left alone, `marginal` how they look from outside (both [worker, true,
    observed]); `rings` and `copiers` hold the first and the last + 1 worker of each such group, and whom they copy.
    """

    own: F8
    marginal: F8
    kind: list[str]
    source: list[int | None]
    rings: list[tuple[Colluder, int, int]]
    copiers: list[tuple[Copier, int, int, int]]

    @property
    def n_workers(self) -> int:
        """All groups together."""
        return len(self.kind)


def enrol(groups: Sequence[Group], setting: Setting) -> Roster:
    """Draw every group's workers and find the sources of the copiers."""
    n_workers, k = _count(groups), setting.n_classes
    if n_workers * k * k > MAX_CELLS:
        raise ParameterError(f"{n_workers:,} workers × {k:,}² classes are too many to simulate; lower one of them")
    start = np.concatenate([[0], np.cumsum([group.n for group in groups])]).tolist()
    own = np.concatenate([group.confusion(setting) for group in groups])
    marginal = own.copy()
    source: list[int | None] = [None] * n_workers
    rings, copiers = [], []
    for group, lo, hi in zip(groups, start[:-1], start[1:], strict=True):
        if isinstance(group, Colluder):
            rings.append((group, lo, hi))
            marginal[lo:hi] = group.marginal(own[lo:hi])
        elif isinstance(group, Copier):
            member = _member(group, groups, setting.rng)
            whom = start[group.of] + member
            copiers.append((group, lo, hi, whom))
            marginal[lo:hi] = group.marginal(own[lo:hi], own[whom])
            source[lo:hi] = [whom] * group.n
    return Roster(own, marginal, [kind for group in groups for kind in group.kinds()], source, rings, copiers)


def _count(groups: Sequence[Group]) -> int:
    for group in groups:
        if not isinstance(group, Group):
            raise ParameterError(f"groups must hold groups such as OneCoin(20), got {group!r}")
    if not groups:
        raise ParameterError("groups is empty; a crowd needs at least one group, for instance [OneCoin(20)]")
    return sum(group.n for group in groups)


def _member(copier: Copier, groups: Sequence[Group], rng: np.random.Generator) -> int:
    """The copied worker's place in their group."""
    if copier.of >= len(groups):
        raise ParameterError(f"a Copier copies of={copier.of} but the groups are numbered 0 to {len(groups) - 1}")
    copied = groups[copier.of]
    if isinstance(copied, Copier | Colluder):
        raise ParameterError(f"a Copier must copy workers who answer for themselves, but group {copier.of} is {copied}")
    if copier.member is None:
        return int(rng.integers(copied.n))
    if copier.member >= copied.n:
        raise ParameterError(f"a Copier copies member={copier.member} but group {copier.of} has {copied.n} workers")
    return copier.member
