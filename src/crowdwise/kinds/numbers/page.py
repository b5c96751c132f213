"""The report page for numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup, escape

from ...core.arrays import F8
from ...core.content import contents
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.statement import outlook
from ...report import svg
from ...report.leaderboard import sentences_text
from ...report.page import agreement_section, fragment
from ...report.plain_page import study_tables
from ...report.sheet import Section, Sheet
from ...report.svg import NOTHING, Frame, drawing, room, short
from ...report.text import count, number, percent, shown
from ...report.workers import agreement_in_words, flags_by_worker, workers_to_contact, workers_to_show
from ...report.workers import notes as flag_notes
from ...workers.studied import amount, amounts, best_first, number_as_given
from ..classes.page.over_time import Training, training_progress
from .answers import Numbers
from .estimate import NumberEstimate
from .fitting import number_gold
from .scoring import SCORES, NumberEvaluation, evaluate, tasks_to_review
from .workers import TRUST, NumberStudy, study_numbers

# ----------------------------------------------------------------
# Charts: the distribution of answers and estimates, and estimates against the truth.


# Maximum number of bars; a scale with at most STEPS distinct values gets one bar per value.
BARS, STEPS = 30, 21
# Maximum number of points in the scatter plot, and maximum number for which intervals are drawn.
DOTS, WHISKERS = 600, 150
# Share of the answers at each end that goes into the outermost bars, so that one outlier does not flatten the chart.
TAIL = 0.005


def bar_edges(answers: F8, estimates: F8) -> F8:
    """Bar edges: one bar per step of a discrete scale, otherwise equal bars over all but the outermost answers."""
    steps = np.unique(answers)
    if 1 < len(steps) <= STEPS:
        gaps = np.diff(steps)
        step = float(gaps.min())
        multiples = np.round(gaps / step)
        if np.allclose(gaps, multiples * step) and multiples.sum() < 2 * STEPS:
            return np.arange(steps[0] - step / 2, steps[-1] + step, step)
    low, high = np.quantile(np.concatenate([answers, estimates]), [TAIL, 1 - TAIL])
    if not high > low:
        low, high = room(float(low), float(high))
    return np.linspace(low, high, BARS + 1)


def histogram(answers: F8, estimates: F8, label: str) -> Markup:
    """Draw the distribution of the answers as bars and that of the estimates as a step line."""
    answers, estimates = answers[np.isfinite(answers)], estimates[np.isfinite(estimates)]
    if not len(answers):
        return NOTHING
    edges = bar_edges(answers, estimates)
    answer_shares, estimate_shares = (_shares(values, edges) for values in (answers, estimates))
    top = max(float(answer_shares.max()), float(estimate_shares.max(initial=0.0)))
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, 1.05 * top), width=640, height=240, top=22)
    body = frame.axes("value", "share")
    floor = frame.y(0.0)
    for low, high, share in zip(edges[:-1], edges[1:], answer_shares, strict=True):
        x, y = frame.x(float(low)), frame.y(float(share))
        tip = escape(f"{low:.4g} to {high:.4g}: {share:.1%} of the answers")
        at = f'x="{short(x + 0.5)}" y="{short(y)}" width="{short(max(frame.x(float(high)) - x - 1, 0.5))}"'
        body.append(f'<rect class="said" {at} height="{short(floor - y)}"><title>{tip}</title></rect>')
    body.append(_steps(frame, edges, estimate_shares))
    return drawing(frame.width, frame.height, body, "chart", label)


def _shares(values: F8, edges: F8) -> F8:
    count = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    return np.asarray(count / max(len(values), 1), dtype=np.float64)


def _steps(frame: Frame, edges: F8, shares: F8) -> str:
    points = [f"{short(frame.x(float(edges[0])))},{short(frame.y(0.0))}"]
    for low, high, share in zip(edges[:-1], edges[1:], shares, strict=True):
        points += [f"{short(frame.x(float(u)))},{short(frame.y(float(share)))}" for u in (low, high)]
    points.append(f"{short(frame.x(float(edges[-1])))},{short(frame.y(0.0))}")
    return f'<polyline class="line" points="{" ".join(points)}"><title>estimates</title></polyline>'


def scatter(truth: F8, value: F8, low: F8, high: F8, names: list[str], label: str) -> Markup:
    """Plot estimates against the truth, with intervals where there are few points. The dashed line marks equality."""
    use = np.flatnonzero(np.isfinite(truth) & np.isfinite(value))
    if not len(use):
        return NOTHING
    if len(use) > DOTS:
        use = use[np.linspace(0, len(use) - 1, DOTS).round().astype(np.int64)]
    ends = [truth[use], value[use]]
    span = room(float(min(e.min() for e in ends)), float(max(e.max() for e in ends)))
    frame = Frame(span, span, width=420, height=380, left=56, top=22)
    body = frame.axes("truth", "estimate")
    corners = [f"{short(frame.x(v))} {short(frame.y(v))}" for v in span]
    body.append(f'<path class="ideal" d="M{corners[0]}L{corners[1]}"/>')
    for i in use.tolist():
        x = short(frame.x(float(truth[i])))
        if len(use) <= WHISKERS and all(map(math.isfinite, (low[i], high[i]))):
            below, above = (short(frame.y(min(max(float(v), span[0]), span[1]))) for v in (low[i], high[i]))
            body.append(f'<path class="whisker thin" d="M{x} {below}V{above}"/>')
        tip = escape(f"{shown(names[i], 40)}: {value[i]:.4g}, truth {truth[i]:.4g}")
        at = f'cx="{x}" cy="{short(frame.y(float(value[i])))}" r="{3.5 if len(use) <= WHISKERS else 2.5}"'
        body.append(f'<circle class="dot" {at}><title>{tip}</title></circle>')
    return drawing(frame.width, frame.height, body, "chart", label)


# ----------------------------------------------------------------
# Rows of the tables of workers and tasks.

# Maximum number of tasks shown, and of answers listed per task.
TASKS, ANSWERS = 100, 40
# Longest content of a task.
CONTENT = 240


@dataclass(frozen=True)
class NumberWorkerRow:
    """A worker (and part): `of` is the row of the quality table, `words` its numbers in the answers' units."""

    worker: str
    part: str
    of: dict[str, Any]
    words: dict[str, str]
    correlation: Markup
    bias: Markup
    flags: list[str]


def worker_rows(study: NumberStudy) -> list[NumberWorkerRow]:
    """Rows by decreasing correlation with the others; of too many workers, the flagged and the busiest."""
    flagged, units = flags_by_worker(study), study.units
    table = best_first(workers_to_show(study, flagged), TRUST)
    reach = _bias_limits(table)
    out = []
    for row in table.to_dicts():
        part = row.get("part", "")
        unit, limit = units[part], reach[part]
        ends = (row["correlation_low"], row["correlation_high"])
        words = {name: amount(row[name], unit) for name in ("bias", "spread", "gold_rmse")}
        words |= {
            f"{name}_between": amounts(row[f"{name}_low"], row[f"{name}_high"], unit) for name in ("bias", "spread")
        }
        out.append(
            NumberWorkerRow(
                worker=shown(row["worker"]),
                part=shown(part, 30),
                of=row,
                words=words,
                correlation=svg.interval(row["correlation"], *ends, start=-1.0),
                bias=svg.interval(row["bias"], row["bias_low"], row["bias_high"], start=-limit, stop=limit),
                flags=flagged.get(str(row["worker"]), []),
            )
        )
    return out


def _bias_limits(table: pl.DataFrame) -> dict[str, float]:
    """Half-width of the bias axis by part, chosen to contain nine of ten intervals."""
    parts = table["part"].unique().to_list() if "part" in table.columns else [""]
    out = {}
    for part in parts:
        rows = table.filter(pl.col("part") == part) if "part" in table.columns else table
        ends = np.abs(rows.select("bias_low", "bias_high", "bias").to_numpy().astype(np.float64))
        limit = np.nanquantile(np.nanmax(np.where(np.isnan(ends), 0.0, ends), axis=1), 0.9) if len(rows) else 0.0
        out[part] = float(limit) if limit > 0 else 1.0
    return out


@dataclass(frozen=True)
class TaskRow:
    """A task: name, estimate and interval of each part, and the (answer, worker) pairs."""

    task: str
    parts: list[tuple[str, str, str]]
    n_labels: int
    width: float | None
    why: str
    answers: list[tuple[str, str]]
    content: str = ""


def task_rows(votes: Votes[Numbers], result: Result, table: pl.DataFrame, units: dict[str, float]) -> list[TaskRow]:
    """Rows of the least certain tasks, whether or not they need more answers."""
    head = table.head(TASKS).to_dicts()
    place = {name: i for i, name in enumerate(result.tasks.to_list())} if head else {}
    workers = votes.workers.to_list()
    out = []
    for row, content in zip(head, contents(votes, [row["task"] for row in head]), strict=True):
        parts = []
        for part, unit in units.items():
            end = f"_{part}" if part else ""
            between = amounts(row[f"low{end}"], row[f"high{end}"], unit)
            parts.append((shown(part, 30), amount(row[f"value{end}"], unit), between))
        answers = _answers_of(votes, place[row["task"]], workers)
        out.append(
            TaskRow(
                shown(row["task"]), parts, row["n_labels"], row["width"], row["why"], answers, shown(content, CONTENT)
            )
        )
    return out


def _answers_of(votes: Votes[Numbers], task: int, workers: list[Any]) -> list[tuple[str, str]]:
    """(answer, worker) pairs of a task, in increasing order."""
    rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
    order = rows[np.argsort(votes.answers.value[rows, 0], kind="stable")][:ANSWERS]
    return [
        (", ".join(number_as_given(float(v)) for v in votes.answers.value[i]), shown(workers[votes.worker[i]], 30))
        for i in order
    ]


# ----------------------------------------------------------------
# Training of a network on numbers, and how it compares with the crowd.


def trained_on(votes: Votes[Numbers], result: Result, history: pl.DataFrame | None) -> Training | None:
    """Describe the training of a network; None for a result of aggregation."""
    if "net" not in result.extra:
        return None
    training = training_progress(result, history)
    net_values, answered = np.asarray(result.extra["net"]), votes.labels_per_task > 0
    estimate, sentences = result.estimate, []
    assert isinstance(estimate, NumberEstimate)
    for j, part in enumerate(votes.answers.parts):
        total = np.bincount(votes.task, weights=votes.answers.value[:, j], minlength=votes.n_tasks)
        crowd_mean, estimates = total[answered] / votes.labels_per_task[answered], estimate.value[answered, j]
        r = [_correlation(net_values[answered, j], other) for other in (estimates, crowd_mean)]
        of = f" of {part}" if part else ""
        sentences.append(
            f"From the features alone, the predictions{of} of the network have a correlation of {r[0]:.2f} with the "
            f"estimates from features and answers together, and of {r[1]:.2f} with the plain means of the answers."
        )
    return replace(training, sentences=sentences + training.sentences)


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    if len(first) < 2 or np.std(first) == 0 or np.std(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


# ----------------------------------------------------------------
# Estimates against known values that were not used in the fit.

# Number of resamples for the intervals of the scores, and length of the list of the largest errors.
RESAMPLES, ERRORS = 300, 15
_UNKNOWN = (
    "No task has a known truth. Pass --truth FILE (or --gold FILE) with some true values to measure the errors of the "
    "estimates and the coverage of the intervals."
)
_GIVEN = "The known values were given to the method, so they cannot be used to evaluate it."


@dataclass(frozen=True)
class TruthCheck:
    """Scores (part, name, value, 95 % interval), a plot per part and the largest errors; or why there are none."""

    scores: NumberEvaluation | None = None
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    drawings: list[tuple[str, Markup]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""


def check_against_truth(votes: Votes[Numbers], result: Result, truth: Any, blind: Result | None = None) -> TruthCheck:
    """Evaluate a result. `blind` is the same method fitted without the truth, where `result` was fitted with it."""
    gold = number_gold(truth, votes)
    if gold is None:
        return TruthCheck(reason=_UNKNOWN)
    scored = blind or result
    if scored.gold is not None:
        gold = np.where(scored.gold[:, None], np.nan, gold)
    if not np.isfinite(gold).any():
        return TruthCheck(reason=_GIVEN)
    scores = evaluate(scored, truth, resamples=RESAMPLES)
    return TruthCheck(scores, _rows(scores), _drawings(scored, gold), _errors(votes, scored, gold))


def _rows(scores: NumberEvaluation) -> list[tuple[str, str, str, str]]:
    out = []
    for part, part_scores in scores.parts.items():
        for key, name in SCORES.items():
            if key in part_scores and np.isfinite(part_scores[key].value):
                score = part_scores[key]
                ends = "" if np.isnan(score.low) else f"{score.low:.4g} to {score.high:.4g}"
                out.append((shown(f"{part}: {name}" if part else name, 60), key, f"{score.value:.4g}", ends))
    return out


def _drawings(result: Result, truth: F8) -> list[tuple[str, Markup]]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    names = [str(task) for task in result.tasks.to_list()]
    out = []
    for j, part in enumerate(estimate.parts.to_list()):
        n = int(np.isfinite(truth[:, j]).sum())
        about = f" of {shown(part, 30)}" if part else ""
        label = f"Estimates{about} against the truth of {n:,} tasks"
        drawn = scatter(truth[:, j], estimate.value[:, j], estimate.low[:, j], estimate.high[:, j], names, label)
        out.append((shown(part, 40), drawn))
    return out


def _errors(votes: Votes[Numbers], result: Result, truth: F8) -> list[dict[str, Any]]:
    """The tasks with the largest errors, in units of the standard deviation of the answers."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    gap = np.abs(estimate.value - truth)
    unit = votes.answers.value.std(axis=0)
    score = np.nan_to_num(gap / np.where(unit > 0, unit, 1.0), nan=-1.0)
    task, part = np.unravel_index(np.argsort(-score, axis=None, kind="stable")[:ERRORS], score.shape)
    parts = estimate.parts.to_list()
    return [
        {
            "task": shown(result.tasks[int(t)]),
            "part": shown(parts[j], 40),
            "truth": number_as_given(float(truth[t, j])),
            "value": amount(float(estimate.value[t, j]), float(unit[j])),
            "between": amounts(float(estimate.low[t, j]), float(estimate.high[t, j]), float(unit[j])),
            "inside": bool(estimate.low[t, j] <= truth[t, j] <= estimate.high[t, j]),
            "n_labels": int(result.labels_per_task[t]),
        }
        for t, j in zip(task.tolist(), part.tolist(), strict=True)
        if score[t, j] >= 0
    ]


# ----------------------------------------------------------------
# The verdict in plain words: certainty of the estimates, tasks that need more answers, workers to talk to.


@dataclass(frozen=True)
class NumberVerdict:
    """The verdict at the top of the page. `usual` is the median half-width of the intervals by part, if any."""

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
    votes: Votes[Numbers], result: Result, study: NumberStudy, tasks: pl.DataFrame, check: TruthCheck
) -> NumberVerdict:
    """Summarise the result in sentences."""
    serious = [flag for flag in study.flags if flag.name != "unknown"]
    again, n_talk = int((tasks["why"] != "").sum()), len({str(flag.worker) for flag in serious})
    level = float(result.params.get("level", 0.9))
    unknown = sum(flag.name == "unknown" for flag in study.flags)
    return NumberVerdict(
        n_tasks=votes.n_tasks,
        n_estimated=int((votes.labels_per_task > 0).sum()),
        usual=_half_widths(votes, result, study),
        level=level,
        n_again=again,
        n_talk=n_talk,
        sentences=[
            sentences_text([outlook(result)]),
            *_estimate_range(result, study),
            *_measured_errors(check),
            *_agreement(study),
            *([] if result.converged else ["The method did not converge; increase max_iter."]),
        ],
        steps=_verdict_steps(again, n_talk, unknown),
        talk=workers_to_contact(serious, study.meanings),
    )


def _half_widths(votes: Votes[Numbers], result: Result, study: NumberStudy) -> list[tuple[str, str]]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = (estimate.high - estimate.low)[votes.labels_per_task > 0] / 2
    out = []
    for j, (part, unit) in enumerate(study.units.items()):
        if np.isfinite(width[:, j]).any():
            out.append((shown(part, 30), amount(float(np.nanmedian(width[:, j])), unit)))
    return out


def _estimate_range(result: Result, study: NumberStudy) -> list[str]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    out = []
    for j, (part, unit) in enumerate(study.units.items()):
        value = estimate.value[:, j]
        if not len(value):
            continue
        low, middle, high = (amount(float(v), unit) for v in np.quantile(value, [0, 0.5, 1]))
        of = f" of {shown(part, 30)}" if part else ""
        out.append(f"The estimates{of} lie between {low} and {high}, half of them below {middle}.")
    if not np.isfinite(estimate.low).any():
        out.append(f"{shown(result.method)} has no intervals; other methods, such as combined, do.")
    return out


def _measured_errors(check: TruthCheck) -> list[str]:
    if check.scores is None:
        return []
    out = []
    for part, part_scores in check.scores.parts.items():
        of = f" of {shown(part, 30)}" if part else ""
        words = f"On {count(check.scores.n, 'task')} with known truth, the estimates{of} have a mean absolute error of "
        words += f"{part_scores['mae'].value:.3g} (root mean squared error {part_scores['rmse'].value:.3g})"
        if "pearson" in part_scores and np.isfinite(part_scores["pearson"].value):
            words += f" and a correlation of {number(part_scores['pearson'].value)} with the truth"
        if "coverage" in part_scores and np.isfinite(part_scores["coverage"].value):
            words += f"; {percent(part_scores['coverage'].value)} of the intervals contain the truth"
        out.append(words + ".")
    return out


def _agreement(study: NumberStudy) -> list[str]:
    several = len(study.votes.answers.parts) > 1
    return [] if several else agreement_in_words(study.agreement, "answers")


def _verdict_steps(again: int, n_talk: int, unknown: int) -> list[str]:
    out = []
    if again:
        out.append(f"Collect more answers for {count(again, 'task')}, least certain first (as in tasks.csv below).")
    if n_talk:
        out.append(f"Talk to {count(n_talk, 'worker')} before removing anybody.")
    if unknown:
        out.append(f"{count(unknown, 'worker')} gave too few answers to be assessed; this is not held against them.")
    return out


_AGREEMENT = (
    "Share of the variance of the answers that lies between tasks rather than between people, from 0 (none) to 1 "
    "(all). ICC(1,1) and Krippendorff's alpha count differences between workers' levels as disagreement; ICC(2,1) "
    "estimates them as a separate component. The bar is the 95 % interval over tasks."
)


@dataclass(frozen=True)
class PartDistribution:
    """One part of the answers: its facts in words and its distribution."""

    name: str
    facts: list[tuple[str, str]]
    drawing: Markup


def number_page(
    votes: Votes[Numbers],
    result: Result,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
) -> Sheet:
    """Build the report page (see `report.render`); `history` is the training history of a network."""
    study = study_numbers(votes, result, gold=truth)
    tasks = tasks_to_review(votes, result)
    check = check_against_truth(votes, result, truth, blind)
    verdict = number_verdict(votes, result, study, tasks, check)
    workers = {
        "notes": flag_notes(study.flags, study.meanings),
        "rows": worker_rows(study),
        "has": {
            name: study.quality[name].null_count() < len(study.quality) for name in ("gold_rmse", "seconds_median")
        },
        "several": len(votes.answers.parts) > 1,
        "n_workers": int((votes.labels_per_worker > 0).sum()),
        "meanings": study.meanings,
    }
    again = {"rows": task_rows(votes, result, tasks, study.units), "n_again": verdict.n_again, "n": votes.n_tasks}
    sections = [
        Section("verdict", "Verdict", "Verdict", fragment("numbers/verdict.html.j2", verdict=verdict)),
        Section("data", "Data", "Data and ledger", _data(votes, result, study)),
        agreement_section(study.agreement, _AGREEMENT),
        Section("workers", "Workers", "Workers", fragment("numbers/workers.html.j2", **workers)),
        Section("tasks", "Ask again", "Tasks to ask again", fragment("numbers/tasks.html.j2", **again)),
        Section("truth", "Truth", "Against the truth", fragment("numbers/truth.html.j2", judge=check)),
    ]
    trained = trained_on(votes, result, history)
    if trained is not None:
        curves = fragment("curves.html.j2", training=trained)
        sections.append(Section("training", "Training", "Training: the network and the crowd", curves))
    lead = f"{count(len(votes), 'number')} by {count(votes.n_workers, 'worker')} on {count(votes.n_tasks, 'task')}" + (
        f", {len(votes.answers.parts)} in each answer" if len(votes.answers.parts) > 1 else ""
    )
    return Sheet(lead, sections, _tables(study, tasks, result), "iteration" if trained is None else "epoch")


def _data(votes: Votes[Numbers], result: Result, study: NumberStudy) -> Markup:
    facts = votes.describe()
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    answered = votes.labels_per_task > 0
    columns = []
    for j, (part, unit) in enumerate(study.units.items()):
        answers, estimates = votes.answers.value[:, j], estimate.value[answered, j]
        about = f" of {shown(part, 30)}" if part else ""
        label = f"How {len(answers):,} answers{about} and {len(estimates):,} estimates are spread"
        part_facts = facts[votes.answers.names[j]]
        words = [(name, amount(part_facts[key], unit)) for key, name in _FACTS.items()]
        words.append(("different values", f"{part_facts['different_values']:,}"))
        columns.append(PartDistribution(shown(part, 40), words, histogram(answers, estimates, label)))
    return fragment("numbers/data.html.j2", facts=facts, columns=columns, ledger=votes.ledger.to_dict())


_FACTS = {
    "min": "minimum",
    "median": "median",
    "mean": "mean",
    "max": "maximum",
    "sd": "spread (sd)",
    "sd_within_tasks": "spread within tasks",
}


def _tables(study: NumberStudy, tasks: pl.DataFrame, result: Result) -> list[tuple[str, str, pl.DataFrame]]:
    return [
        ("tasks.csv", "every task with its estimate, those that need more answers on top", tasks),
        *study_tables(study),
        ("labels.csv", "every task with its estimate and interval", result.to_table()),
    ]
