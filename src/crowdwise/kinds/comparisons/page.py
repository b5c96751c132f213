"""The page of a crowd that compared items: the leaderboard first."""

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
from ...report.workers import whom_to_talk_to
from ...workers.flags import agreement_table, flag_table
from .answers import Comparisons
from .estimate import ComparisonEstimate
from .scoring import evaluate, sentences
from .workers import study_comparisons

ENDS, TASKS, RESAMPLES = 100, 100, 300
_AGREEMENT = (
    "How far answers of different workers to the same pair go together. The bar is the 95 % interval over pairs."
)
_HOW = (
    "A difference of 1 between two scores means that the better item wins in 73 % of the answers of a reliable worker. "
    "An item may be at any of the places that are named; all of them hold together with the chance of the level. Items "
    "of one group cannot be told from its first."
)
_NO_TRUTH = (
    "Nothing is known to judge this by. --truth FILE with known pairs (left, right, winner) or known scores (item, "
    "score) shows how right the order is."
)


def comparison_page(
    votes: Votes[Comparisons], result: Result, *, truth: Any = None, blind: Result | None = None
) -> Sheet:
    """All sections (see `report.render`)."""
    look = study_comparisons(votes, result, gold=_pairs_of(votes, truth))
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    grave = [flag for flag in look.flags if flag.name != "unknown"]
    talk = {"talk": whom_to_talk_to(grave, look.meanings), "n_talk": len({str(flag.worker) for flag in grave})}
    told = [f"{line[:1].upper()}{line[1:]}." for line in (outlook(result), *sentences(votes, result))]
    closing = " ".join(told) + f" {look.closing()}"
    workers = fragment("flags.html.j2", notes=flag_notes(look.flags, look.meanings))
    workers += fragment("tables.html.j2", tables=[_fit(table) for table in look.worker_tables(ENDS)])
    sections = [
        Section("verdict", "Verdict", "Verdict", fragment("plain.html.j2", verdict=talk, closing=closing)),
        Section("leaderboard", "Leaderboard", "Leaderboard",
                leaderboard([_HOW], boards(board, titles(votes, estimate, board)))),
        Section("data", "Data", "Data and ledger", _data(votes)),
        agreement_section(look.agreement, _AGREEMENT),
        Section("workers", "Workers", "Workers", workers),
        Section("tasks", "Pairs", "Pairs to ask again", fragment("tables.html.j2", tables=[_even(result, estimate)])),
        Section("truth", "Truth", "Against the truth", _truth(blind or result, truth)),
    ]  # fmt: skip
    tables = [
        ("items.csv", "every item with its score and places", board),
        ("labels.csv", "every pair and its chances", result.to_table()),
        ("quality.csv", "every worker", look.quality),
        ("flags.csv", "every flag with its evidence", flag_table(look.flags)),
        ("agreement.csv", "the coefficients", agreement_table(look.agreement)),
    ]
    lead = f"{count(len(votes), 'comparison')} of {count(len(board), 'item')} by {count(votes.n_workers, 'worker')}"
    return Sheet(f"{lead} in {count(votes.n_tasks, 'pair')}", sections, tables)


def titles(votes: Votes[Comparisons], estimate: ComparisonEstimate, board: pl.DataFrame) -> dict[int, str]:
    """What each component is called: by its topic, where all its pairs share one, else by its number."""
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
        both = key.join(about.with_columns(pl.col("task").cast(pl.String)), on="task")
        one = both.group_by("component").agg(pl.col(column).n_unique().alias("n"), pl.col(column).first())
        names = {int(c) + 1: shown(name, 80) for c, n, name in one.iter_rows() if n == 1 and name is not None}
    return {island: names.get(island, f"Component {island}") for island in numbers}


def _pairs_of(votes: Votes[Comparisons], truth: Any) -> Any:
    """Known pairs judge workers; known items do not."""
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
        ["left wins, ties apart", "–" if left is None else percent(left)],
        ["components of compared items", f"{facts['item_components']:,}"],
    ]
    return fragment("tables.html.j2", tables=[Table("What was said", ["", ""], rows)]) + fragment(
        "ledger.html.j2", ledger=votes.ledger.to_dict()
    )


def _even(result: Result, estimate: ComparisonEstimate) -> Table:
    """The pairs closest to even, fewest answers first among them."""
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
        scores = evaluate(result, truth, told=gold_tasks(result), resamples=RESAMPLES)
    except CrowdwiseError as error:
        return fragment("comparisons/truth.html.j2", rows=[], about=shown(f"{error}", 300))
    what = count(scores.n, "known item" if scores.what == "items" else "known pair")
    return fragment("comparisons/truth.html.j2", rows=scores.rows(), about=f"Against {what}.")


def _fit(table: Table) -> Table:
    return Table(table.title, [shown(name, 40) for name in table.header], [[shown(c) for c in r] for r in table.rows])
