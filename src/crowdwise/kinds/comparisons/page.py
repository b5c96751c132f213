"""The report page of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ...core.errors import CrowdwiseError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import gold_tasks
from ...evaluation.scores import Table
from ...evaluation.statement import outlook
from ...report.leaderboard import boards, leaderboard
from ...report.page import agreement_section, fragment
from ...report.sheet import Section, Sheet
from ...report.text import count, percent, shown
from ...report.workers import notes as flag_notes
from ...report.workers import workers_to_contact
from ...workers.flags import agreement_table, flag_table
from .answers import Comparisons
from .estimate import ComparisonEstimate
from .scoring import evaluate, sentences
from .workers import study_comparisons

ENDS, TASKS, RESAMPLES = 100, 100, 300
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
    study = study_comparisons(votes, result, gold=_pairs_of(votes, truth))
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    serious = [flag for flag in study.flags if flag.name != "unknown"]
    talk = {"talk": workers_to_contact(serious, study.meanings), "n_talk": len({str(flag.worker) for flag in serious})}
    lines = [f"{line[:1].upper()}{line[1:]}." for line in (outlook(result), *sentences(votes, result))]
    closing = " ".join(lines) + f" {study.closing()}"
    workers = fragment("flags.html.j2", notes=flag_notes(study.flags, study.meanings))
    workers += fragment("tables.html.j2", tables=[_fit(table) for table in study.worker_tables(ENDS)])
    sections = [
        Section("verdict", "Verdict", "Verdict", fragment("plain.html.j2", verdict=talk, closing=closing)),
        Section("leaderboard", "Leaderboard", "Leaderboard",
                leaderboard([_HOW], boards(board, titles(votes, estimate, board)))),
        Section("data", "Data", "Data and ledger", _data(votes)),
        agreement_section(study.agreement, _AGREEMENT),
        Section("workers", "Workers", "Workers", workers),
        Section("tasks", "Pairs", "Pairs to ask again", fragment("tables.html.j2", tables=[_even(result, estimate)])),
        Section("truth", "Truth", "Against the truth", _truth(blind or result, truth)),
    ]  # fmt: skip
    tables = [
        ("items.csv", "every item with its score and ranks", board),
        ("labels.csv", "every pair and its probabilities", result.to_table()),
        ("quality.csv", "every worker", study.quality),
        ("flags.csv", "every flag with its evidence", flag_table(study.flags)),
        ("agreement.csv", "the coefficients", agreement_table(study.agreement)),
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


def _pairs_of(votes: Votes[Comparisons], truth: Any) -> Any:
    """Return the truth if it is about pairs, which is gold for the workers; None if it is about items."""
    from .fitting import pair_gold

    if truth is None:
        return None
    try:
        pair_gold(truth, votes)
    except CrowdwiseError:
        return None
    return truth


def _data(votes: Votes[Comparisons]) -> Markup:
    facts = votes.describe()
    left = facts["left_wins"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["pairs", f"{facts['pairs']:,}"],
        ["ties", f"{facts['ties']:,}"],
        ["left wins, without ties", "–" if left is None else percent(left)],
        ["components of compared items", f"{facts['item_components']:,}"],
    ]
    return fragment("tables.html.j2", tables=[Table("The answers", ["", ""], rows)]) + fragment(
        "ledger.html.j2", ledger=votes.ledger.to_dict()
    )


def _even(result: Result, estimate: ComparisonEstimate) -> Table:
    """Table of the pairs closest to even; among equals those with the fewest answers first."""
    gap = np.abs(estimate.chance[:, 0] - estimate.chance[:, 1])
    order = np.lexsort((result.labels_per_task, np.where(result.labels_per_task > 0, gap, np.inf)))[:TASKS]
    table = result.to_table()[order.tolist()]
    rows = [[f"{v:.3f}" if isinstance(v, float) else str(v) for v in row] for row in table.iter_rows()]
    title = f"The {len(rows):,} pairs closest to even, of {len(estimate):,}"
    return _fit(Table(title, table.columns, rows))


def _truth(result: Result, truth: Any) -> Markup:
    if truth is None:
        return fragment("comparisons/truth.html.j2", rows=[], about=_NO_TRUTH)
    try:
        scores = evaluate(result, truth, fit_gold=gold_tasks(result), resamples=RESAMPLES)
    except CrowdwiseError as error:
        return fragment("comparisons/truth.html.j2", rows=[], about=shown(f"{error}", 300))
    what = count(scores.n, "known item" if scores.what == "items" else "known pair")
    return fragment("comparisons/truth.html.j2", rows=scores.rows(), about=f"Against {what}.")


def _fit(table: Table) -> Table:
    return Table(table.title, [shown(name, 40) for name in table.header], [[shown(c) for c in r] for r in table.rows])
