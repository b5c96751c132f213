"""Compute everything that the page of classes shows, as plain values and drawings."""

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
from ....report.workers import FlagNote
from ....report.workers import notes as flag_notes
from ....stats.agreement import Level
from ....workers.flags import Coefficient, agreement_table, flag_table
from ..annotations import Annotations
from ..scoring import tasks
from ..workers.study import Study, study_classes
from . import over_time
from . import tasks as task_tables
from . import workers as worker_tables
from .tasks import Calibration, calibration
from .verdict import SummaryValues, steps, verdict
from .workers import PairMap, pairs

# Most rows in the table of classes.
CLASSES = 40


@dataclass(frozen=True)
class ClassView:
    """Values used by the templates."""

    facts: dict[str, Any]
    classes: list[dict[str, Any]]
    ledger: dict[str, Any]
    verdict: SummaryValues
    steps: list[str]
    agreement: list[Coefficient]
    reading: str
    meanings: Mapping[str, str]
    rows: list[worker_tables.WorkerTableRow]
    n_workers: int
    has: dict[str, bool]
    notes: list[FlagNote]
    coaching: list[FlagNote]
    matrices: list[worker_tables.Matrix]
    pairs: PairMap
    contested: list[task_tables.Contested]
    n_contested: int
    confused: list[dict[str, Any]]
    calibration: Calibration
    suspects: list[dict[str, Any]]
    learning: list[over_time.Curve]
    pace: list[dict[str, Any]]
    training: over_time.Training | None
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
) -> ClassView:
    """Compute the view. `truth` holds known labels, `blind` the fit without them (see `report.write`)."""
    study = study_classes(votes, result, gold=truth, level=level, order=order)
    measured = calibration(votes, result, truth, blind)
    plan = plan_classes(votes, result=result)
    if measured.scores is not None and not plan.trust.measured:  # a measurement replaces the estimate
        plan = plan.since(measured.scores.accuracy)
    disputed = tasks.contested(votes, result, recommendations=plan.need)
    confused = tasks.confused_classes(votes, result)
    pair_map = pairs(votes, result, study.flags)
    verdict_ = verdict(votes, result, study.agreement, study.flags, measured, plan)
    return ClassView(
        facts=votes.describe(),
        classes=_classes(votes, result),
        ledger=votes.ledger.to_dict(),
        verdict=verdict_,
        steps=steps(verdict_, measured.suspects, confused, len(study.coachable)),
        agreement=study.agreement,
        reading=study.reading,
        meanings=study.meanings,
        rows=worker_tables.rows(study),
        n_workers=int((votes.labels_per_worker > 0).sum()),
        has={
            name: study.quality[name].null_count() < len(study.quality) for name in ("gold_accuracy", "seconds_median")
        },
        notes=flag_notes(study.flags, study.meanings),
        coaching=flag_notes(study.coachable, study.meanings),
        matrices=worker_tables.matrices(votes, study),
        pairs=pair_map,
        contested=task_tables.contested_rows(votes, disputed),
        n_contested=int((disputed["why"] != "").sum()),
        confused=task_tables.plain(confused.filter(pl.col("n") >= 1), ("first", "second"), task_tables.CLASSES),
        calibration=measured,
        suspects=[]
        if measured.suspects is None
        else task_tables.plain(measured.suspects, ("task", "gold", "label"), task_tables.GOLD),
        learning=over_time.learning(study),
        pace=over_time.pace(study),
        training=over_time.training(votes, result, history),
        tables=_tables(study, disputed, pair_map, result),
    )


def _classes(votes: Annotations, result: Result) -> list[dict[str, Any]]:
    n_votes = np.bincount(votes.label, minlength=votes.n_classes)
    quality = result.class_table()
    order = np.argsort(-n_votes, kind="stable")[:CLASSES]
    top = max(float(result.class_prior.max(initial=0.0)), 1e-9)
    return [
        {
            "name": shown(votes.classes[int(c)], 60),
            "said": int(n_votes[c]),
            "given": quality["n_labelled"][int(c)],
            "precision": quality["precision"][int(c)],
            "recall": quality["recall"][int(c)],
            "prior": float(result.class_prior[c]),
            "bar": svg.bar(float(result.class_prior[c]) / top),
        }
        for c in order
    ]


def _tables(
    study: Study, disputed: pl.DataFrame, pair_map: PairMap, result: Result
) -> list[tuple[str, str, pl.DataFrame]]:
    return [
        ("contested.csv", "every task and its label, most urgent first", disputed),
        ("quality.csv", "every worker", study.quality),
        ("flags.csv", "every flag with its evidence", flag_table(study.flags)),
        ("coachable.csv", "workers who may benefit from feedback", flag_table(study.coachable)),
        ("agreement.csv", "agreement coefficients", agreement_table(study.agreement)),
        ("classes.csv", "recall and precision by worker and class", study.classes),
        ("pairs.csv", "pairs of the workers on the map", pair_map.table),
        ("class_quality.csv", "expected precision and recall of every class", result.class_table()),
        ("confusions.csv", "every worker's confusion matrix", study.confusion),
        ("labels.csv", "every task with its probabilities", result.to_table()),
        ("curve.csv", "learning curves", study.curve),
    ]
