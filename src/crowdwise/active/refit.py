"""Batch fits of a session's answers, from which the session continues, as the server does in the background."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from ..core.errors import CrowdwiseWarning
from ..core.method_registry import default_method
from ..core.method_registry import method as make
from ..evaluation.statement import trust
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.scoring.calibrate import calibrate
from .session import Session
from .stopping import StatedAccuracy


def refit(session: Session, checked: Mapping[int, int] | None = None, method: str = "") -> list[tuple[int, str]]:
    """Fit all answers and rebase the session on the result.

    Args:
        session: The session.
        checked: Truth of tasks that were drawn at random among the answered ones. It calibrates the fit, and tasks then
            stop by calibrated confidence. Gold of the session only informs the fit, since its sampling is unknown.
        method: Name of the method; by default the default method.

    Returns:
        The tasks that closed or opened, with the reason.
    """
    task, worker, label = session.model.answer_lists.rows()[:3]
    k, gold = session.model.n_classes, session.model.answer_lists.gold
    if not len(task):
        return session.task_index.renew()
    names = [f"{code:04d}" for code in range(k)]
    votes = Annotations.from_arrays(task, worker, np.array(names)[label], classes=names)
    codes = votes.tasks.to_numpy()
    sample = {int(t): names[checked[t]] for t in codes if t in (checked or {})} if checked else {}
    known_labels = {int(t): names[gold[t]] for t in codes if gold[t] >= 0} | sample
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        result = make(method or default_method(votes, known_labels or None)).fit(
            votes, gold=known_labels or None, calibrate=False
        )
        result = calibrate(result, votes, sample) if sample else result
    posterior = np.full((session.model.n_tasks, k), np.nan)
    posterior[codes] = result.posterior
    level = trust(result)
    statement = None if level.share is None else StatedAccuracy(*level.share, level.measured)
    return session.rebase(posterior, given=known_labels, stated=statement)
