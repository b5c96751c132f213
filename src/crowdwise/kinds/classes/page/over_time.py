"""Changes over time: drift of workers, seconds per label, and the training of a classifier."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ....core.kind import KindHooks
from ....core.result import Result
from ....report import svg as charts
from ....report.page import fragment
from ....report.sheet import Section
from ....report.svg import NOTHING
from ....report.text import number, percent, shown
from ..annotations import Annotations
from ..workers.study import Study

# Most learning curves that are drawn; most tasks that are listed on which classifier and crowd differ.
CURVES = 12
TASKS = 25


@dataclass(frozen=True)
class Curve:
    """Learning curve of one worker."""

    worker: str
    caption: str
    drawing: Markup


def learning(study: Study) -> list[Curve]:
    """Return the curves of the workers with the most significant changes, then of the busiest."""
    if not len(study.curve):
        return []
    have = study.curve["worker"].unique()
    table = study.quality.filter(pl.col("worker").is_in(have.implode()))
    table = table.sort(["drift_p", "n_labels"], descending=[False, True], nulls_last=True, maintain_order=True)
    out = []
    for row in table.head(CURVES).to_dicts():
        worker_curve = study.curve.filter(pl.col("worker") == row["worker"])
        caption = f"{row['n_labels']:,} labels"
        if row["drift_p"] is not None and row["drift_p"] < 0.01:
            caption += f"; changed from {percent(row['drift_before'])} to {percent(row['drift_after'])}"
        label = f"Accuracy of worker {shown(row['worker'], 30)} over their labels: {caption}"
        series = [("accuracy", worker_curve["position"].to_list(), worker_curve["accuracy"].to_list())]
        drawing = charts.curves(series, "label", label, y_range=(0.0, 1.0), width=240, height=150)
        out.append(Curve(shown(row["worker"], 30), caption, drawing))
    return out


def pace(study: Study) -> list[dict[str, Any]]:
    """Return the fastest workers by median seconds per label."""
    table = study.quality.filter(pl.col("seconds_median").is_not_null()).sort("seconds_median").head(10)
    return [row | {"worker": shown(row["worker"])} for row in table.to_dicts()]


@dataclass(frozen=True)
class Training:
    """Loss curves, and the classifier compared with the crowd."""

    loss: Markup = NOTHING
    score: Markup = NOTHING
    terms: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)


def training(votes: Annotations, result: Result, history: pl.DataFrame | None) -> Training | None:
    """Describe the training of a classifier; None for the result of an aggregator."""
    if "classifier" not in result.extra:
        return None
    classifier = np.asarray(result.extra["classifier"])
    differ = np.flatnonzero(classifier.argmax(axis=1) != result.labels)
    has_labels = votes.labels_per_task > 0
    agrees_with_votes = (votes.votes.argmax(axis=1) == classifier.argmax(axis=1))[has_labels]
    sentences = [
        f"From the features alone, the classifier agrees with the labels estimated from features and votes on "
        f"{len(result.labels) - len(differ):,} of {len(result.labels):,} tasks, and with the majority of the crowd on "
        f"{int(agrees_with_votes.sum()):,} of {int(has_labels.sum()):,}."
    ]
    training_ = training_progress(result, history)
    return replace(training_, sentences=sentences + training_.sentences, rows=_differing(result, classifier, differ))


def has_training_section(result: Result) -> bool:
    """Whether the page of this kind has its own section about training."""
    kind = result.kind
    return kind.hooks.supports(KindHooks.page) and "history" in signature(kind.hooks.page).parameters


def training_section(result: Result, history: pl.DataFrame | None) -> list[Section]:
    """Return a section about training for pages without one; empty for the result of an aggregator."""
    if "best_epoch" not in result.extra:
        return []
    curves = fragment("curves.html.j2", training=training_progress(result, history))
    return [Section("training", "Training", "Training of the net", curves)]


def training_progress(result: Result, history: pl.DataFrame | None) -> Training:
    """Describe the progress of a training for any kind of answers: curves, and the selected epoch."""
    best = result.extra.get("best_epoch")
    sentences = [] if best is None else [f"The weights of epoch {best} of {result.n_iter} were kept."]
    if history is None or not {"epoch", "loss"} <= set(history.columns):
        epochs = np.arange(1, len(result.trace) + 1)
        history = pl.DataFrame({"epoch": epochs, "loss": -result.trace})
    loss, score, terms = _progress(history, None if best is None else float(best))
    return Training(loss, score, terms, sentences)


def _progress(history: pl.DataFrame, best: float | None) -> tuple[Markup, Markup, list[str]]:
    """Curves of the loss with its terms and of the held-out score; a single term is not repeated."""
    numbers = history.with_columns(pl.all().cast(pl.Float64, strict=False).fill_null(float("nan")))
    if not len(numbers):
        return NOTHING, NOTHING, []
    terms = ["loss", *(c for c in history.columns if c not in ("epoch", "score", "loss"))][:4]
    terms = terms if len(terms) > 2 else ["loss"]
    epoch = numbers["epoch"].to_list()
    series = [(shown(c, 20), epoch, numbers[c].to_list()) for c in terms]
    label = f"Loss by epoch, ending at {number(numbers['loss'][-1], 3)}"
    loss, score = charts.curves(series, "epoch", label, at=best, width=420), NOTHING
    if "score" in numbers.columns:
        score_series = [("score", epoch, numbers["score"].to_list())]
        score = charts.curves(score_series, "epoch", "Score on held-out answers by epoch", at=best, width=420)
    return loss, score, [shown(term, 30) for term in terms]


def _differing(result: Result, classifier: Any, differ: Any) -> list[dict[str, Any]]:
    """Tasks on which the classifier alone differs, most confident first."""
    certainty = classifier[differ].max(axis=1) if len(differ) else np.empty(0)
    return [
        {
            "task": shown(result.tasks[int(t)]),
            "classifier": shown(result.classes[int(classifier[t].argmax())], 40),
            "sure": float(classifier[t].max()),
            "label": shown(result.classes[int(result.labels[t])], 40),
            "confidence": float(result.confidence[t]),
            "n_labels": int(result.labels_per_task[t]),
        }
        for t in differ[np.argsort(-certainty, kind="stable")][:TASKS]
    ]
