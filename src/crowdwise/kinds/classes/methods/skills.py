"""The workers' skills of a fit, judged from two sides: by what the method believes, and by what the votes say.

No posterior is taken at its word. The shares of a vote are no probabilities and hold the worker's own vote; matrices
with more cells than labels are unsure of everything, or sure of what is wrong. So workers are judged by two passes of
EM, with confusions held to the crowd's, once from the method's posterior and once from the votes. Whichever makes the
labels more probable gives the skill, and the interval holds what both say. A method that knows better (the committee)
brings its own sides. Everything is a sum over parts, so parts need not be in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ....em.kernels import Workspace, accumulate, stats_of
from ....em.loop import Additive, plus
from ....stats.logspace import shares
from ..annotations import Annotations
from ..maths.skill import Skill, skill_of, skill_sums, widest
from .gold import Gold
from .held_out import shrunk
from .needs import too_thin
from .spread import Judge, Solution, Spread, Whole, clamped, judged

F8 = npt.NDArray[np.float64]

PASSES = 2
# A class that no task is taken for may still be true.
LEAST = 1e-6
# Where the share of wrong labels is measured on gold, so much of it makes workers look better: on tasks whose label is
# wrong some of them are right (docs/benchmarks/skills.md).
MEASURED = 0.8


@dataclass(frozen=True)
class Side(Additive):
    """Expected counts of some posterior, the posteriors' sum over tasks with labels, and how likely the labels are."""

    counts: F8
    mass: F8
    fit: F8
    skill: F8

    def table(self) -> tuple[F8, F8]:
        """The confusions and the class prior that it calls for."""
        prior = self.mass[1:] / self.mass[0] + LEAST
        return shrunk(self.counts), prior / prior.sum()


def expected_wrong(extra: Mapping[str, Any]) -> float | None:
    """The share of tasks with a wrong label, as far as it makes workers look better; None where the method has no
    expectation that was learnt from truth."""
    expected = extra.get("expected_accuracy")
    if expected is None:
        return None
    measured = "slope" in (extra.get("gold_check") or {})
    return (MEASURED if measured else 1.0) * (1.0 - float(expected["mean"]))


def later(
    annotations: Annotations, gold: Gold | None, found: Solution, wrong: float | None = None
) -> Callable[[], Skill]:
    """A function that computes the skills of a solution; it keeps the votes and the posterior, and nothing else.

    Views are posteriors that nobody else keeps, so their sums over each worker's labels are taken at once.
    """
    data = Spread.of(annotations, gold)  # how passes are run is decided now, so that the bits do not depend on when
    judge = Whole(Solution(found.posterior, found.class_prior, workers_posteriors=found.workers_posteriors))
    if not found.workers_posteriors:
        return partial(skills, data, judge, wrong=wrong)
    return partial(_of_views, data.sum(partial(_as_told, judge), plus), wrong)


def _of_views(sums: F8, wrong: float | None) -> Skill:
    return widest([skill_of(view, wrong=wrong) for view in sums])


def skills(
    data: Spread,
    judge: Judge,
    views: int = 0,
    among: npt.NDArray[np.bool_] | None = None,
    wrong: float | None = None,
) -> Skill:
    """Skill by the first side, with an interval that holds what all of them say; `views` is how many the judge has.

    `among` are the workers here, where there are others who said nothing; `wrong` is that of `expected_wrong`.
    """
    if views or too_thin(data):  # or matrices would be far larger than what they are learnt from
        told_so: F8 = data.sum(partial(_as_told, judge), plus)
        found = list(told_so)
    else:
        found = [side.skill for side in sides(data, judge)]
    return widest([skill_of(sums if among is None else _among(among, sums), wrong=wrong) for sums in found])


def _among(workers: npt.NDArray[np.bool_], sums: F8) -> F8:
    out = np.zeros((len(sums), len(workers)))
    out[:, workers] = sums
    return out


def sides(data: Spread, judge: Judge) -> tuple[Side, ...]:
    """The two sides, the one to believe first; one where the method says what the votes say."""
    vote, mine, other = data.sum(partial(_begin, judge), _three)
    vote = sharpened(data, vote)
    if not other:
        return (vote,)
    mine = sharpened(data, mine)
    margin = 1e-9 * abs(float(mine.fit[0]))  # the order of a sum must not decide
    return (vote, mine) if float(vote.fit[0]) > float(mine.fit[0]) + margin else (mine, vote)


def sharpened(data: Spread, side: Side) -> Side:
    """What confusions make of a side."""
    if not side.mass[0]:  # nobody said anything
        return side
    for last in range(PASSES):
        side = data.sum(partial(_sharpen, *side.table(), last == PASSES - 1), plus)
    return side


def _three(a: tuple[Side, Side, bool], b: tuple[Side, Side, bool]) -> tuple[Side, Side, bool]:
    return a[0] + b[0], a[1] + b[1], a[2] or b[2]


def _begin(judge: Judge, space: Workspace) -> tuple[Side, Side, bool]:
    """The votes' side, the judge's, and whether they differ."""
    start, posterior = clamped(space, shares(space.shard.count_votes())), judged(judge, space).posterior
    other = not np.array_equal(posterior, start)
    vote = _side(space, start)
    return vote, _side(space, posterior) if other else vote, other


def _sharpen(theta: F8, prior: F8, last: bool, space: Workspace) -> Side:
    stats, fit = accumulate(space, theta, prior)
    assert space.memory.last is not None
    skill = told(space, space.memory.last) if last else np.zeros((4, space.shard.n_workers))
    return Side(stats.counts, _heard(space, space.memory.last), np.array([fit]), skill)


def _side(space: Workspace, posterior: F8) -> Side:
    nothing = np.zeros((4, space.shard.n_workers))
    return Side(stats_of(space, posterior).counts, _heard(space, posterior), np.zeros(1), nothing)


def _heard(space: Workspace, posterior: F8) -> F8:
    """How many tasks have labels, and the sum of their posteriors: the others have no say in what is common."""
    heard = space.shard.labels_per_task > 0
    return np.append(heard.sum(), posterior.sum(axis=0) if heard.all() else posterior[heard].sum(axis=0))


def _as_told(judge: Judge, space: Workspace) -> F8:
    """The sums of every view that a judge has, or of what it says."""
    found = judged(judge, space)
    return np.stack([told(space, view) for view in found.views or (found.posterior,)])


def told(space: Workspace, posterior: F8) -> F8:
    """What skills are worked out of, if posterior[task, class] is right."""
    votes = space.shard
    right = np.empty(len(votes))  # posterior[task, label] of every row
    for lo in range(0, len(right), 1 << 20):  # in blocks: numpy copies the indices
        rows = slice(lo, lo + (1 << 20))
        right[rows] = posterior[votes.task[rows], votes.label[rows]]
    known = None if space.gold is None else (space.gold < votes.n_classes)[votes.task]
    return skill_sums(votes.worker, right, votes.n_workers, votes.weight, known)
