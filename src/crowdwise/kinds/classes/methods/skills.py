"""Worker skills of a fit, estimated from two views: the method's posterior and the votes.

No posterior is used as it is. Vote shares are no probabilities and include the worker's own vote; posteriors of
confusion matrices with more cells than labels are not calibrated. Skills therefore use two passes of EM with confusions
shrunk to the crowd's, once from the method's posterior and once from the votes. The view with the higher likelihood of
the labels gives the skill, and the interval covers both. A method with better posteriors for this purpose (the
committee) supplies its own. All quantities are sums over parts, which need not be in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ....core.arrays import F8, Mask
from ....em.kernels import Workspace, accumulate, stats_of
from ....em.loop import Additive, plus
from ....stats.logspace import shares
from ..annotations import Annotations
from ..maths.skill import Skill, skill_of, skill_sums, widest
from .gold import GoldLabels
from .held_out import shrunk
from .partitioned import PartitionedVotes, Predictor, Solution, SolutionPredictor, apply_predictor, clamped
from .requirements import too_sparse

PASSES = 2
# A class that no task is assigned to may still be true.
MIN_CLASS_SHARE = 1e-6
# If the share of wrong labels is measured on gold, only this fraction of it biases skills upwards, because some workers
# are right on tasks with a wrong label (docs/benchmarks/skills.md).
MEASURED = 0.8


@dataclass(frozen=True)
class SkillView(Additive):
    """Sums over tasks under one posterior.

    Attributes:
        counts: Expected counts, [worker, observed, true].
        mass: Number of tasks with labels, followed by the sum of their posteriors.
        fit: Log-likelihood of the labels.
        skill: The sums that skills are computed from (see `skill_of`).
    """

    counts: F8
    mass: F8
    fit: F8
    skill: F8

    def table(self) -> tuple[F8, F8]:
        """Return the confusions and the class prior of the expected counts."""
        prior = self.mass[1:] / self.mass[0] + MIN_CLASS_SHARE
        return shrunk(self.counts), prior / prior.sum()


def expected_wrong(extra: Mapping[str, Any]) -> float | None:
    """Return the expected share of tasks with a wrong label that biases skills upwards.

    None if the method has no expectation that was learnt from truth.
    """
    expected = extra.get("expected_accuracy")
    if expected is None:
        return None
    measured = "slope" in (extra.get("gold_check") or {})
    return (MEASURED if measured else 1.0) * (1.0 - float(expected["mean"]))


def lazy_skills(
    annotations: Annotations, gold: GoldLabels | None, solution: Solution, wrong: float | None = None
) -> Callable[[], Skill]:
    """Return a function that computes the skills of a solution; it holds the votes and the posterior, nothing else.

    The solution's `worker_posteriors` are not kept elsewhere, so their sums over each worker's labels are taken now.
    """
    # The kernels are chosen now, so that the bits do not depend on when the skills are computed.
    data = PartitionedVotes.of(annotations, gold)
    predictor = SolutionPredictor(
        Solution(solution.posterior, solution.class_prior, worker_posteriors=solution.worker_posteriors)
    )
    if not solution.worker_posteriors:
        return partial(skills, data, predictor, wrong=wrong)
    return partial(_skills_of_sums, data.sum(partial(_posterior_sums, predictor), plus), wrong)


def _skills_of_sums(sums: F8, wrong: float | None) -> Skill:
    return widest([skill_of(posterior_sums, wrong=wrong) for posterior_sums in sums])


def skills(
    data: PartitionedVotes,
    predictor: Predictor,
    n_worker_posteriors: int = 0,
    workers: Mask | None = None,
    wrong: float | None = None,
) -> Skill:
    """Estimate skills by the first view, with an interval that covers all views.

    Args:
        data: The votes.
        predictor: Gives the posteriors of a part.
        n_worker_posteriors: Number of `worker_posteriors` of the predictor, each of which is a view.
        workers: Mask of the workers in `data` among all workers, where there are others without labels.
        wrong: The expected share of wrong labels, see `expected_wrong`.
    """
    # Without posteriors for the workers, confusion matrices are needed; they may be far larger than the data.
    if n_worker_posteriors or too_sparse(data):
        posterior_sums: F8 = data.sum(partial(_posterior_sums, predictor), plus)
        view_sums = list(posterior_sums)
    else:
        view_sums = [view.skill for view in skill_views(data, predictor)]
    return widest([skill_of(sums if workers is None else _expand(workers, sums), wrong=wrong) for sums in view_sums])


def _expand(workers: Mask, sums: F8) -> F8:
    out = np.zeros((len(sums), len(workers)))
    out[:, workers] = sums
    return out


def skill_views(data: PartitionedVotes, predictor: Predictor) -> tuple[SkillView, ...]:
    """Return the two views, the more likely one first; one view where the posterior equals the vote shares."""
    vote_view, method_view, differs = data.sum(partial(_initial_views, predictor), _add_views)
    vote_view = refined(data, vote_view)
    if not differs:
        return (vote_view,)
    method_view = refined(data, method_view)
    margin = 1e-9 * abs(float(method_view.fit[0]))  # the choice must not depend on the order of a sum
    if float(vote_view.fit[0]) > float(method_view.fit[0]) + margin:
        return vote_view, method_view
    return method_view, vote_view


def refined(data: PartitionedVotes, view: SkillView) -> SkillView:
    """Return the view after passes of EM with confusions."""
    if not view.mass[0]:  # there are no labels
        return view
    for i in range(PASSES):
        view = data.sum(partial(_refine, *view.table(), i == PASSES - 1), plus)
    return view


def _add_views(
    a: tuple[SkillView, SkillView, bool], b: tuple[SkillView, SkillView, bool]
) -> tuple[SkillView, SkillView, bool]:
    return a[0] + b[0], a[1] + b[1], a[2] or b[2]


def _initial_views(predictor: Predictor, space: Workspace) -> tuple[SkillView, SkillView, bool]:
    """Return the view of the votes, that of the predictor, and whether they differ."""
    vote_shares = clamped(space, shares(space.shard.count_votes()))
    posterior = apply_predictor(predictor, space).posterior
    differs = not np.array_equal(posterior, vote_shares)
    vote_view = _view(space, vote_shares)
    return vote_view, _view(space, posterior) if differs else vote_view, differs


def _refine(theta: F8, prior: F8, is_last: bool, space: Workspace) -> SkillView:
    stats, fit = accumulate(space, theta, prior)
    assert space.memory.last is not None
    skill = label_sums(space, space.memory.last) if is_last else np.zeros((4, space.shard.n_workers))
    return SkillView(stats.counts, _class_mass(space, space.memory.last), np.array([fit]), skill)


def _view(space: Workspace, posterior: F8) -> SkillView:
    no_skill = np.zeros((4, space.shard.n_workers))
    return SkillView(stats_of(space, posterior).counts, _class_mass(space, posterior), np.zeros(1), no_skill)


def _class_mass(space: Workspace, posterior: F8) -> F8:
    """Return the number of tasks with labels, followed by the sum of their posteriors."""
    has_label = space.shard.labels_per_task > 0
    mass = posterior.sum(axis=0) if has_label.all() else posterior[has_label].sum(axis=0)
    return np.append(has_label.sum(), mass)


def _posterior_sums(predictor: Predictor, space: Workspace) -> F8:
    """Return the label sums under each posterior that the predictor gives for scoring workers."""
    estimate = apply_predictor(predictor, space)
    return np.stack([label_sums(space, p) for p in estimate.worker_posteriors or (estimate.posterior,)])


def label_sums(space: Workspace, posterior: F8) -> F8:
    """Return the sums over each worker's labels that skills are computed from, under posterior[task, class]."""
    votes = space.shard
    right = np.empty(len(votes))  # posterior[task, label] of every row
    for lo in range(0, len(right), 1 << 20):  # in blocks: numpy copies the indices
        rows = slice(lo, lo + (1 << 20))
        right[rows] = posterior[votes.task[rows], votes.label[rows]]
    is_gold = None if space.gold is None else (space.gold < votes.n_classes)[votes.task]
    return skill_sums(votes.worker, right, votes.n_workers, votes.weight, is_gold)
