"""The page of a crowd that gave numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers
from ...scoring.numbers.tasks import doubtful
from ...workers.agreement import agreement_table
from ...workers.flags import flag_table
from ...workers.numbers.study import NumberStudy, study_numbers
from ...workers.wording import amount
from .. import workers as crew
from ..page import fragment
from ..sections import agreement_section
from ..sheet import Section, Sheet
from ..text import count, shown
from .charts import histogram
from .rows import task_rows, worker_rows
from .training import trained_on
from .truth import judged
from .verdict import number_verdict

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
        "notes": crew.notes(look.flags, look.meanings),
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
