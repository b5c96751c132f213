"""Summary of the report: number of safe labels, of tasks that need votes or an expert, and workers to talk to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ....core.result import Result
from ....evaluation.statement import Trust
from ....report import svg
from ....report.text import count, first_few, percent, shown
from ....report.workers import agreement_in_words, workers_to_contact
from ....workers.flags import NAMES, Coefficient, Flag
from ..annotations import Annotations
from ..scoring.recommendations import SAFE
from ..scoring.summaries import dependence_sentences
from .tasks import Calibration

if TYPE_CHECKING:
    from ....active.plan import Plan

# Lower ends of the bands of confidence.
_BANDS = (0.99, SAFE, 0.7, 0.0)


@dataclass(frozen=True)
class SummaryValues:
    """Values of the summary.

    Attributes:
        n_tasks: Number of tasks.
        n_safe: Number of safe labels; None if this is unknown.
        right: Accuracy by known truth, if it replaces the estimate.
        to_check: Number of tasks to check first; 0 if some were checked.
        n_more: Number of tasks that need more votes.
        n_expert: Number of tasks that need an expert.
        n_talk: Number of workers with serious flags.
        n_unknown: Number of workers with too few labels.
        sentences: The statement and further findings.
        advice: Recommendations in sentences.
        talk: (worker, meaning of the flag, evidence) for the most serious flags.
        bands: Drawing of the confidence bands.
        legend: Names and sizes of the bands.
    """

    n_tasks: int
    n_safe: int | None
    right: float | None
    to_check: int
    n_more: int
    n_expert: int
    n_talk: int
    n_unknown: int
    sentences: list[str]
    advice: list[str]
    talk: list[tuple[str, str, str]]
    bands: Markup
    legend: list[tuple[str, int]]


def verdict(
    votes: Annotations,
    result: Result,
    coefficients: Sequence[Coefficient],
    flags: Sequence[Flag],
    calibration: Calibration,
    plan: Plan,
) -> SummaryValues:
    """Compute the summary."""
    confidence = np.where(votes.labels_per_task > 0, result.confidence, 0.0)
    level = plan.trust
    serious = [flag for flag in flags if flag.name != "unknown"]
    legend = _bands(confidence)
    truth = None if level.measured else calibration.scores
    first_sentence = level.sentence() if truth is None else by_truth(calibration, level)
    sentences = [f"{line[0].upper()}{line[1:]}." for line in (first_sentence, *dependence_sentences(result))]
    sentences += agreement_in_words(coefficients)
    sentences += (
        [] if result.converged else ["The method stopped before it converged; allow more iterations (max_iter)."]
    )
    return SummaryValues(
        n_tasks=votes.n_tasks,
        n_safe=level.n_ship if level.counted else None,
        right=None if truth is None else truth.accuracy,
        to_check=0 if level.measured or truth is not None else level.n_to_check,
        n_more=plan.need.n_vote,
        n_expert=plan.need.n_expert,
        advice=plan.sentences(),
        n_talk=len({str(flag.worker) for flag in serious}),
        n_unknown=sum(flag.name == "unknown" for flag in flags),
        sentences=sentences,
        talk=workers_to_contact(serious, NAMES),
        bands=svg.bands(legend, "How sure the labels are: " + "; ".join(f"{name}: {n:,}" for name, n in legend)),
        legend=legend,
    )


def by_truth(calibration: Calibration, level: Trust) -> str:
    """Describe the accuracy measured on known truth, which replaces the estimate from similar crowds."""
    scores, right = calibration.scores, calibration.right
    assert scores is not None
    assert right is not None
    sentence = (
        f"measured on {count(scores.n, 'task')} whose truth is known, {percent(scores.accuracy, 1)} of the labels are "
        f"right{_interval(scores.intervals.get('accuracy'))}"
    )
    safe = right[level.ships & ~np.isnan(right)] if level.counted else right[:0]
    if not len(safe):
        return sentence
    group = count(len(safe), "label that its confidence lets ship", "labels that its confidence lets ship")
    return f"{sentence}; of the {group}, {percent(float(safe.mean()), 1)} are right"


def _bands(confidence: Any) -> list[tuple[str, int]]:
    names = [f"at least {percent(_BANDS[0])} sure"]
    names += [f"{percent(low)} to {percent(high)}" for high, low in pairwise(_BANDS[:-1])]
    names.append(f"less than {percent(_BANDS[-2])}")
    band = (confidence[:, None] < np.array(_BANDS)[None, :-1]).sum(axis=1)
    return list(zip(names, np.bincount(band, minlength=len(names)).tolist(), strict=True))


def _interval(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" (95 % interval {percent(interval[0], 1)} to {percent(interval[1], 1)})"


def steps(
    verdict_: SummaryValues, suspects: pl.DataFrame | None, confused: pl.DataFrame, n_coachable: int
) -> list[str]:
    """Return the recommended next steps as sentences."""
    out = []
    if verdict_.to_check:
        out.append(
            f"Label {count(verdict_.to_check, 'task')} drawn at random (crowdwise aggregate --check check.csv writes "
            "them): they show how many labels are right and which can ship."
        )
    if verdict_.n_more:
        out.append(
            f"Ask for another vote on {count(verdict_.n_more, 'task')}, those with the largest gain per vote first "
            "(contested.csv below lists them in this order, with the number of votes to ask for): "
            f"{verdict_.advice[0]}. crowdwise next recommends workers to ask, and shows the gain of a smaller budget."
        )
    if verdict_.n_expert:
        out.append(f"Show {count(verdict_.n_expert, 'task')} to an expert: more votes of this crowd would hardly help.")
    if verdict_.n_talk:
        out.append(
            f"Talk to {count(verdict_.n_talk, 'worker')} before removing anybody; crowdwise aggregate --drop-flagged "
            "shows what would change without those who guess or collude."
        )
    if n_coachable:
        out.append(
            f"Show {count(n_coachable, 'worker')} where the others disagree: systematic confusions and low skill are "
            "listed under Coachable."
        )
    if suspects is not None and len(suspects):
        names = first_few([shown(t, 30) for t in suspects["task"].to_list()], 3)
        out.append(f"Look again at {count(len(suspects), 'known label')} that the crowd contradicts: {names}.")
    if len(confused) and confused["n"][0] >= 1:
        first, second = (shown(confused[name][0], 30) for name in ("first", "second"))
        advice = "do the instructions distinguish them?"
        if confused["advice"][0] == "merge or explain":
            advice = "workers hardly distinguish them, so merge the two, or explain the difference with examples."
        out.append(f"The most frequently confused classes are “{first}” and “{second}”: {advice}")
    if verdict_.n_unknown:
        out.append(
            f"{count(verdict_.n_unknown, 'worker')} gave too few labels to be judged; nothing is held against them."
        )
    return out
