"""Family vote: each family of judges has one vote, shared out among what its members say.

    P(y_n = k) ∝ s + Σ_families mean share of its judges' verdicts on n that say k

For judges without gold: relatives err together, and a posterior of Dawid-Skene then is sure of what is wrong. The share
of families is the confidence that can be defended. Families come from `groups`, from a column `family` about the
workers, or are looked for among the votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import NonNegative, PositiveShare, Share
from ...core.rules import Note
from ...kinds.classes.annotations import Annotations
from ...maths.logspace import shares
from ..base import Aggregator, Run, Solution
from ..dependence.find_groups import find_groups
from ..dependence.group_aware import GroupAware, given_groups
from ..gold import Gold
from .about import kinds_of, told_families, without_gold
from .voices import voices

I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FamilyVote(Aggregator):
    """`groups` lists the judges of each family, as for `group_aware`; None takes the column `family` about the workers,
    or looks for families at the false-discovery `level` (0..1). `smoothing` votes for every class.

    >>> votes = Annotations.from_arrays([1, 1, 1], [*"abc"], [*"xxy"])
    >>> FamilyVote(groups=(("a", "b"),), smoothing=0).fit(votes).posterior
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "family_vote"
    worker_extra: ClassVar[tuple[str, ...] | None] = None
    groups: Annotated[tuple[tuple[Any, ...], ...] | str, Note("the workers of each group")] | None = None
    level: PositiveShare = 0.001
    excess: Share = 0.1
    smoothing: NonNegative = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", GroupAware(groups=self.groups).groups)

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Shares within families, then between them."""
        said = voices(annotations)
        family = self.families(annotations)
        key = said.task * np.int64(family.max(initial=0) + 1) + family[said.judge]
        size = np.unique(key, return_inverse=True, return_counts=True)
        score = said.score(1.0 / size[2][size[1]]) + self.smoothing
        posterior = shares(score)
        posterior = posterior if gold is None else gold.clamp(posterior)
        extra: dict[str, Any] = {"group": family}
        models = sum(kind == "model" for kind in kinds_of(annotations))
        if gold is None and models >= 2:
            extra["warning"] = without_gold(models)
        return Solution(posterior, posterior.mean(axis=0), extra=extra)

    def families(self, annotations: Annotations) -> I8:
        """Family number of each judge."""
        if self.groups is not None:
            assert not isinstance(self.groups, str)
            return given_groups(self.groups, annotations.workers)
        told = told_families(annotations)
        return find_groups(annotations, self.level, self.excess) if told is None else told
