"""Ordinal committee: the average of six methods, three of which know the order of the classes.

`majority_vote`, `hierarchical`, `hierarchical` with classes equally likely, `ordinal_split`, `ordinal_types`,
`ordinal_prior`. Each has crowds in which it fails: two numbers a worker where classes are confused out of order, class
priors where few answers speak of rare classes, steps by themselves where workers are few. Their average was never far
from the best of them on the open sets. Stone (1961), doi:10.1214/aoms/1177704873.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...core.params import MethodNames
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.answers import Classes
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from ..registry import method
from .base import OrderedAggregator
from .ordinal_split import confusions

# Pseudo-tasks that make all classes equally likely, whatever the data say.
EVEN = 1e9
# A member's name -> the method and its parameters.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"hierarchical_even": ("hierarchical", {"prior_class": EVEN})}
MEMBERS = ("majority_vote", "hierarchical", "hierarchical_even", "ordinal_split", "ordinal_types", "ordinal_prior")


@dataclass(frozen=True, kw_only=True)
class OrdinalCommittee(OrderedAggregator):
    """`members` are names of methods for classes ("hierarchical_even": classes equally likely); each has one voice.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"llhh"], order=["l", "m", "h"])
    >>> OrdinalCommittee().fit(votes).to_table()["label"].to_list()
    ['l', 'h']
    """

    name: ClassVar[str] = "ordinal_committee"
    calibrates: ClassVar[bool] = True
    members: MethodNames = MEMBERS

    def on_levels(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Ask every member and average."""
        k = annotations.n_classes
        laddered = replace(
            annotations, answers=Classes(annotations.label, annotations.classes, np.arange(k, dtype=np.int32))
        )
        pool = np.zeros((annotations.n_tasks, k))
        passes, settled = 0, True
        speaker: Solution | None = None
        for name in self.members:
            found = _member(name, self.seed).answer(laddered, gold, replace(run, prior=None, callback=None))
            pool += found.posterior / len(self.members)
            passes, settled = passes + found.n_iter, settled and found.converged
            if name == "ordinal_prior":
                speaker = found
        posterior = pool if gold is None else gold.clamp(pool)
        mass = posterior.mean(axis=0) if len(posterior) else np.full(k, 1 / k)
        # The average is softer than any member: workers are judged by the member that knows ladder and record.
        if speaker is None or speaker.confusion is None:
            confusion, counts = confusions(annotations, posterior)
            return Solution(posterior, mass, confusion, counts, n_iter=passes, converged=True)
        return Solution(
            posterior,
            mass,
            speaker.confusion,
            speaker.counts,
            n_iter=passes,
            converged=True,
            workers_posteriors=(speaker.posterior,),
            extra={"settled": settled},
        )


def _member(name: str, seed: int) -> Aggregator:
    plain, params = VARIANTS.get(name, (name, {}))
    found: Aggregator = method(plain, seed=seed, **params)
    return found
