"""The verdict in plain words: how many labels are safe, how many need another vote or an expert, whom to talk to."""

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
from ....report.text import count, enough, percent, shown
from ....report.workers import agreement_in_words, whom_to_talk_to
from ....workers.flags import NAMES, Coefficient, Flag
from ..annotations import Annotations
from ..scoring.needs import SAFE
from ..scoring.shown import err_together
from .tasks import Calibration

if TYPE_CHECKING:
    from ....active.plan import Plan

# The lower ends of the bands of confidence, the surest first.
_BANDS = (0.99, SAFE, 0.7, 0.0)


@dataclass(frozen=True)
class Verdict:
    """What is said first. `n_safe` is None where nobody knows which labels are safe; `right` is the share of right
    labels where their known truth says more than that; `to_check` tasks are to be checked first (0: some have been).
    `talk` holds (worker, what the flag means, evidence) of the most serious flags."""

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
    judged: Calibration,
    advice: Plan,
) -> Verdict:
    """From the numbers to sentences."""
    confidence = np.where(votes.labels_per_task > 0, result.confidence, 0.0)
    level = advice.trust
    grave = [flag for flag in flags if flag.name != "unknown"]
    legend = _bands(confidence)
    truth = None if level.measured else judged.scores
    words = level.sentence() if truth is None else by_truth(judged, level)
    sentences = [f"{line[0].upper()}{line[1:]}." for line in (words, *err_together(result))]
    sentences += agreement_in_words(coefficients)
    sentences += (
        [] if result.converged else ["The method stopped before it settled; give it more iterations (max_iter)."]
    )
    return Verdict(
        n_tasks=votes.n_tasks,
        n_safe=level.n_ship if level.counted else None,
        right=None if truth is None else truth.accuracy,
        to_check=0 if level.measured or truth is not None else level.n_to_check,
        n_more=advice.need.n_vote,
        n_expert=advice.need.n_expert,
        advice=advice.sentences(),
        n_talk=len({str(flag.worker) for flag in grave}),
        n_unknown=sum(flag.name == "unknown" for flag in flags),
        sentences=sentences,
        talk=whom_to_talk_to(grave, NAMES),
        bands=svg.bands(legend, "How sure the labels are: " + "; ".join(f"{name}: {n:,}" for name, n in legend)),
        legend=legend,
    )


def by_truth(judged: Calibration, level: Trust) -> str:
    """What the known truth shows, which replaces what is believed of similar crowds."""
    scores, right = judged.scores, judged.right
    assert scores is not None
    assert right is not None
    words = (
        f"measured on {count(scores.n, 'task')} whose truth is known, {percent(scores.accuracy, 1)} of the labels are "
        f"right{_interval(scores.intervals.get('accuracy'))}"
    )
    safe = right[level.ships & ~np.isnan(right)] if level.counted else right[:0]
    if not len(safe):
        return words
    own = count(len(safe), "label that its confidence lets ship", "labels that its confidence lets ship")
    return f"{words}; of the {own}, {percent(float(safe.mean()), 1)} are right"


def _bands(confidence: Any) -> list[tuple[str, int]]:
    names = [f"at least {percent(_BANDS[0])} sure"]
    names += [f"{percent(low)} to {percent(high)}" for high, low in pairwise(_BANDS[:-1])]
    names.append(f"less than {percent(_BANDS[-2])}")
    place = (confidence[:, None] < np.array(_BANDS)[None, :-1]).sum(axis=1)
    return list(zip(names, np.bincount(place, minlength=len(names)).tolist(), strict=True))


def _interval(found: tuple[float, float] | None) -> str:
    return "" if found is None else f" (95 % interval {percent(found[0], 1)} to {percent(found[1], 1)})"


def steps(view: Verdict, suspects: pl.DataFrame | None, confused: pl.DataFrame, n_coachable: int) -> list[str]:
    """What to do next."""
    out = []
    if view.to_check:
        out.append(
            f"Label {count(view.to_check, 'task')} drawn at random (crowdwise aggregate --check check.csv writes "
            "them): they show how many labels are right and which can ship."
        )
    if view.n_more:
        out.append(
            f"Ask for another vote on {count(view.n_more, 'task')}, those first that gain most per vote (contested.csv "
            "below has them in this order, with how many votes to ask for): "
            f"{view.advice[0]}. crowdwise next says whom to ask, and what a smaller budget brings."
        )
    if view.n_expert:
        out.append(
            f"Show {count(view.n_expert, 'task')} to somebody who knows: more votes of this crowd would hardly help."
        )
    if view.n_talk:
        out.append(
            f"Talk to {count(view.n_talk, 'worker')} before removing anybody; crowdwise aggregate --drop-flagged shows "
            "what would change without those who guess or collude."
        )
    if n_coachable:
        out.append(
            f"Show {count(n_coachable, 'worker')} where the others see it differently: steady confusions and low skill "
            "are listed under Coachable."
        )
    if suspects is not None and len(suspects):
        names = enough([shown(t, 30) for t in suspects["task"].to_list()], 3)
        out.append(f"Look again at {count(len(suspects), 'known label')} that the crowd contradicts: {names}.")
    if len(confused) and confused["n"][0] >= 1:
        first, second = (shown(confused[name][0], 30) for name in ("first", "second"))
        out.append(
            f"The classes most often taken for each other are “{first}” and “{second}”: do the instructions tell them "
            "apart?"
        )
    if view.n_unknown:
        out.append(f"{count(view.n_unknown, 'worker')} gave too few labels to be judged; nothing is held against them.")
    return out
