"""Everything about the workers of one fit, worked out once: for the command line, the report and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ..aggregate.cost import too_thin
from ..core.errors import DataError
from ..core.result import Result
from ..kinds.classes import Annotations
from ..maths.agreement import Level
from . import colluders, drift, spammers
from .agreement import agreement
from .coaching import coachable_of
from .coefficient import Coefficient
from .confusions import classes_of, confusion_of
from .flags import REMOVED, Flag
from .judgement import Judgement
from .quality import quality_of

# The agreement of the crowd alone takes the tables of so many workers.
_FEWEST = 8


@dataclass(frozen=True)
class Study:
    """`quality`, `classes`, `confusion` and `curve` are tables (see the functions of these names), `agreement` the
    crowd's coefficients, `flags` what to know about single workers, the most serious first, `coachable` whom a word may
    help (see `coachable`), none of whom guesses or colludes."""

    quality: pl.DataFrame
    classes: pl.DataFrame
    confusion: pl.DataFrame
    curve: pl.DataFrame
    agreement: list[Coefficient]
    flags: list[Flag]
    coachable: list[Flag]


def study(
    annotations: Annotations,
    result: Result,
    *,
    gold: Any = None,
    level: Level = "nominal",
    order: Sequence[Any] | None = None,
    idle: float = 600.0,
) -> Study:
    """Quality, agreement and flags. `gold` adds accuracies on known tasks, `level` and `order` grade the agreement
    (see `agreement`), `idle` is the longest pause in seconds that still counts as work.
    """
    if too_thin(annotations, _FEWEST):
        raise DataError(
            f"{annotations.n_classes:,} classes are too many to judge {annotations.n_workers:,} workers by "
            f"{len(annotations):,} labels: their confusion matrices would be far larger than the data; "
            "is the label column the right one?"
        )
    judgement = Judgement(annotations, result)
    flags = flags_of(judgement)
    idlers = {flag.worker for flag in flags if flag.name in REMOVED}
    return Study(
        quality_of(judgement, gold, idle),
        classes_of(judgement),
        confusion_of(judgement),
        drift.curve_of(judgement),
        agreement(annotations, level=level, order=order),
        flags,
        [flag for flag in coachable_of(judgement) if flag.worker not in idlers],
    )


# What comes first in a list of flags.
_ORDER = ("colluding", "adversarial", "constant", "random", "copying", "drift", "unknown")


def flags_of(judgement: Judgement) -> list[Flag]:
    """All flags with an error rate: spammers, adversaries, colluders, copiers, drift, and who is unknown."""
    found = [*spammers.flags_of(judgement), *colluders.flags_of(judgement), *drift.flags_of(judgement)]
    place = {name: i for i, name in enumerate(_ORDER)}
    return sorted(found, key=lambda flag: place.get(flag.name, len(_ORDER)))
