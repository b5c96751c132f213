"""The verdict on numbers in plain words: how sure the estimates are, what to ask again, whom to talk to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers
from ...scoring.outlook import outlook
from ...workers.numbers.study import NumberStudy
from ...workers.wording import amount
from ..text import count, number, percent, shown
from ..verdict import agreement_in_words, whom_to_talk_to
from .truth import Judged


@dataclass(frozen=True)
class NumberVerdict:
    """What is said first. `usual` is half the usual interval in words, one for each part; empty where there is none."""

    n_tasks: int
    n_estimated: int
    usual: list[tuple[str, str]]
    level: float
    n_again: int
    n_talk: int
    sentences: list[str]
    steps: list[str]
    talk: list[tuple[str, str, str]]


def number_verdict(
    votes: Votes[Numbers], result: Result, look: NumberStudy, tasks: pl.DataFrame, judge: Judged
) -> NumberVerdict:
    """From the numbers to sentences."""
    grave = [flag for flag in look.flags if flag.name != "unknown"]
    again, n_talk = int((tasks["why"] != "").sum()), len({str(flag.worker) for flag in grave})
    level = float(result.params.get("level", 0.9))
    unknown = sum(flag.name == "unknown" for flag in look.flags)
    return NumberVerdict(
        n_tasks=votes.n_tasks,
        n_estimated=int((votes.labels_per_task > 0).sum()),
        usual=_usual(votes, result, look),
        level=level,
        n_again=again,
        n_talk=n_talk,
        sentences=[_trust(result), *_found(result, look), *_measured(judge), *_agreement(look), *_settled(result)],
        steps=_steps(again, n_talk, unknown),
        talk=whom_to_talk_to(grave, look.meanings),
    )


def _usual(votes: Votes[Numbers], result: Result, look: NumberStudy) -> list[tuple[str, str]]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = (estimate.high - estimate.low)[votes.labels_per_task > 0] / 2
    out = []
    for j, (part, unit) in enumerate(look.units().items()):
        if np.isfinite(width[:, j]).any():
            out.append((shown(part, 30), amount(float(np.nanmedian(width[:, j])), unit)))
    return out


def _trust(result: Result) -> str:
    """The statement on top, as in the terminal."""
    words = outlook(result)
    return f"{words[:1].upper()}{words[1:]}."


def _found(result: Result, look: NumberStudy) -> list[str]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    out = []
    for j, (part, unit) in enumerate(look.units().items()):
        value = estimate.value[:, j]
        if not len(value):
            continue
        low, middle, high = (amount(float(v), unit) for v in np.quantile(value, [0, 0.5, 1]))
        of = f" of {shown(part, 30)}" if part else ""
        out.append(f"The estimates{of} lie between {low} and {high}, half of them below {middle}.")
    if not np.isfinite(estimate.low).any():
        out.append(f"{shown(result.method)} gives no intervals; a method such as combined does.")
    return out


def _measured(judge: Judged) -> list[str]:
    if judge.scores is None:
        return []
    out = []
    for part, found in judge.scores.parts.items():
        of = f" of {shown(part, 30)}" if part else ""
        words = f"Measured on {count(judge.scores.n, 'task')} whose truth is known, the estimates{of} are off by "
        words += f"{found['mae'].value:.3g} on average (root mean squared error {found['rmse'].value:.3g})"
        if "pearson" in found and np.isfinite(found["pearson"].value):
            words += f", with a correlation of {number(found['pearson'].value)}"
        if "coverage" in found and np.isfinite(found["coverage"].value):
            words += f"; {percent(found['coverage'].value)} of the intervals hold the truth"
        out.append(words + ".")
    return out


def _agreement(look: NumberStudy) -> list[str]:
    several = len(look.votes.answers.parts) > 1
    return [] if several else agreement_in_words(look.agreement, "answers")


def _settled(result: Result) -> list[str]:
    return [] if result.converged else ["The method stopped before it settled; give it more iterations (max_iter)."]


def _steps(again: int, n_talk: int, unknown: int) -> list[str]:
    out = []
    if again:
        out.append(f"Ask again about {count(again, 'task')}, the least sure first (tasks.csv below is in this order).")
    if n_talk:
        out.append(f"Talk to {count(n_talk, 'worker')} before removing anybody.")
    if unknown:
        out.append(f"{count(unknown, 'worker')} gave too few answers to be judged; nothing is held against them.")
    return out
