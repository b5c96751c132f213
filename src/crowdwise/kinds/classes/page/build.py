"""From votes of classes and a result to everything that their page shows, as plain values and drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ....active.plan import plan_classes
from ....core.result import Result
from ....report import svg
from ....report.text import shown
from ....report.workers import Note
from ....report.workers import notes as flag_notes
from ....stats.agreement import Level
from ....workers.flags import Coefficient, agreement_table, flag_table
from ..annotations import Annotations
from ..scoring import tasks
from ..workers.study import Study, study_classes
from . import over_time as course
from . import tasks as doubt
from . import workers as crew
from .tasks import Calibration, calibration
from .verdict import Verdict, steps, verdict
from .workers import Pairs, pairs

# Classes in the table of classes.
CLASSES = 40


@dataclass(frozen=True)
class View:
    """All that the templates read."""

    facts: dict[str, Any]
    classes: list[dict[str, Any]]
    ledger: dict[str, Any]
    verdict: Verdict
    steps: list[str]
    agreement: list[Coefficient]
    meanings: Mapping[str, str]
    rows: list[crew.Row]
    n_workers: int
    has: dict[str, bool]
    notes: list[Note]
    coaching: list[Note]
    matrices: list[crew.Matrix]
    pairs: Pairs
    contested: list[doubt.Contested]
    n_contested: int
    confused: list[dict[str, Any]]
    calibration: Calibration
    suspects: list[dict[str, Any]]
    learning: list[course.Curve]
    pace: list[dict[str, Any]]
    training: course.Training | None
    tables: list[tuple[str, str, pl.DataFrame]]


def build(
    votes: Annotations,
    result: Result,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
    level: Level | None = None,
    order: Sequence[Any] | None = None,
) -> View:
    """Work everything out once. `truth` are known labels, `blind` the fit without them (see `report.write`)."""
    look = study_classes(votes, result, gold=truth, level=level, order=order)
    judged = calibration(votes, result, truth, blind)
    advice = plan_classes(votes, result=result)
    if judged.scores is not None and not advice.trust.measured:  # a measurement replaces what was believed before
        advice = advice.since(judged.scores.accuracy)
    disputed = tasks.contested(votes, result, need=advice.need)
    confused = tasks.confused_classes(votes, result)
    met = pairs(votes, result, look.flags)
    first = verdict(votes, result, look.agreement, look.flags, judged, advice)
    return View(
        facts=votes.describe(),
        classes=_classes(votes, result),
        ledger=votes.ledger.to_dict(),
        verdict=first,
        steps=steps(first, judged.suspects, confused, len(look.coachable)),
        agreement=look.agreement,
        meanings=look.meanings,
        rows=crew.rows(look),
        n_workers=int((votes.labels_per_worker > 0).sum()),
        has={name: look.quality[name].null_count() < len(look.quality) for name in ("gold_accuracy", "seconds_median")},
        notes=flag_notes(look.flags, look.meanings),
        coaching=flag_notes(look.coachable, look.meanings),
        matrices=crew.matrices(votes, look),
        pairs=met,
        contested=doubt.contested_rows(votes, disputed),
        n_contested=int((disputed["why"] != "").sum()),
        confused=doubt.plain(confused.filter(pl.col("n") >= 1), ("first", "second"), doubt.CLASSES),
        calibration=judged,
        suspects=[] if judged.suspects is None else doubt.plain(judged.suspects, ("task", "gold", "label"), doubt.GOLD),
        learning=course.learning(look),
        pace=course.pace(look),
        training=course.training(votes, result, history),
        tables=_tables(look, disputed, met, result),
    )


def _classes(votes: Annotations, result: Result) -> list[dict[str, Any]]:
    said = np.bincount(votes.label, minlength=votes.n_classes)
    given = np.bincount(result.labels, minlength=votes.n_classes)
    order = np.argsort(-said, kind="stable")[:CLASSES]
    top = max(float(result.class_prior.max(initial=0.0)), 1e-9)
    return [
        {
            "name": shown(votes.classes[int(c)], 60),
            "said": int(said[c]),
            "given": int(given[c]),
            "prior": float(result.class_prior[c]),
            "bar": svg.bar(float(result.class_prior[c]) / top),
        }
        for c in order
    ]


def _tables(look: Study, disputed: pl.DataFrame, met: Pairs, result: Result) -> list[tuple[str, str, pl.DataFrame]]:
    return [
        ("contested.csv", "every task and its label, what to do first on top", disputed),
        ("quality.csv", "every worker", look.quality),
        ("flags.csv", "every flag with its evidence", flag_table(look.flags)),
        ("coachable.csv", "whom a word may help", flag_table(look.coachable)),
        ("agreement.csv", "the coefficients", agreement_table(look.agreement)),
        ("classes.csv", "recall and precision by worker and class", look.classes),
        ("pairs.csv", "pairs of the workers on the map", met.table),
        ("confusions.csv", "every worker's confusion matrix", look.confusion),
        ("labels.csv", "every task with its probabilities", result.to_table()),
        ("curve.csv", "learning curves", look.curve),
    ]
