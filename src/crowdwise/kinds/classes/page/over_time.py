"""What happens over time: workers who change, how long a label takes, and the training of a classifier."""

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

# Learning curves drawn; tasks listed on which classifier and crowd differ.
CURVES = 12
TASKS = 25


@dataclass(frozen=True)
class Curve:
    """One worker's accuracy over their labels."""

    worker: str
    caption: str
    drawing: Markup


def learning(look: Study) -> list[Curve]:
    """Curves of the workers whose accuracy changed most surely, then of the busiest."""
    if not len(look.curve):
        return []
    have = look.curve["worker"].unique()
    table = look.quality.filter(pl.col("worker").is_in(have.implode()))
    table = table.sort(["drift_p", "n_labels"], descending=[False, True], nulls_last=True, maintain_order=True)
    out = []
    for row in table.head(CURVES).to_dicts():
        own = look.curve.filter(pl.col("worker") == row["worker"])
        caption = f"{row['n_labels']:,} labels"
        if row["drift_p"] is not None and row["drift_p"] < 0.01:
            caption += f"; changed from {percent(row['drift_before'])} to {percent(row['drift_after'])}"
        label = f"Accuracy of worker {shown(row['worker'], 30)} over their labels: {caption}"
        series = [("accuracy", own["position"].to_list(), own["accuracy"].to_list())]
        drawing = charts.curves(series, "label", label, y_range=(0.0, 1.0), width=240, height=150)
        out.append(Curve(shown(row["worker"], 30), caption, drawing))
    return out


def pace(look: Study) -> list[dict[str, Any]]:
    """The quickest workers by median seconds a label."""
    table = look.quality.filter(pl.col("seconds_median").is_not_null()).sort("seconds_median").head(10)
    return [row | {"worker": shown(row["worker"])} for row in table.to_dicts()]


@dataclass(frozen=True)
class Training:
    """Loss curves and the classifier beside the crowd."""

    loss: Markup = NOTHING
    score: Markup = NOTHING
    terms: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)


def training(votes: Annotations, result: Result, history: pl.DataFrame | None) -> Training | None:
    """For a result of training end to end; None for an aggregation."""
    if "classifier" not in result.extra:
        return None
    alone = np.asarray(result.extra["classifier"])
    differ = np.flatnonzero(alone.argmax(axis=1) != result.labels)
    here = votes.labels_per_task > 0
    said = (votes.votes.argmax(axis=1) == alone.argmax(axis=1))[here]
    sentences = [
        f"From the features alone the classifier says the same as features and labels together for "
        f"{len(result.labels) - len(differ):,} of {len(result.labels):,} tasks, and the same as the majority of the "
        f"crowd for {int(said.sum()):,} of {int(here.sum()):,}."
    ]
    found = course_of(result, history)
    return replace(found, sentences=sentences + found.sentences, rows=_differing(result, alone, differ))


def tells_of_training(result: Result) -> bool:
    """Whether the page of this kind tells of a training by itself."""
    kind = result.kind
    return kind.hooks.supports(KindHooks.page) and "history" in signature(kind.hooks.page).parameters


def training_section(result: Result, history: pl.DataFrame | None) -> list[Section]:
    """How a net was trained, for pages that say nothing of it; nothing for an aggregation."""
    if "best_epoch" not in result.extra:
        return []
    curves = fragment("curves.html.j2", training=course_of(result, history))
    return [Section("training", "Training", "Training of the net", curves)]


def course_of(result: Result, history: pl.DataFrame | None) -> Training:
    """How the training went, whatever the kind of answers: curves, and the epoch that was kept."""
    best = result.extra.get("best_epoch")
    sentences = [] if best is None else [f"The weights of epoch {best} of {result.n_iter} were kept."]
    if history is None or not {"epoch", "loss"} <= set(history.columns):
        epochs = np.arange(1, len(result.trace) + 1)
        history = pl.DataFrame({"epoch": epochs, "loss": -result.trace})
    loss, score, terms = _progress(history, None if best is None else float(best))
    return Training(loss, score, terms, sentences)


def _progress(history: pl.DataFrame, best: float | None) -> tuple[Markup, Markup, list[str]]:
    """Curves of the loss with its terms and of the held-out score; a term that is all of the loss is left out."""
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
        one = [("score", epoch, numbers["score"].to_list())]
        score = charts.curves(one, "epoch", "Score on held-out answers by epoch", at=best, width=420)
    return loss, score, [shown(term, 30) for term in terms]


def _differing(result: Result, alone: Any, differ: Any) -> list[dict[str, Any]]:
    """Tasks on which the classifier alone says something else, where it is surest first."""
    sure = alone[differ].max(axis=1) if len(differ) else np.empty(0)
    return [
        {
            "task": shown(result.tasks[int(t)]),
            "classifier": shown(result.classes[int(alone[t].argmax())], 40),
            "sure": float(alone[t].max()),
            "label": shown(result.classes[int(result.labels[t])], 40),
            "confidence": float(result.confidence[t]),
            "n_labels": int(result.labels_per_task[t]),
        }
        for t in differ[np.argsort(-sure, kind="stable")][:TASKS]
    ]
