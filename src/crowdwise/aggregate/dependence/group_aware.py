"""Group-aware Dawid-Skene: workers who copy each other count as one voice, however many they are.

    z_i ~ Cat(class_prior),  g_ij | z_i = k ~ Cat(between[j, k]),  y_iw | g_ij = c ~ Cat(within[w, c]),  w in group j

Each group has one hidden answer g per task, which may be wrong, and its members report it with noise; groups of one
have g = z, so without groups this is `dawid_skene`. Exact EM on the tree. After Jaffe, Fetaya, Nadler, Jiang &
Kluger (2016), Unsupervised ensemble learning with dependent classifiers, AISTATS, pmlr v51/jaffe16.
Fails where groups cannot be told: copies noisier than the honest workers, or a whole crowd that is wrong together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.params import Count, NonNegative, Positive, PositiveShare, Share
from ...core.result import Result
from ...core.rules import Note
from ...core.vocabulary import as_series, lookup, quote
from ...engine.em import Passes, run
from ...kinds.classes.annotations import Annotations
from ...maths.kernels import Workspace
from ..base import Learnt, Run, Spread, SpreadAggregator
from ..confusion.base import counted
from ..learnt import Under
from ..models import ClassModel
from .find_groups import find_groups
from .group_model import GroupModel, GroupParams, GroupStats

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class GroupAware(SpreadAggregator):
    """`groups` lists the workers of each group, (("ann", "bob"), ("eve", "dan")) or "ann,bob;eve,dan", all others
    being alone; None looks for groups at the false-discovery `level` (0..1) among pairs whose agreement exceeds the
    fit by `excess` (0..1).

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], [*"abcabc"], [*"xyyxyy"])
    >>> GroupAware(groups=(("b", "c"),)).fit(votes).extra["group"]
    array([0, 1, 1])
    """

    name: ClassVar[str] = "group_aware"
    worker_extra: ClassVar[tuple[str, ...] | None] = None
    groups: Annotated[tuple[tuple[Any, ...], ...] | str, Note("the workers of each group")] | None = None
    level: PositiveShare = 0.001
    excess: Share = 0.1
    smoothing: Positive = 0.1
    prior_class: NonNegative = 0.0
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups is not None:
            # The command line can only say "ann,bob;eve,dan"; a frozen value holds tuples.
            given = (
                [part.split(",") for part in self.groups.split(";")] if isinstance(self.groups, str) else self.groups
            )
            if any(isinstance(members, str) or not isinstance(members, Iterable) for members in given):
                raise ParameterError(f"groups must list the workers of each group, got {self.groups!r}")
            object.__setattr__(self, "groups", tuple(tuple(members) for members in given))

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """Find the groups, unless given; then EM from a vote in which each group has one voice."""
        k = votes.n_classes
        if self.groups is None:
            group = find_groups(votes, self.level, self.excess)
        else:
            assert not isinstance(self.groups, str)  # __post_init__ has taken it apart
            group = given_groups(self.groups, votes.workers)
        model = GroupModel(group, k, self.smoothing, self.prior_class)
        data: Passes[Workspace, GroupParams, GroupStats] = Passes(model, votes)
        fit = run(data, data.start(), max_iter=self.max_iter, tol=self.tol, callback=run_.callback)
        params, judge = fit.params, Under(model, fit.params)
        counts = counted(votes, judge)
        tied = np.where(model.many[:, None, None], params.between, np.eye(k))
        return Learnt(
            judge=judge,
            class_prior=params.class_prior,
            confusion=np.einsum("wkc,wlc->wkl", tied[group], params.within),
            counts=np.ascontiguousarray(counts.transpose(0, 2, 1)),
            trace=fit.trace,
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={"group": group, "between": tied, "within": np.ascontiguousarray(params.within.transpose(0, 2, 1))},
        )

    @staticmethod
    def fitted(result: Result) -> GroupVoices | None:
        """The tree of groups and their members."""
        own = result.extra
        if "group" not in own or result.confusion is None:
            return None
        return GroupVoices(result, own["group"], own["between"], own["within"])


def given_groups(groups: Iterable[Iterable[Any]], workers: pl.Series) -> I8:
    """Group number of each worker; those not named are alone."""
    group = np.arange(len(workers))
    seen = np.zeros(len(workers), dtype=bool)
    for members in groups:
        names = as_series(list(members), "worker").cast(workers.dtype, strict=False)
        codes, known = lookup(workers, names)
        if not known.all():
            raise ParameterError(f"groups name workers without annotations: {quote(names.filter(pl.Series(~known)))}")
        if seen[codes].any() or len(np.unique(codes)) < len(codes):
            raise ParameterError(f"a worker can be in one group only; {quote(names)} name one twice")
        seen[codes] = True
        if len(codes):
            group[codes] = codes.min()
    return np.unique(group, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class GroupVoices(ClassModel):
    """group[worker], between[group, true, voice] and within[worker, voice, observed]."""

    group: I8
    between: F8
    within: F8

    def posterior(self, votes: Annotations) -> F8:
        """The tree under the parameters found; a worker who was not there is alone, and average."""
        result, k = self.result, votes.n_classes
        assert result.confusion is not None
        old, was_there = lookup(result.workers, votes.workers)
        average = np.average(result.confusion, axis=0, weights=np.maximum(result.labels_per_worker, 1e-9))
        within = np.where(was_there[:, None, None], self.within[old], average).transpose(0, 2, 1)
        model = GroupModel(np.where(was_there, self.group[old], len(self.between)), k, 1.0, 0.0)
        # Who was in a group of several still is, though the others may have stayed away.
        model.many = np.append(np.bincount(self.group, minlength=len(self.between)) > 1, False)
        table = np.maximum(np.append(self.between, np.eye(k)[None], axis=0), 1e-18)
        params = GroupParams(np.ascontiguousarray(within), table, result.class_prior)
        return model.posterior(params, Workspace.of(votes))
