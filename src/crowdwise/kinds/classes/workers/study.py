"""All worker statistics of one fit, computed once for the command line, the report and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from ....core.errors import DataError
from ....core.progress import watching
from ....core.result import Result
from ....evaluation.scores import Table
from ....stats.agreement import Level
from ....workers.flags import REMOVED, Coefficient, Flag, flag_table
from ....workers.studied import Block, Studied, best_and_worst, between, number, some_of
from ....workers.tables import bar
from ..annotations import Annotations
from ..methods.requirements import too_sparse
from ..scoring.tasks import contested
from . import dependence as colluders
from . import drift
from . import quality as spammers
from .agreement import SCALES, agreement, is_unstated_scale, scale_question
from .coaching import coachable_of
from .judgement import Judgement, classes_of, confusion_of
from .pairs import pair_table
from .quality import quality_of
from .readings import reading_note

# Least number of workers in the check for too large tables, because the agreement of the crowd needs as much memory.
_FEWEST = 8


@dataclass(frozen=True, eq=False)
class Study(Studied):
    """Study of workers who gave class labels.

    Attributes:
        votes: The votes.
        quality: Table of `quality`.
        classes: Table of `class_table`.
        confusion: Table of `confusion_table`.
        curve: Table of `learning_curve`.
        reading: Whether the same workers are flagged if whole numbers are read as numbers, and why not.
        coachable: Workers who may benefit from feedback (see `coachable`), without those who guess or collude.
    """

    votes: Annotations = field(repr=False)
    classes: pl.DataFrame
    confusion: pl.DataFrame
    curve: pl.DataFrame
    coachable: list[Flag]
    reading: str = ""

    def files(self) -> dict[str, pl.DataFrame]:
        """Return the tables by file name."""
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
        """Return plain values."""
        values = super().to_dict()
        workers = values.pop("workers")
        coached = [flag.to_dict() for flag in self.coachable]
        values |= {"reading": self.reading} if self.reading else {}
        return {**values, "coachable": coached, "workers": workers, "classes": self.classes.to_dicts()}

    def worker_tables(self, ends: int) -> list[Table]:
        """Return a table of all workers, or tables of the best and the worst of many."""
        best, worst = best_and_worst(self.quality, ends)
        n = int((self.quality["n_labels"] > 0).sum())
        header = ["worker", "labels", "skill", "95 % interval", "", "confirmed", "bits", "spammer?", "flags"]
        parts = {"Workers, best first": best}
        if len(worst):
            title_suffix = f"({ends} of {n:,}, by the {{}} end of the interval)"
            parts = {
                f"Workers, the best {title_suffix.format('lower')}": best,
                f"Workers, the worst {title_suffix.format('upper')}": worst,
            }
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
        """Return a table of the coachable workers, and the note on other readings."""
        reading = [self.reading] if self.reading else []
        if not self.coachable:
            return [*reading]
        quality_rows = {row["worker"]: row for row in self.quality.to_dicts()}
        rows = [
            [
                str(f.worker),
                f"{quality_rows[f.worker]['n_labels']:,}",
                number(quality_rows[f.worker]["skill"]),
                f.evidence,
            ]
            for f in self.coachable[:shown]
        ]
        title = f"Coachable: feedback may help{some_of(shown, len(self.coachable))}"
        return [Table(title, ["worker", "labels", "skill", "evidence"], rows), *reading]

    def closing_more(self) -> str:
        """Return the number of coachable workers as text."""
        return f", {len(self.coachable)} coachable" * bool(self.coachable)


def agreement_options(annotations: Annotations, level: Level | None, order: Sequence[Any] | None) -> dict[str, Any]:
    """Return level and order of the agreement: as given, or by the order of the classes."""
    class_order = annotations.answers.order
    if level is None and order is None and class_order is not None:
        return {"level": "ordinal", "order": annotations.classes.gather(class_order).to_list()}
    return {"level": level or "nominal", "order": order}


def _agreement(annotations: Annotations, level: Level | None, order: Sequence[Any] | None) -> list[Coefficient]:
    """Return the coefficients; for whole numbers of unknown level also alpha for grades and for amounts."""
    coefficients = agreement(annotations, **agreement_options(annotations, level, order))
    if level is not None or order is not None or not is_unstated_scale(annotations):
        return coefficients
    first = next(i for i, c in enumerate(coefficients) if c.name.startswith("Krippendorff"))
    question = scale_question(annotations.classes)
    nominal = replace(coefficients[first], name="Krippendorff's alpha, nominal", note=question)
    graded = [
        next(c for c in agreement(annotations, level=scale) if c.name.startswith("Krippendorff"))
        for scale in SCALES[1:]
    ]
    return [*coefficients[:first], nominal, *graded, *coefficients[first + 1 :]]


@watching("workers")
def study_classes(
    annotations: Annotations,
    result: Result,
    *,
    gold: Any = None,
    level: Level | None = None,
    order: Sequence[Any] | None = None,
    idle: float = 600.0,
) -> Study:
    """Study the workers of a fit of classes.

    Args:
        annotations: The votes.
        result: A result fitted on these votes.
        gold: Known labels, for accuracies on gold tasks.
        level: Level of measurement for the agreement (see `agreement`); ordinal by default if classes have an order.
        order: Order of the classes for the agreement.
        idle: Longest pause, in seconds, that counts as working time.
    """
    if too_sparse(annotations, _FEWEST):
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
        agreement=_agreement(annotations, level, order),
        flags=flags,
        classes=classes_of(judgement),
        confusion=confusion_of(judgement),
        curve=drift.curve_of(judgement),
        coachable=[flag for flag in coachable_of(judgement) if flag.worker not in idlers],
        reading=reading_note(annotations, flags),
    )


# Order of the flags in a list.
_ORDER = ("colluding", "adversarial", "constant", "random", "copying", "drift", "unknown")


def flag_classes(annotations: Annotations, result: Result) -> list[Flag]:
    """Return all flags of a fit of classes."""
    return flags_of(Judgement(annotations, result))


def flags_of(judgement: Judgement) -> list[Flag]:
    """Return all flags with an error rate: spammers, adversaries, colluders, copiers, drift, and unknown workers."""
    flags = [*spammers.flags_of(judgement), *colluders.flags_of(judgement), *drift.flags_of(judgement)]
    priority = {name: i for i, name in enumerate(_ORDER)}
    return sorted(flags, key=lambda flag: priority.get(flag.name, len(_ORDER)))
