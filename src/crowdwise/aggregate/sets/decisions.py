"""Label sets as decisions: a set is right where it equals the known one, a class where it is in or out as known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.sets.answers import Sets
from ...kinds.sets.estimate import SetPosterior
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided, two_sided
from .base import set_gold

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("sets", "equal to the known set", _sets, _right, _apply, probable=True, parts=_classes)


def _own(result: Result) -> SetPosterior:
    assert isinstance(result.estimate, SetPosterior)
    return result.estimate


def _sets(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.arange(len(own)), own.confidence


def _right(votes: Votes[Sets], result: Result, gold: Any) -> F8:
    own, known = _own(result), set_gold(gold, votes)
    assert known is not None
    asked = np.ones_like(own.member) if own.asked is None else own.asked
    whole = ((known >= 0) | ~asked).all(axis=1) & (known >= 0).any(axis=1)
    equal = ((known == own.member) | ~asked).all(axis=1)
    return np.where(whole, equal.astype(np.float64), np.nan)


def _classes(votes: Votes[Sets], result: Result, gold: Any) -> tuple[I8, F8, F8]:
    """Task, confidence and outcome of every class of a task that was offered."""
    own, known = _own(result), set_gold(gold, votes)
    assert known is not None
    asked = np.ones_like(own.member) if own.asked is None else own.asked
    task, code = np.nonzero(asked & (votes.labels_per_task > 0)[:, None])
    member, p, truth = (array[task, code] for array in (own.member, own.posterior, known))
    right = np.where(truth >= 0, (truth == member).astype(np.float64), np.nan)
    return task.astype(np.int64), np.where(member, p, 1 - p), right


def _apply(estimate: SetPosterior, learnt: GoldCalibration, kept: Mask, parts: GoldCalibration | None) -> SetPosterior:
    sure = np.where(kept, estimate.confidence, learnt.of(estimate.confidence))
    if parts is None:
        return replace(estimate, sure=sure)
    asked = np.ones_like(estimate.member) if estimate.asked is None else estimate.asked
    posterior = two_sided(estimate.posterior, parts, kept[:, None] | ~asked, estimate.cut)
    return replace(estimate, posterior=posterior, sure=sure)
