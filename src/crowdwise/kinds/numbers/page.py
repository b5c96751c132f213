"""The page of a crowd that gave numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup, escape

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.statement import outlook
from ...report import svg
from ...report.page import agreement_section, fragment
from ...report.sheet import Section, Sheet
from ...report.svg import NOTHING, Frame, drawing, room, short
from ...report.text import count, number, percent, shown
from ...report.workers import agreement_in_words, flags_by_worker, most_telling, whom_to_talk_to
from ...report.workers import notes as flag_notes
from ...workers.flags import agreement_table, flag_table
from ...workers.studied import amount, amounts, best_first, said
from ..classes.page.over_time import Training, course_of
from .estimate import NumberEstimate
from .fitting import number_gold
from .kind import Numbers
from .scoring import SCORES, NumberEvaluation, doubtful, evaluate
from .workers import TRUST, NumberStudy, study_numbers

# ----------------------------------------------------------------
# Drawings of numbers: how answers and estimates are spread, and estimates against the truth.

F8 = npt.NDArray[np.float64]

# Bars at most; a scale with no more steps than this has a bar for each.
BARS, STEPS = 30, 21
# Dots of the scatter plot at most, and at most so many with their intervals.
DOTS, WHISKERS = 600, 150
# The outermost answers of each end stand in the end bars, so that one slip does not flatten all the others.
TAIL = 0.005


def edges_of(answers: F8, estimates: F8) -> F8:
    """Edges of the bars: one for each step of a scale, else equal ones over all answers except the outermost."""
    steps = np.unique(answers)
    if 1 < len(steps) <= STEPS:
        gaps = np.diff(steps)
        step = float(gaps.min())
        whole = np.round(gaps / step)
        if np.allclose(gaps, whole * step) and whole.sum() < 2 * STEPS:
            return np.arange(steps[0] - step / 2, steps[-1] + step, step)
    low, high = np.quantile(np.concatenate([answers, estimates]), [TAIL, 1 - TAIL])
    if not high > low:
        low, high = room(float(low), float(high))
    return np.linspace(low, high, BARS + 1)


def histogram(answers: F8, estimates: F8, label: str) -> Markup:
    """Shares of the answers as bars, of the estimates as a line of steps."""
    answers, estimates = answers[np.isfinite(answers)], estimates[np.isfinite(estimates)]
    if not len(answers):
        return NOTHING
    edges = edges_of(answers, estimates)
    said, found = (_shares(values, edges) for values in (answers, estimates))
    top = max(float(said.max()), float(found.max(initial=0.0)))
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, 1.05 * top), width=640, height=240, top=22)
    body = frame.axes("value", "share")
    floor = frame.y(0.0)
    for low, high, share in zip(edges[:-1], edges[1:], said, strict=True):
        x, y = frame.x(float(low)), frame.y(float(share))
        tip = escape(f"{low:.4g} to {high:.4g}: {share:.1%} of the answers")
        at = f'x="{short(x + 0.5)}" y="{short(y)}" width="{short(max(frame.x(float(high)) - x - 1, 0.5))}"'
        body.append(f'<rect class="said" {at} height="{short(floor - y)}"><title>{tip}</title></rect>')
    body.append(_steps(frame, edges, found))
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
    """Estimates against the truth, with their intervals where there are few; on the dashed line they are equal."""
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
        tip = escape(f"{shown(names[i], 40)}: {value[i]:.4g}, in truth {truth[i]:.4g}")
        at = f'cx="{x}" cy="{short(frame.y(float(value[i])))}" r="{3.5 if len(use) <= WHISKERS else 2.5}"'
        body.append(f'<circle class="dot" {at}><title>{tip}</title></circle>')
    return drawing(frame.width, frame.height, body, "chart", label)


# ----------------------------------------------------------------
# Rows of the tables of workers and of tasks, as the page of numbers shows them.

# Tasks shown; answers to one task that are listed.
TASKS, ANSWERS = 100, 40


@dataclass(frozen=True)
class WorkerRow:
    """A worker (and part): `of` are the numbers of the quality table, `words` those in the answers' own units."""

    worker: str
    part: str
    of: dict[str, Any]
    words: dict[str, str]
    correlation: Markup
    bias: Markup
    flags: list[str]


def worker_rows(look: NumberStudy) -> list[WorkerRow]:
    """Those who go with the others most first; of too many workers the flagged and the busiest."""
    flagged, units = flags_by_worker(look), look.units()
    table = best_first(most_telling(look, flagged), TRUST)
    reach = _reach(table)
    out = []
    for row in table.to_dicts():
        part = row.get("part", "")
        unit, far = units[part], reach[part]
        ends = (row["correlation_low"], row["correlation_high"])
        words = {name: amount(row[name], unit) for name in ("bias", "spread", "gold_rmse")}
        words |= {
            f"{name}_between": amounts(row[f"{name}_low"], row[f"{name}_high"], unit) for name in ("bias", "spread")
        }
        out.append(
            WorkerRow(
                worker=shown(row["worker"]),
                part=shown(part, 30),
                of=row,
                words=words,
                correlation=svg.interval(row["correlation"], *ends, start=-1.0),
                bias=svg.interval(row["bias"], row["bias_low"], row["bias_high"], start=-far, stop=far),
                flags=flagged.get(str(row["worker"]), []),
            )
        )
    return out


def _reach(table: pl.DataFrame) -> dict[str, float]:
    """How far the scale of the biases goes on both sides, by part: nine of ten intervals lie on it."""
    parts = table["part"].unique().to_list() if "part" in table.columns else [""]
    out = {}
    for part in parts:
        own = table.filter(pl.col("part") == part) if "part" in table.columns else table
        ends = np.abs(own.select("bias_low", "bias_high", "bias").to_numpy().astype(np.float64))
        far = np.nanquantile(np.nanmax(np.where(np.isnan(ends), 0.0, ends), axis=1), 0.9) if len(own) else 0.0
        out[part] = float(far) if far > 0 else 1.0
    return out


@dataclass(frozen=True)
class TaskRow:
    """A task: for each part its estimate, interval and a drawing of the answers around it; who said what."""

    task: str
    parts: list[tuple[str, str, str]]
    n_labels: int
    width: float | None
    why: str
    said: list[tuple[str, str]]


def task_rows(votes: Votes[Numbers], result: Result, table: pl.DataFrame, units: dict[str, float]) -> list[TaskRow]:
    """The least sure tasks, whether or not they are to be asked again."""
    some = table.head(TASKS).to_dicts()
    place = {name: i for i, name in enumerate(result.tasks.to_list())} if some else {}
    workers = votes.workers.to_list()
    out = []
    for row in some:
        parts = []
        for part, unit in units.items():
            end = f"_{part}" if part else ""
            between = amounts(row[f"low{end}"], row[f"high{end}"], unit)
            parts.append((shown(part, 30), amount(row[f"value{end}"], unit), between))
        answers = _said(votes, place[row["task"]], workers)
        out.append(TaskRow(shown(row["task"]), parts, row["n_labels"], row["width"], row["why"], answers))
    return out


def _said(votes: Votes[Numbers], task: int, workers: list[Any]) -> list[tuple[str, str]]:
    """(what, who) of each answer, from low to high."""
    here = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
    order = here[np.argsort(votes.answers.value[here, 0], kind="stable")][:ANSWERS]
    return [
        (", ".join(said(float(v)) for v in votes.answers.value[i]), shown(workers[votes.worker[i]], 30)) for i in order
    ]


# ----------------------------------------------------------------
# How a net was trained on numbers, and where it stands beside the crowd.


def trained_on(votes: Votes[Numbers], result: Result, history: pl.DataFrame | None) -> Training | None:
    """For a result of training end to end; None for an aggregation."""
    if "net" not in result.extra:
        return None
    found = course_of(result, history)
    alone, heard = np.asarray(result.extra["net"]), votes.labels_per_task > 0
    estimate, sentences = result.estimate, []
    assert isinstance(estimate, NumberEstimate)
    for j, part in enumerate(votes.answers.parts):
        total = np.bincount(votes.task, weights=votes.answers.value[:, j], minlength=votes.n_tasks)
        said, together = total[heard] / votes.labels_per_task[heard], estimate.value[heard, j]
        r = [_correlation(alone[heard, j], other) for other in (together, said)]
        of = f" of {part}" if part else ""
        sentences.append(
            f"From the features alone the net's numbers{of} go with those from features and answers together "
            f"(correlation {r[0]:.2f}), and with the plain means of the crowd (correlation {r[1]:.2f})."
        )
    return replace(found, sentences=sentences + found.sentences)


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    if len(one) < 2 or np.std(one) == 0 or np.std(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


# ----------------------------------------------------------------
# Estimates of numbers against known values, where there are some that the fit has not seen.

# Resamples behind the intervals of the scores; tasks in the list of the largest errors.
RESAMPLES, ERRORS = 300, 15
_UNKNOWN = (
    "The truth of no task is known. --truth FILE (or --gold FILE) with some true values shows how far the estimates "
    "are off, and how often the intervals hold the truth."
)
_GIVEN = "The known values were given to the method, so they cannot judge it."


@dataclass(frozen=True)
class Judged:
    """Scores (part, name, value, 95 % interval), a plot for each part, the largest errors; or why there are none."""

    scores: NumberEvaluation | None = None
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    drawings: list[tuple[str, Markup]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    reason: str = ""


def judged(votes: Votes[Numbers], result: Result, truth: Any, blind: Result | None = None) -> Judged:
    """`blind` is the same method fitted without the truth, where `result` was fitted with it."""
    known = number_gold(truth, votes)
    if known is None:
        return Judged(reason=_UNKNOWN)
    fair = blind or result
    if fair.gold is not None:
        known = np.where(fair.gold[:, None], np.nan, known)
    if not np.isfinite(known).any():
        return Judged(reason=_GIVEN)
    scores = evaluate(fair, truth, resamples=RESAMPLES)
    return Judged(scores, _rows(scores), _drawings(fair, known), _errors(votes, fair, known))


def _rows(scores: NumberEvaluation) -> list[tuple[str, str, str, str]]:
    out = []
    for part, found in scores.parts.items():
        for key, name in SCORES.items():
            if key in found and np.isfinite(found[key].value):
                one = found[key]
                ends = "" if np.isnan(one.low) else f"{one.low:.4g} to {one.high:.4g}"
                out.append((shown(f"{part}: {name}" if part else name, 60), key, f"{one.value:.4g}", ends))
    return out


def _drawings(result: Result, known: F8) -> list[tuple[str, Markup]]:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    names = [str(task) for task in result.tasks.to_list()]
    out = []
    for j, part in enumerate(estimate.parts.to_list()):
        n = int(np.isfinite(known[:, j]).sum())
        about = f" of {shown(part, 30)}" if part else ""
        label = f"Estimates{about} against the truth of {n:,} tasks"
        drawn = scatter(known[:, j], estimate.value[:, j], estimate.low[:, j], estimate.high[:, j], names, label)
        out.append((shown(part, 40), drawn))
    return out


def _errors(votes: Votes[Numbers], result: Result, known: F8) -> list[dict[str, Any]]:
    """The tasks that are furthest off, beside the spread of the truths."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    gap = np.abs(estimate.value - known)
    unit = votes.answers.value.std(axis=0)
    score = np.nan_to_num(gap / np.where(unit > 0, unit, 1.0), nan=-1.0)
    task, part = np.unravel_index(np.argsort(-score, axis=None, kind="stable")[:ERRORS], score.shape)
    parts = estimate.parts.to_list()
    return [
        {
            "task": shown(result.tasks[int(t)]),
            "part": shown(parts[j], 40),
            "truth": said(float(known[t, j])),
            "value": amount(float(estimate.value[t, j]), float(unit[j])),
            "between": amounts(float(estimate.low[t, j]), float(estimate.high[t, j]), float(unit[j])),
            "inside": bool(estimate.low[t, j] <= known[t, j] <= estimate.high[t, j]),
            "n_labels": int(result.labels_per_task[t]),
        }
        for t, j in zip(task.tolist(), part.tolist(), strict=True)
        if score[t, j] >= 0
    ]


# ----------------------------------------------------------------
# The verdict on numbers in plain words: how sure the estimates are, what to ask again, whom to talk to.


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
        steps=_verdict_steps(again, n_talk, unknown),
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


def _verdict_steps(again: int, n_talk: int, unknown: int) -> list[str]:
    out = []
    if again:
        out.append(f"Ask again about {count(again, 'task')}, the least sure first (tasks.csv below is in this order).")
    if n_talk:
        out.append(f"Talk to {count(n_talk, 'worker')} before removing anybody.")
    if unknown:
        out.append(f"{count(unknown, 'worker')} gave too few answers to be judged; nothing is held against them.")
    return out


_AGREEMENT = (
    "How much of what the answers differ by lies between the tasks, and not between people: 0 is none of it, 1 is all. "
    "ICC(1,1) and Krippendorff's alpha count a worker's own level as disagreement, ICC(2,1) takes the levels apart and "
    "counts them too. The bar is the 95 % interval over tasks."
)


@dataclass(frozen=True)
class Column:
    """One part of the answers: its facts in words, and how it is spread."""

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
    """All sections (see `report.render`)."""
    look = study_numbers(votes, result, gold=truth)
    tasks = doubtful(votes, result)
    judge = judged(votes, result, truth, blind)
    verdict = number_verdict(votes, result, look, tasks, judge)
    workers = {
        "notes": flag_notes(look.flags, look.meanings),
        "rows": worker_rows(look),
        "has": {name: look.quality[name].null_count() < len(look.quality) for name in ("gold_rmse", "seconds_median")},
        "several": len(votes.answers.parts) > 1,
        "n_workers": int((votes.labels_per_worker > 0).sum()),
        "meanings": look.meanings,
    }
    again = {"rows": task_rows(votes, result, tasks, look.units()), "n_again": verdict.n_again, "n": votes.n_tasks}
    sections = [
        Section("verdict", "Verdict", "Verdict", fragment("numbers/verdict.html.j2", verdict=verdict)),
        Section("data", "Data", "Data and ledger", _data(votes, result, look)),
        agreement_section(look.agreement, _AGREEMENT),
        Section("workers", "Workers", "Workers", fragment("numbers/workers.html.j2", **workers)),
        Section("tasks", "Ask again", "Tasks to ask again", fragment("numbers/tasks.html.j2", **again)),
        Section("truth", "Truth", "Against the truth", fragment("numbers/truth.html.j2", judge=judge)),
    ]
    trained = trained_on(votes, result, history)
    if trained is not None:
        curves = fragment("curves.html.j2", training=trained)
        sections.append(Section("training", "Training", "Training: the net and the crowd", curves))
    lead = f"{count(len(votes), 'number')} by {count(votes.n_workers, 'worker')} on {count(votes.n_tasks, 'task')}" + (
        f", {len(votes.answers.parts)} in each answer" if len(votes.answers.parts) > 1 else ""
    )
    return Sheet(lead, sections, _tables(look, tasks, result), "iteration" if trained is None else "epoch")


def _data(votes: Votes[Numbers], result: Result, look: NumberStudy) -> Markup:
    facts = votes.describe()
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    heard = votes.labels_per_task > 0
    columns = []
    for j, (part, unit) in enumerate(look.units().items()):
        answers, found = votes.answers.value[:, j], estimate.value[heard, j]
        about = f" of {shown(part, 30)}" if part else ""
        label = f"How {len(answers):,} answers{about} and {len(found):,} estimates are spread"
        told = facts[votes.answers.names[j]]
        words = [(name, amount(told[key], unit)) for key, name in _FACTS.items()]
        words.append(("different values", f"{told['different_values']:,}"))
        columns.append(Column(shown(part, 40), words, histogram(answers, found, label)))
    return fragment("numbers/data.html.j2", facts=facts, columns=columns, ledger=votes.ledger.to_dict())


_FACTS = {
    "min": "least",
    "median": "median",
    "mean": "mean",
    "max": "greatest",
    "sd": "spread (sd)",
    "sd_within_tasks": "spread within tasks",
}


def _tables(look: NumberStudy, tasks: pl.DataFrame, result: Result) -> list[tuple[str, str, pl.DataFrame]]:
    return [
        ("tasks.csv", "every task and its estimate, what to ask again first on top", tasks),
        ("quality.csv", "every worker", look.quality),
        ("flags.csv", "every flag with its evidence", flag_table(look.flags)),
        ("agreement.csv", "the coefficients", agreement_table(look.agreement)),
        ("labels.csv", "every task with its estimate and interval", result.to_table()),
    ]
