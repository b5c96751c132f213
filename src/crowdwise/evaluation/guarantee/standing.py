"""In which order accept takes tasks: by confidence, or by the lower of two places where an average of methods
(`adaptive`, `committee`) labelled them.

A promise holds for every order that was fixed without the gold; the order only decides how much is accepted. Why two
places: kinds/classes/methods/ensemble/committee.py, which gives a fit with gold the order of its blind fit.
`python -m benchmarks.guarantee order` compares orders on sets that took no part in this choice, and on those that did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.errors import CrowdwiseError, DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.result import Result
from ...core.vocabulary import as_series
from ...core.votes import Votes
from ..accepting_order import AVERAGES, OWN, second_model
from .gold import hashed
from .sequential import Scale, lowest_place, scale_of
from .verdicts import Verdicts

# ----------------------------------------------------------------
# A part of the gold to fit, the rest to certify: methods that need gold, and honest promises about them.


def split_fit(given: Any, votes: Votes[Any] | None, gold: Any, share: float, seed: int) -> tuple[Result, pl.DataFrame]:
    """(the method fitted on a share of the gold, the rest of the gold); who is where is settled by hashes of ids."""
    if not 0 < share < 1:
        raise ParameterError(f"the share of gold to fit must be between 0 and 1, got {share}")
    votes = given if isinstance(given, Votes) else votes
    if votes is None:
        raise DataError("to split the gold the votes are needed; name a run that has them, or pass votes=")
    table = (
        pl.DataFrame({"task": list(gold), "label": list(gold.values())}) if isinstance(gold, dict) else to_polars(gold)
    )
    luck = hashed(as_series(table["task"], "task"), seed)
    fit, rest = table.filter(pl.Series(luck < share)), table.filter(pl.Series(luck >= share))
    if not len(fit) or not len(rest):
        raise DataError(f"{len(table)} gold labels are too few to split")
    known = fit.select("task", "label")
    if isinstance(given, Result):
        method = registry.method(given.method, **given.params)
    else:
        method = registry.method(registry.default_method(votes, known), seed=seed)
    return method.fit(votes, gold=known), rest


F8 = npt.NDArray[np.float64]
Surest = Literal["auto", "confidence", "places"]


def ordered(
    found: Verdicts, given: Any, votes: Votes[Any] | None, surest: Surest, scales: dict[str, Any] | None = None
) -> tuple[Verdicts, dict[str, Scale], list[str]]:
    """(verdicts that know their order, the scales of its places, notes). With `scales`, places are those of an
    earlier batch."""
    if surest not in ("auto", "confidence", "places"):
        raise ParameterError(f"surest must be auto, confidence or places, got {surest!r}")
    if surest == "confidence" or found.standing is not None:
        return found, {}, []
    model = _model(given)
    if model is None or votes is None:
        if surest == "auto":
            return found, {}, []
        what = "the votes" if model is not None else f"labels of {' or '.join(AVERAGES)}"
        raise DataError(f"an order by places needs {what}; order by confidence, or name a run that has them")
    try:
        second = _second(model, votes, found)
    except CrowdwiseError as error:
        if surest == "places":
            raise
        return found, {}, [f"tasks are ordered by confidence alone, {model} could not be asked ({error})"]
    views = {OWN: found.confidence, model: second}
    free = found.said if found.told is None else found.said & ~found.told
    if scales is None:
        made = {name: scale_of(view[free]) for name, view in views.items()} if free.any() else {}
    else:
        made = {name: Scale(**scale) if isinstance(scale, dict) else scale for name, scale in scales.items()}
    if not made:
        return found, {}, []
    if set(made) - set(views):
        raise DataError(f"the certificate orders tasks by {' and '.join(made)}, this run has {' and '.join(views)}")
    return replace(found, standing=lowest_place(made, views)), made, []


def _model(given: Any) -> str | None:
    """The model beside an average of methods, None for every other method."""
    return second_model(given.method, given.params) if isinstance(given, Result) else None


def _second(model: str, votes: Votes[Any], found: Verdicts) -> F8:
    """The model's probability of each label, fitted to the same votes without gold."""
    fit: Result = registry.method(model).fit(votes)
    if fit.tasks.to_list() != found.tasks.to_list():
        raise DataError("the votes have other tasks than the labels")
    place = {name: code for code, name in enumerate(fit.classes.to_list())}
    code = np.array([place.get(name, -1) for name in found.classes.to_list()] + [-1])[found.label]
    known = np.where(code >= 0, fit.posterior[np.arange(len(code)), code], 0.0)
    return np.asarray(known, dtype=float)
