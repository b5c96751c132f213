"""Comparisons as answers: A or B, with ties."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from .answers import ComparisonCoder, Comparisons, fits
from .columns import complete, told_by


def comparison_votes(
    left: Any,
    right: Any,
    winner: Any,
    *,
    worker: Any = None,
    task: Any = None,
    prompt: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Comparisons]:
    """Votes from equally long columns: `winner` is left, right or tie, or the winning item's name.

    Without `task` each pair of items (and prompt) is one; without `worker` all rows are answers of one, `everyone`.

    >>> comparison_votes(["a", "a", "b"], ["b", "c", "c"], ["left", "tie", "c"], worker=["ann", "bob", "ann"])
    Votes(3 comparisons, 3 tasks, 2 workers)
    """
    named = {"task": task, "worker": worker, "prompt": prompt}
    columns = {"left": left, "right": right, "winner": winner, **{n: v for n, v in named.items() if v is not None}}
    notes, about, again = complete(columns)
    columns |= numbers
    if again and duplicates == "error":
        duplicates = "keep"
    how = {"duplicates": duplicates, "tasks": tasks, "workers": workers, "missing": missing, "notes": notes}
    votes: Votes[Comparisons] = Votes._of(encode(columns, partial(ComparisonCoder, items=items), **how))
    return votes if about is None else votes.about(tasks=about)


KIND = Kind(
    name="comparisons",
    people="comparisons",
    columns={"left": "left", "right": "right", "winner": "winner"},
    coder=ComparisonCoder,
    default="tournament",
    answers_word="comparisons",
    told_by=told_by,
    more_roles=("chosen", "rejected", "won_left", "won_right", "won_tie", "prompt", "topic"),
    fits_table=fits,
    complete=complete,
    may_lack=("task", "worker"),
    doors={
        "describe": "crowdwise.kinds.comparisons.describe:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "model": "crowdwise.aggregate.comparisons.model:model_of",
        "infer": "crowdwise.aggregate.comparisons.model:infer",
        "estimate": "crowdwise.kinds.comparisons.estimate:ComparisonEstimate",
        "picture": "crowdwise.kinds.comparisons.estimate:ComparisonWorkers",
        "decisions": "crowdwise.aggregate.comparisons.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.comparisons.shown:sentences",
        "worker_rows": "crowdwise.scoring.comparisons.shown:worker_rows",
        "show": "crowdwise.scoring.comparisons.shown:show",
        "inspect": "crowdwise.scoring.comparisons.shown:inspect",
        "truth": "crowdwise.scoring.comparisons.truth:read_truth",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "distance": "crowdwise.kinds.comparisons.distance:distance",
        "said": "crowdwise.aggregate.comparisons.gold:said",
        "known": "crowdwise.aggregate.comparisons.gold:known",
        "study": "crowdwise.workers.comparisons.study:study_comparisons",
        "flags": "crowdwise.workers.comparisons.study:flag_comparisons",
        "evaluate": "crowdwise.scoring.comparisons.evaluate:evaluate",
        "plots": "crowdwise.plots.orders:OrderPlots",
        "card": "crowdwise.plots.orders:html",
        "page": "crowdwise.report.comparisons.page:comparison_page",
    },
)
