"""A part of the gold to fit, the rest to certify: methods that need gold, and honest promises about them."""

from __future__ import annotations

from typing import Any

import polars as pl

from ..aggregate import registry
from ..core.errors import DataError, ParameterError
from ..core.intake.frames import to_polars
from ..core.result import Result
from ..core.vocabulary import as_series
from ..core.votes import Votes
from .gold import hashed


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
