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

`doubt` is a share of pure ignorance: nobody is ever certain. Confusions and skills are re-estimated from the averaged
posterior, each worker's matrix held to the crowd's as in `hierarchical`.
Linear opinion pool: Stone (1961), Annals of Mathematical Statistics 32(4), doi:10.1214/aoms/1177704873.
Fails where all members fail together: when most of the crowd errs alike, or copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .. import registry
from ..annotations import Annotations
from ..errors import ParameterError
from ..maths.kernels import Workspace, stats_of
from .base import Aggregator, Run, Solution, check_number
from .gold import Gold
from .hierarchical import Crowd, Hierarchical

F8 = npt.NDArray[np.float64]

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
        """Ask every member, average, and re-estimate the workers."""
        seated = [m for m in self.members if not annotations.single_label or gold is not None or _keeps(m)]
        found = {m: self._member(m).solve(annotations, gold, Run(run.n_shards)) for m in seated or ["majority_vote"]}
        mean = np.mean([s.posterior for s in found.values()], axis=0)
        posterior = (1 - self.doubt) * mean + self.doubt / annotations.n_classes
        if gold is not None:
            posterior = gold.clamp(posterior)
        counts, confusion = _workers(annotations, posterior)
        agrees = {m: float((s.posterior.argmax(axis=1) == mean.argmax(axis=1)).mean()) for m, s in found.items()}
        return Solution(
            posterior=posterior,
            class_prior=posterior.mean(axis=0),
            confusion=confusion,
            counts=counts,
            n_iter=sum(s.n_iter for s in found.values()),
            converged=all(s.converged for s in found.values()),
            extra={"agreement": agrees},
        )

    def _member(self, name: str) -> Aggregator:
        if name == "hierarchical_even":
            return Hierarchical(seed=self.seed, prior_class=_EVEN)
        if "gold" in registry.card(name).needs:
            raise ParameterError(f"{name} needs gold labels and cannot sit on the committee")
        return registry.method(name, seed=self.seed)


def _keeps(member: str) -> bool:
    return "single" in registry.card(member.removesuffix("_even")).can


def _workers(annotations: Annotations, posterior: F8) -> tuple[F8, F8]:
    """Expected counts under the posterior, and matrices held to the crowd's; both [worker, true, observed]."""
    own = Hierarchical()
    stats = stats_of(Workspace.of(annotations), posterior)
    crowd = Crowd.start(annotations.n_classes, own).learn(stats, own.strength_max)
    theta = crowd.model(own.prior_class).confusion(stats.counts)
    return tuple(np.ascontiguousarray(table.transpose(0, 2, 1)) for table in (stats.counts, theta))  # type: ignore[return-value]
