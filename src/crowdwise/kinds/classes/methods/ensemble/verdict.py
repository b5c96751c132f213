"""A test of fit: whether the workers' errors on one task are independent given its class.

Models with confusion matrices multiply the evidence of a task's labels as if errors were independent. If workers share
errors (hard tasks, shared instructions, models of one family), such a model is overconfident. Two statistics show it:

    power        the power at which the other labels of a task best predict a label; 1 where errors are independent
    dispersion   log mean z² over tasks, where z compares a task's expected number of right labels with the prediction
                 from its workers' accuracies; about 0 where errors are independent

Neither detects a crowd that makes the same errors on every task; that requires the truth of some tasks (gold).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from .....core.errors import ParameterError
from ...annotations import Annotations

if TYPE_CHECKING:
    from .....core.result import Result


KEY = "independence"
# Workers err together where the power is below TOGETHER with 95 % probability; errors count as independent where it is
# above TOGETHER with probability SURE.
TOGETHER, SURE = 0.7, 0.9


@dataclass(frozen=True)
class Independence:
    """The result of the test.

    Attributes:
        power: The evidence power; None if there are too few tasks with two labels.
        low: Lower end of its 90 % interval.
        high: Upper end of its 90 % interval.
        share: Probability that the power is above .7.
        dispersion: Overdispersion of the number of right labels per task; None if there are too few tasks.
        low_share: Share of tasks with far fewer right labels than expected; None if there are too few tasks.
    """

    power: float | None
    low: float
    high: float
    share: float
    dispersion: float | None = None
    low_share: float | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Independence:
        """Read a result's extra["independence"], or the output of `to_dict`."""
        values: dict[str, Any] = {field.name: entry.get(field.name) for field in fields(cls)}
        return cls(**values)

    @property
    def together(self) -> bool:
        """Whether workers err together with high probability."""
        return self.power is not None and self.high < TOGETHER

    @property
    def independent(self) -> bool:
        """Whether errors count as independent."""
        return self.power is not None and self.share >= SURE

    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        if self.power is not None and self.together:
            return (
                "workers err together more than independent errors explain: the labels of one task count for about "
                f"{100 * self.power:.0f} % of as many independent labels"
            )
        if self.independent:
            return "the labels are consistent with independent errors"
        return "these labels are too few to tell whether workers err together"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and the verdict for JSON."""
        verdict = "together" if self.together else "independent" if self.independent else "unclear"
        return {**asdict(self), "verdict": verdict, "sentence": self.sentence()}


def independence(votes: Annotations, result: Result | None = None) -> Independence:
    """Test whether the errors of different workers on one task are independent given its class.

    Args:
        votes: The votes to test.
        result: A fit of these votes. It only saves work, where it is a fit by the default method, which has run the
            test already (groups of workers who repeat each other's labels count once), or by `hierarchical`.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=500, labels=6, seed=1)
    >>> cw.classes.independence(crowd.annotations).sentence()
    'the labels are consistent with independent errors'
    """
    from .adaptive import fit_tests

    if votes.kind.name != "classes":
        raise ParameterError(f"independence tests labels of classes, got {votes.kind.name}; leave it out for this kind")
    if result is not None and result.kind.name != "classes":
        raise ParameterError(f"result must be a fit of classes, got one of {result.kind.name}; fit these votes first")
    if result is not None and list(result.tasks) != list(votes.tasks):
        raise ParameterError("result is a fit of other tasks than these votes; fit these votes, or leave result out")
    if result is not None and KEY in result.extra:
        return Independence.of(result.extra[KEY])
    return Independence.of(fit_tests(votes, result))
