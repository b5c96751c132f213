"""Texts as decisions: one is right where it has the words of the known text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...core.truth import place_gold
from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from ...kinds.texts.estimate import TextEstimate
from ...kinds.texts.words import word_runs
from ...maths.texts.runs import edit_counts
from ...maths.trust.gold_calibration import GoldCalibration
from ..decisions.checked import Decided
from .base import text_truth

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("texts", "to the word", _texts, _right, _apply)


def _own(result: Result) -> TextEstimate:
    assert isinstance(result.estimate, TextEstimate)
    return result.estimate


def _texts(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.arange(len(own)), own.sure


def _right(votes: Votes[Texts], result: Result, gold: Any) -> F8:
    table = text_truth(gold)
    at, placed = place_gold(table, votes.tasks)
    rows = np.flatnonzero(placed)
    task, n = at[rows].astype(np.int64), len(rows)
    outputs = _own(result).outputs
    runs = word_runs([outputs[t] for t in task.tolist()] + table["output"].gather(rows.tolist()).to_list())
    out = np.full(votes.n_tasks, np.nan)
    out[task] = edit_counts(runs, np.arange(n), n + np.arange(n)) == 0
    return out


def _apply(estimate: TextEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> TextEstimate:
    del parts
    return replace(estimate, sure=np.where(kept, estimate.sure, learnt.of(estimate.sure)))
