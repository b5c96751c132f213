"""The report page of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...evaluation.statement import outlook
from ...report.leaderboard import (
    answers_section,
    boards,
    leaderboard,
    order_truth_section,
    readable_truth,
    sentences_text,
)
from ...report.page import agreement_section, table_section
from ...report.plain_page import fitted, study_tables, verdict_section, workers_section
from ...report.sheet import Section, Sheet
from ...report.text import count, percent, shown
from .answers import Comparisons
from .estimate import ComparisonEstimate
from .fitting import pair_gold
from .scoring import sentences
from .workers import study_comparisons

# Maximum number of pairs shown.
TASKS = 100
_AGREEMENT = "Agreement between answers of different workers to the same pair. The bar is the 95 % interval over pairs."
_HOW = (
    "A difference of 1 between two scores means that the better item wins in 73 % of the answers of a reliable worker. "
    "Places are simultaneous confidence intervals of the ranks. Items of a group cannot be distinguished from its "
    "first."
)
_NO_TRUTH = (
    "No truth is known. --truth FILE with known pairs (left, right, winner) or known scores (item, score) shows how "
    "accurate the order is."
)


def comparison_page(
    votes: Votes[Comparisons], result: Result, *, truth: Any = None, blind: Result | None = None
) -> Sheet:
    """Build all sections of the page (see `report.render`)."""
    study = study_comparisons(votes, result, gold=readable_truth(pair_gold, truth, votes))
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    closing = f"{sentences_text([outlook(result), *sentences(votes, result)])} {study.closing()}"
    sections = [
        verdict_section(study, closing),
        Section("leaderboard", "Leaderboard", "Leaderboard",
                leaderboard([_HOW], boards(board, titles(votes, estimate, board)))),
        answers_section(votes, _facts(votes)),
        agreement_section(study.agreement, _AGREEMENT),
        workers_section(study),
        table_section("tasks", "Pairs", "Pairs to ask again", _even(result, estimate)),
        order_truth_section(
            blind or result, truth, _NO_TRUTH, lambda scores: "known item" if scores.what == "items" else "known pair"
        ),
    ]  # fmt: skip
    tables = [
        ("items.csv", "every item with its score and ranks", board),
        ("labels.csv", "every pair and its probabilities", result.to_table()),
        *study_tables(study),
    ]
    lead = f"{count(len(votes), 'comparison')} of {count(len(board), 'item')} by {count(votes.n_workers, 'worker')}"
    return Sheet(f"{lead} in {count(votes.n_tasks, 'pair')}", sections, tables)


def titles(votes: Votes[Comparisons], estimate: ComparisonEstimate, board: pl.DataFrame) -> dict[int, str]:
    """Title of each component: the topic where all its pairs share one, else its number."""
    numbers = board["component"].unique(maintain_order=True).to_list()
    if len(numbers) == 1:
        return {numbers[0]: "All items"}
    names: dict[int, str] = {}
    about = votes.about_tasks
    column = None if about is None else next((c for c in ("topic", "prompt") if c in about.columns), None)
    if about is not None and column is not None:
        key = pl.DataFrame(
            {"task": votes.tasks.cast(pl.String), "component": estimate.component[np.maximum(estimate.left, 0)]}
        )
        labelled = key.join(about.with_columns(pl.col("task").cast(pl.String)), on="task")
        one = labelled.group_by("component").agg(pl.col(column).n_unique().alias("n"), pl.col(column).first())
        names = {int(c) + 1: shown(name, 80) for c, n, name in one.iter_rows() if n == 1 and name is not None}
    return {component: names.get(component, f"Component {component}") for component in numbers}


def _facts(votes: Votes[Comparisons]) -> list[list[str]]:
    facts = votes.describe()
    left = facts["left_wins"]
    return [
        ["items", f"{facts['items']:,}"],
        ["pairs", f"{facts['pairs']:,}"],
        ["ties", f"{facts['ties']:,}"],
        ["left wins, without ties", "–" if left is None else percent(left)],
        ["components of compared items", f"{facts['item_components']:,}"],
    ]


def _even(result: Result, estimate: ComparisonEstimate) -> Table:
    """Table of the pairs closest to even; among equals those with the fewest answers first."""
    gap = np.abs(estimate.chance[:, 0] - estimate.chance[:, 1])
    order = np.lexsort((result.labels_per_task, np.where(result.labels_per_task > 0, gap, np.inf)))[:TASKS]
    table = result.to_table()[order.tolist()]
    rows = [[f"{v:.3f}" if isinstance(v, float) else str(v) for v in row] for row in table.iter_rows()]
    title = f"The {len(rows):,} pairs closest to even, of {len(estimate):,}"
    return fitted(Table(title, table.columns, rows))
