"""Committee: the average of the posteriors of diverse methods, each weighed by what it foretells. The default.

    posterior = (1 - doubt) · sum over members of weight_m · posterior_m + doubt / K
    weight_m ∝ exp(evidence · mean log-likelihood of held-out annotations under m)

Methods fail in different ways and are sure of themselves when they fail; where they disagree, their average says so.
The members were picked for their differences:

    majority_vote           takes labels at their word
    zero_based_skill        a weighted vote: keeps what the majority says, whatever a model makes of it
    bwa                     one number per worker, linear: cannot drift away from what the labels mean
    one_coin, even          one accuracy per worker; classes equally likely, so that rare ones survive
    mace                    workers who know or spam
    dawid_skene             full matrices, each worker for himself
    hierarchical            full matrices, held to the crowd's
    hierarchical, even      the same where classes are equally likely

A fifth of the annotations is held out once, and every member predicts it (engine/selection.py). `evidence` is the
number of annotations that the weights trust this to speak for: 0 is the plain average, and a member that is .1 nats a
label behind the best keeps a weight of 1/e of the best's at 10. It is small because held-out likelihood is a good hint
and a bad judge: models whose classes have drifted away from what the labels mean may predict well.
`doubt` is a share of pure ignorance: nobody is ever certain. Confusions and skills are those of the member with
confusion matrices that agrees best with the outcome; `extra["speaker"]` names it.
Linear opinion pool: Stone (1961), Annals of Mathematical Statistics 32(4), doi:10.1214/aoms/1177704873.
Fails where all members fail together: when most of the crowd errs alike, or copies.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import registry
from ..annotations import Annotations
from ..engine.selection import held_out, splits
from ..errors import ParameterError
from ..maths.kernels import many_fits
from ..maths.ties import tie_shares
from .base import Aggregator, Run, Solution, check_number
from .cost import too_thin, worthwhile
from .gold import Gold

EVEN = "_even"
# So many pseudo-tasks in every class that the class prior stays even.
EVEN_PRIOR = 1e6
MEMBERS = (
    "majority_vote",
    "zero_based_skill",
    "bwa",
    "one_coin_even",
    "mace",
    "dawid_skene",
    "hierarchical",
    "hierarchical_even",
)
# Few held-out annotations say little: they speak for a tenth of their number at most.
SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Committee(Aggregator):
    """`members` are registry names ("one_coin_even": classes equally likely); `doubt` lies between 0 and 1.

    `evidence` (0 and up) is how many annotations the held-out score speaks for; 0 gives all members the same weight.
    With one label per task only the members sit that promise to keep it, with `prior=` those that can use it.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Committee().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "committee"
    members: tuple[str, ...] = MEMBERS
    evidence: float = 10.0
    doubt: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("evidence", self.evidence, low=0)
        check_number("doubt", self.doubt, low=0, high=1)
        object.__setattr__(self, "members", tuple(self.members))
        if not self.members or {"committee", "auto"} & set(self.members):
            raise ParameterError(
                f"members must name at least one method, neither committee nor auto, got {self.members!r}"
            )
        for member in self.members:
            variant(member, self.seed)

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Ask every member, average, and let the best of them speak of the workers."""
        seated = worthwhile(self._seated(annotations, gold, run), annotations, EVEN)
        with many_fits():
            weight = self._weights(seated, annotations, gold, run)
            found = {m: ask(m, self.seed, gold, run, annotations) for m in seated}
        mean = np.zeros((annotations.n_tasks, annotations.n_classes))
        for member, solution in found.items():
            mean += weight[member] * solution.posterior
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
            extra={
                "weight": weight,
                "agreement": agrees,
                "speaker": speaker,
                "unsettled": [m for m, s in found.items() if not s.converged],
            },
        )

    def _seated(self, annotations: Annotations, gold: Gold | None, run: Run) -> list[str]:
        """Who sits: with one label per task those who keep it, with a prior those who can use it."""
        if run.prior is not None and run.prior.any():
            seated = [m for m in self.members if can(m, "prior")]
            if not seated:
                raise ParameterError(f"none of the members can use prior=, got {', '.join(self.members)}")
            return seated
        if annotations.single_label and gold is None:
            return [m for m in self.members if can(m, "single")] or ["majority_vote"]
        return list(self.members)

    def _weights(self, seated: list[str], annotations: Annotations, gold: Gold | None, run: Run) -> dict[str, float]:
        """A member's weight by what it foretells of one held-out fold; equal where there is nothing to foretell."""
        score, heard = np.zeros(len(seated)), 0.0
        if self.evidence > 0 and len(seated) > 1 and not too_thin(annotations) and splits(annotations, enough=1):
            found = [
                held_out(partial(ask, m, self.seed, gold, run), annotations, seed=self.seed, enough=1) for m in seated
            ]
            score, heard = np.array([f.score for f in found]), float(found[0].weight.sum())
        weight = np.exp(min(self.evidence, SHARE * heard) * (score - score.max()))
        return dict(zip(seated, (weight / weight.sum()).tolist(), strict=True))


def variant(name: str, seed: int) -> Aggregator:
    """A method by its registry name, which may end in "_even": then its classes are taken as equally likely."""
    plain = name.removesuffix(EVEN)
    if "gold" in registry.card(plain).needs:
        raise ParameterError(f"{name} needs gold labels and cannot be asked here")
    params: dict[str, Any] = {"seed": seed}
    if name != plain:
        if "prior_class" not in {f.name for f in fields(registry.get(plain))}:
            raise ParameterError(f"{plain} has no class prior that could be made even, got {name!r}")
        params["prior_class"] = EVEN_PRIOR
    return registry.method(plain, **params)


def ask(name: str, seed: int, gold: Gold | None, run: Run, annotations: Annotations) -> Solution:
    """What a method or variant says; of the prior it hears where it can use one."""
    return variant(name, seed).solve(annotations, gold, run if can(name, "prior") else replace(run, prior=None))


def can(name: str, ability: str) -> bool:
    """Whether a method's card, or that of the method that it is a variant of, claims an ability."""
    return ability in registry.card(name.removesuffix(EVEN)).can
