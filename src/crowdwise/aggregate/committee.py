"""Committee: the average of the posteriors of diverse methods. The best bet on unknown data.

    posterior = (1 - doubt) · mean over members of posterior_member + doubt / K

Methods fail in different ways and are sure of themselves when they fail; where they disagree, their average says so.
The members were picked for their differences, one of each kind:

    hierarchical            full matrices, held to the crowd's
    hierarchical, even      the same where classes are taken as equally likely: rare classes survive
    dawid_skene             full matrices, each worker for himself
    mace                    workers who know or spam
    bwa                     one number per worker, linear: cannot drift away from what the labels mean
    zero_based_skill        a weighted vote: keeps what the majority says, whatever a model makes of it

`doubt` is a share of pure ignorance: nobody is ever certain. Confusions and skills are those of the member with
confusion matrices that agrees best with the outcome; `extra["speaker"]` names it.
Linear opinion pool: Stone (1961), Annals of Mathematical Statistics 32(4), doi:10.1214/aoms/1177704873.
Fails where all members fail together: when most of the crowd errs alike, or copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import registry
from ..annotations import Annotations
from ..errors import ParameterError
from ..maths.ties import tie_shares
from .base import Aggregator, Run, Solution, check_number
from .gold import Gold
from .hierarchical import Hierarchical

# So many pseudo-tasks in every class that the class prior stays even.
_EVEN = 1e6
MEMBERS = ("hierarchical", "hierarchical_even", "dawid_skene", "mace", "bwa", "zero_based_skill")


@dataclass(frozen=True, kw_only=True)
class Committee(Aggregator):
    """`members` are registry names ("hierarchical_even": classes equally likely); `doubt` lies between 0 and 1.

    With one label per task only the members sit that promise to keep it.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Committee().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "committee"
    members: tuple[str, ...] = MEMBERS
    doubt: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("doubt", self.doubt, low=0, high=1)
        object.__setattr__(self, "members", tuple(self.members))
        if not self.members or self.name in self.members:
            raise ParameterError(f"members must name at least one method and not the committee, got {self.members!r}")
        for member in self.members:
            self._member(member)

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Ask every member, average, and let the best of them speak of the workers."""
        seated = [m for m in self.members if not annotations.single_label or gold is not None or _keeps(m)]
        found = {m: self._member(m).solve(annotations, gold, Run(run.n_shards)) for m in seated or ["majority_vote"]}
        mean = np.mean([s.posterior for s in found.values()], axis=0)
        posterior = (1 - self.doubt) * mean + self.doubt / annotations.n_classes
        if gold is not None:
            posterior = gold.clamp(posterior)
        won = tie_shares(mean)
        # Rounded: members that agree equally often must not be told apart by the order of a sum.
        agrees = {m: round(float((tie_shares(s.posterior) * won).sum(axis=1).mean()), 9) for m, s in found.items()}
        # The average is softer than any member, so workers judged by it would look worse than they are.
        speaker = max((m for m in found if found[m].confusion is not None), key=agrees.__getitem__, default=None)
        spoken = None if speaker is None else found[speaker]
        return Solution(
            posterior=posterior,
            class_prior=posterior.mean(axis=0),
            confusion=None if spoken is None else spoken.confusion,
            counts=None if spoken is None else spoken.counts,
            workers_posterior=None if spoken is None else spoken.posterior,
            n_iter=sum(s.n_iter for s in found.values()),
            converged=all(s.converged for s in found.values()),
            extra={"agreement": agrees, "speaker": speaker},
        )

    def _member(self, name: str) -> Aggregator:
        if name == "hierarchical_even":
            return Hierarchical(seed=self.seed, prior_class=_EVEN)
        if "gold" in registry.card(name).needs:
            raise ParameterError(f"{name} needs gold labels and cannot sit on the committee")
        return registry.method(name, seed=self.seed)


def _keeps(member: str) -> bool:
    return "single" in registry.card(member.removesuffix("_even")).can
