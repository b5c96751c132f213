"""Rankings as answers: whole or partial orders of a task's items, with ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from .answers import RankingCoder, Rankings, claims, fits

NAMES = ("ranking", "order", "ranks", "preference_order")


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """A column that is called ranking or the like."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    found = next((plain[name] for name in NAMES if name in plain), None)
    return None if found is None else {"ranking": found}


def ranking_votes(
    task: Any,
    worker: Any,
    ranking: Any,
    *,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Rankings]:
    """Votes from equally long columns: `ranking` is text (a>b=c, a>b>...) or a list of items (of lists, where tied).

    >>> ranking_votes([1, 1], ["ann", "bob"], ["a>b>c", ["c", ["a", "b"]]])
    Votes(2 rankings, 1 tasks, 2 workers)
    """
    from .parsing import written_lists

    columns = {"task": task, "worker": worker, "ranking": written_lists(ranking), **numbers}
    how: dict[str, Any] = {"duplicates": duplicates, "tasks": tasks, "workers": workers, "missing": missing}
    return Votes._of(encode(columns, partial(RankingCoder, items=items), **how))


KIND = Kind(
    name="rankings",
    people="rankings",
    columns={"ranking": " ".join(NAMES)},
    coder=RankingCoder,
    default="podium",
    answers_word="rankings",
    told_by=told_by,
    fits_table=lambda columns: all(
        column.name.strip().lower() == "ranking" or fits(column) for column in columns.values()
    ),
    claims=claims,
    from_labels=True,
    doors={
        "describe": "crowdwise.kinds.rankings.describe:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "estimate": "crowdwise.kinds.rankings.estimate:RankingEstimate",
        "picture": "crowdwise.kinds.rankings.estimate:RankingWorkers",
        "infer": "crowdwise.aggregate.rankings.model:infer",
        "trust": "crowdwise.scoring.by_order:trust_rankings",
        "sentences": "crowdwise.scoring.rankings.shown:sentences",
        "worker_rows": "crowdwise.scoring.rankings.shown:worker_rows",
        "show": "crowdwise.scoring.rankings.shown:show",
        "inspect": "crowdwise.scoring.rankings.shown:inspect",
        "evaluate": "crowdwise.scoring.rankings.evaluate:evaluate",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "distance": "crowdwise.kinds.rankings.distance:distance",
        "said": "crowdwise.aggregate.rankings.gold:said",
        "known": "crowdwise.aggregate.rankings.gold:known",
        "study": "crowdwise.workers.rankings.study:study_rankings",
        "flags": "crowdwise.workers.rankings.study:flag_rankings",
        "plots": "crowdwise.plots.orders:OrderPlots",
        "card": "crowdwise.plots.orders:html",
        "page": "crowdwise.report.rankings.page:ranking_page",
    },
)
