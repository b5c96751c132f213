"""Doubts about the votes of a file, whatever the kind of their answers.

Every rule is about a mistake that people make with tables: a column that is not the one meant, cells that a program
changed, a policy that drops most rows. Small files are judged by names only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from ..core import ledger as reasons
from ..core.doubt import InputDoubt
from ..core.intake.columns import ALSO_KNOWN_AS, KNOWN_AS, plain_name
from ..core.options import ReadOptions
from ..core.vocabulary import quote

# Fewer rows than this may well have one worker, one class, or more repeats than not.
ENOUGH = 20
# The share of the names in a column that must look like those of the other column.
MOST = 0.9
WORKER_NAME = (
    r"(?i)^(worker|annotator|rater|coder|judge|user|labell?er|performer|turker|participant|reader|w|anno?|r|u)"
    r"[-_ .:]?\d+$"
)
TASK_NAME = (
    r"(?i)^((task|item|image|img|photo|picture|document|doc|text|question|example|sentence|instance|unit|tweet|post|"
    r"sample|record|t|q|i|x)[-_ .:]?\d+|.*\.(jpe?g|png|gif|tiff?|bmp|txt|pdf|wav|mp3|mp4|html?))$"
)
EMAIL = r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$"
# Names of columns and rows that summarise what workers said.
NOT_WORKERS = [
    "truth",
    "ground_truth",
    "gold",
    "gold_label",
    "gold_standard",
    "true_label",
    "correct",
    "majority",
    "majority_vote",
    "consensus",
    "aggregated",
    "aggregate",
    "adjudicated",
    "mean",
    "average",
    "median",
    "mode",
    "total",
    "sum",
]
ROUNDED = r"^[1-9](\.\d+)?[eE]\+\d+$"
SHEET_ERRORS = ("#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!")
# The shares of rows from which repeats, and rows without a label, are most of a file.
MANY_REPEATS, MANY_MISSING, MANY_EMPTY = 0.5, 0.5, 0.8


def doubts_of(votes: Any, columns: Mapping[str, str], options: ReadOptions) -> list[InputDoubt]:
    """Return what is doubtful about the votes of a table.

    Args:
        votes: The votes, of any kind.
        columns: Our column names mapped to those of the file.
        options: How the file was read.
    """
    checks = (_swapped(votes, columns), _damaged(votes), _repeats(votes, options), _empty(votes, options))
    doubts = [*(doubt for doubt in checks if doubt), *_sizes(votes), *_names(votes)]
    return [*doubts, *votes.kind.hooks.doubts(votes)]


def _share(names: pl.Series, pattern: str) -> float:
    """Return the share of names that match a pattern."""
    if names.dtype != pl.String or not len(names):
        return 0.0
    return int(names.str.contains(pattern).sum()) / len(names)


def _swapped(votes: Any, columns: Mapping[str, str]) -> InputDoubt | None:
    """Tasks that are named like workers, and workers that are named like tasks."""
    named = {role: plain_name(columns.get(role, role)) for role in ("task", "worker")}
    usual = {role: [*KNOWN_AS[role].split(), *ALSO_KNOWN_AS[role].split()] for role in named}
    tasks, workers = votes.tasks, votes.workers
    is_right = _share(tasks, TASK_NAME) >= MOST and _share(workers, WORKER_NAME) >= MOST
    if named["task"] in usual["worker"] and named["worker"] in usual["task"] and not is_right:
        pair = f"the task from column {columns['task']!r} and the worker from {columns['worker']!r}"
        return InputDoubt("swapped", f"--columns takes {pair}: are they swapped?")
    like_workers = max(_share(tasks, WORKER_NAME), _share(tasks, EMAIL))
    if like_workers < MOST or _share(workers, TASK_NAME) < MOST or _share(tasks, TASK_NAME) >= MOST:
        return None
    columns_ = f"--columns task={columns.get('worker', 'worker')},worker={columns.get('task', 'task')}"
    return InputDoubt(
        "swapped",
        f"the tasks are called {quote(tasks[:2])} and the workers {quote(workers[:2])}: are the two columns swapped? "
        f"{columns_} reads them the other way round",
    )


def _damaged(votes: Any) -> InputDoubt | None:
    """Ids that a spreadsheet rounded, and its errors."""
    texts = {"task": votes.tasks, "worker": votes.workers, "label": getattr(votes.answers, "classes", None)}
    for role, names in texts.items():
        if names is None or names.dtype != pl.String:
            continue
        errors = names.filter(names.str.strip_chars().is_in(SHEET_ERRORS))
        if len(errors):
            return InputDoubt(
                "spreadsheet",
                f"{role} is {quote(errors)}, the error of a formula in a spreadsheet; correct the cells, or leave "
                f"them out with --missing '{errors[0]}'",
            )
        rounded = names.filter(names.str.contains(ROUNDED))
        if len(rounded) and role != "label":
            return InputDoubt(
                "rounded",
                f"{role} is {quote(rounded)}, an id that a spreadsheet has rounded, so that several ids may have "
                "become one; save the column as text",
            )
    return None


def _repeats(votes: Any, options: ReadOptions) -> InputDoubt | None:
    ledger = votes.ledger
    n = sum(ledger.dropped.get(reason, 0) for reason in (reasons.EXACT_REPEAT, reasons.CONTRADICTION))
    if ledger.rows_in < ENOUGH or n <= MANY_REPEATS * ledger.rows_in:
        return None
    return InputDoubt(
        "repeats",
        f"{n:,} of {ledger.rows_in:,} rows repeat the task and worker of another row, and duplicates="
        f"{options.duplicates!r} uses only {ledger.rows_used:,}; is the task in another column, or in several? "
        "--columns task=NAME names it",
    )


def _empty(votes: Any, options: ReadOptions) -> InputDoubt | None:
    """Most rows have no label, unless the file has a row for every worker on every task."""
    ledger = votes.ledger
    n, limit = ledger.dropped.get(reasons.NULL_LABEL, 0), MANY_MISSING if options.missing else MANY_EMPTY
    is_crossed = ledger.rows_in == len(votes.tasks) * len(votes.workers)
    if ledger.rows_in < ENOUGH or n <= limit * ledger.rows_in or is_crossed:
        return None
    if options.missing:
        values = " ".join(f"--missing {value}" for value in options.missing)
        return InputDoubt("empty", f"{values} drops {n:,} of {ledger.rows_in:,} rows, most of them")
    return InputDoubt(
        "empty", f"{n:,} of {ledger.rows_in:,} rows have no label; is it the right column? --columns label=NAME"
    )


def _sizes(votes: Any) -> list[InputDoubt]:
    """One worker for all rows, or a task for each row."""
    n, n_workers = len(votes), votes.n_workers
    if n < ENOUGH:
        return []
    if n_workers == 1:
        what = f"all {n:,} rows have one worker, {quote(votes.workers)}; name another column with --columns worker=NAME"
        return [InputDoubt("one-worker", what)]
    if votes.n_tasks == n:
        what = (
            f"each of the {n:,} rows has a task of its own, so no two workers can be compared; is it the id of the "
            "row? --columns task=NAME names another column"
        )
        return [InputDoubt("own-task", what)]
    return []


def _names(votes: Any) -> list[InputDoubt]:
    """Workers that are summaries of the others, or one person in two spellings."""
    if votes.workers.dtype != pl.String:
        return []
    summaries = [name for name in votes.workers if plain_name(name) in NOT_WORKERS]
    if not summaries or votes.n_workers < 2:
        return []
    return [
        InputDoubt(
            "names",
            f"a worker is called {quote(summaries)}, which is the name of a summary or of the truth, not of a worker; "
            "leave these rows out, or give them as --gold",
        )
    ]
