"""Everything about the workers of one fit, worked out once: for the command line, the report and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ....core.errors import DataError
from ....core.result import Result
from ....evaluation.scores import Table
from ....stats.agreement import Level
from ....workers.flags import REMOVED, Flag, flag_table
from ....workers.studied import Block, Studied, best_and_worst, between, number, some_of
from ....workers.tables import bar
from ..annotations import Annotations
from ..methods.needs import too_thin
from ..scoring.tasks import contested
from . import dependence as colluders
from . import drift
from . import quality as spammers
from .agreement import agreement
from .coaching import coachable_of
from .judgement import Judgement, classes_of, confusion_of
from .pairs import pair_table
from .quality import quality_of

# The agreement of the crowd alone takes the tables of so many workers.
_FEWEST = 8


@dataclass(frozen=True, eq=False)
class Study(Studied):
    """Workers who said classes. `quality`, `classes`, `confusion` and `curve` are tables (see the functions of these
    names), `coachable` is whom a word may help (see `coachable`), none of whom guesses or colludes."""

    votes: Annotations = field(repr=False)
    classes: pl.DataFrame
    confusion: pl.DataFrame
    curve: pl.DataFrame
    coachable: list[Flag]

    def files(self) -> dict[str, pl.DataFrame]:
        """The tables by the names of their files."""
        common = super().files()
        return {
            "quality.csv": common["quality.csv"],
            "classes.csv": self.classes,
            "confusions.csv": self.confusion,
            **common,
            "pairs.csv": pair_table(self.votes),
            "curve.csv": self.curve,
            "contested.csv": contested(self.votes, self.result),
            "coachable.csv": flag_table(self.coachable),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        found = super().to_dict()
        workers = found.pop("workers")
        coached = [flag.to_dict() for flag in self.coachable]
        return {**found, "coachable": coached, "workers": workers, "classes": self.classes.to_dicts()}

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or the best and the worst of many."""
        best, worst = best_and_worst(self.quality, ends)
        n = int((self.quality["n_labels"] > 0).sum())
        header = ["worker", "labels", "skill", "95 % interval", "", "confirmed", "bits", "spammer?", "flags"]
        parts = {"Workers, best first": best}
        if len(worst):
            of = f"({ends} of {n:,}, by the {{}} end of the interval)"
            parts = {f"Workers, the best {of.format('lower')}": best, f"Workers, the worst {of.format('upper')}": worst}
        return [Table(title, header, [self._row(row) for row in table.to_dicts()]) for title, table in parts.items()]

    def _row(self, row: dict[str, Any]) -> list[str]:
        names = ", ".join(flag.name for flag in self.flags if flag.worker == row["worker"])
        skill, low, high = row["skill"], row["skill_low"], row["skill_high"]
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            number(skill),
            between(low, high),
            bar(skill, low, high, 16),
            number(row["consensus_agreement"]),
            number(row["bits"]),
            number(row["spammer_probability"]),
            names,
        ]

    def more(self, shown: int) -> list[Block]:
        """Whom a word may help."""
        if not self.coachable:
            return []
        of = {row["worker"]: row for row in self.quality.to_dicts()}
        rows = [
            [str(f.worker), f"{of[f.worker]['n_labels']:,}", number(of[f.worker]["skill"]), f.evidence]
            for f in self.coachable[:shown]
        ]
        title = f"Coachable: a word may help{some_of(shown, len(self.coachable))}"
        return [Table(title, ["worker", "labels", "skill", "what is seen"], rows)]

    def closing_more(self) -> str:
        """How many are coachable."""
        return f", {len(self.coachable)} coachable" * bool(self.coachable)


def graded(annotations: Annotations, level: Level | None, order: Sequence[Any] | None) -> dict[str, Any]:
    """How the agreement is graded: as it was asked for, or by the votes' own order."""
    own = annotations.answers.order
    if level is None and order is None and own is not None:
        return {"level": "ordinal", "order": annotations.classes.gather(own).to_list()}
    return {"level": level or "nominal", "order": order}


def study_classes(
    annotations: Annotations,
    result: Result,
    *,
    gold: Any = None,
    level: Level | None = None,
    order: Sequence[Any] | None = None,
    idle: float = 600.0,
) -> Study:
    """Of classes. `gold` adds accuracies on known tasks, `level` and `order` grade the agreement (see `agreement`;
    votes that have an order are graded by it unless something else is said), `idle` is the longest pause in seconds
    that still counts as work.
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
        votes=annotations,
        result=result,
        quality=quality_of(judgement, gold, idle),
        agreement=agreement(annotations, **graded(annotations, level, order)),
        flags=flags,
        classes=classes_of(judgement),
        confusion=confusion_of(judgement),
        curve=drift.curve_of(judgement),
        coachable=[flag for flag in coachable_of(judgement) if flag.worker not in idlers],
    )


# What comes first in a list of flags.
_ORDER = ("colluding", "adversarial", "constant", "random", "copying", "drift", "unknown")


def flag_classes(annotations: Annotations, result: Result) -> list[Flag]:
    """All flags of a fit of classes."""
    return flags_of(Judgement(annotations, result))


def flags_of(judgement: Judgement) -> list[Flag]:
    """All flags with an error rate: spammers, adversaries, colluders, copiers, drift, and who is unknown."""
    found = [*spammers.flags_of(judgement), *colluders.flags_of(judgement), *drift.flags_of(judgement)]
    place = {name: i for i, name in enumerate(_ORDER)}
    return sorted(found, key=lambda flag: place.get(flag.name, len(_ORDER)))
