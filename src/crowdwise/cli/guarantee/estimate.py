"""crowdwise estimate: a number to publish, from few gold labels and many verdicts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed
from ..terminal import naming, print_json, print_table, say
from ..vote_options import USUAL, Asked, reads_votes
from .given import FitShare, Given, drawn, saved_figure, takes


class Sampling(StrEnum):
    """How the gold tasks were drawn."""

    random = "random"
    within = "within-verdict"
    weights = "weights"
    truth = "by-truth"
    unknown = "unknown"


class For(StrEnum):
    """Which tasks the figure is about."""

    these = "these"
    new = "new"


class How(StrEnum):
    """The estimator."""

    auto = "auto"
    double = "double"
    regression = "regression"
    ppi = "ppi++"


@reads_votes
def estimate(
    votes: Given,
    of: Annotated[
        str,
        typer.Option(
            "--of",
            help="share:CLASS, accuracy, winrate[:CLASS], mean or difference:A,B (two classes, or two workers).",
            metavar="WHAT",
            show_default=False,
        ),
    ],
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: Annotated[
        Sampling | None,
        typer.Option(
            "--sampling",
            help="How the gold tasks were drawn; a draw or a run that records it needs none.",
            show_default=False,
        ),
    ] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="With --sampling unknown: the point alone.")] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="A column about the tasks: a figure for each group.", metavar="COL", show_default=False
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            help="Another system's votes or run: the figure is this one's less that one's, paired by task.",
            metavar="VOTES|DIR",
            show_default=False,
        ),
    ] = None,
    against_gold: Annotated[
        Path | None,
        typer.Option(
            "--against-gold",
            help="With --against: people's verdicts of what the other system made, where they are not --gold.",
            metavar="GOLD",
            show_default=False,
        ),
    ] = None,
    for_: Annotated[For, typer.Option("--for", help="These tasks, or new ones of their kind.")] = For.these,
    how: Annotated[How, typer.Option("--how", help="The estimator; auto suits what is asked for.")] = How.auto,
    level: Annotated[float, typer.Option("--level", help="How often the interval must hold.", metavar="P")] = 0.95,
    fit_share: FitShare = None,
    method: Method = None,
    param: Params = None,
    asked: Asked = USUAL,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Add the figure to estimates.json in this folder.", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """A share, accuracy, win rate or mean over all tasks, with an interval that holds.

    Verdicts say something of every task, gold (drawn at random) says how wrong they are. Given a run folder, its labels
    are the verdicts; of a file with one judge that judge's, of several workers the default method's.
    """
    from ...evaluation.guarantee.estimate import estimate as work_out

    given = takes(votes, method, param, gold, gold_columns, asked, seed)
    told = sampling.value if sampling is not None else drawn(votes, gold, given, None)
    with naming(votes, gold):
        if against is not None:
            wrong = [name for name, on in (("--by", by), ("--fit-share", fit_share), ("--anyway", anyway)) if on]
            figure = _less(given, takes(against, method, param, against_gold, gold_columns, asked, seed), wrong,
                           of=of, sampling=told, level=level, for_=for_.value, seed=seed)  # fmt: skip
        else:
            figure = work_out(
                given.result, gold=given.gold, of=of, sampling=told, level=level, by=by, for_=for_.value,
                method=how.value, votes=given.votes, fit_share=fit_share, anyway=anyway, seed=seed,
            )  # fmt: skip
    if output is not None:
        saved_figure(output, figure, force)
    for note in figure.notes:
        say("note:", note)
    if json:
        print_json(figure.to_dict())
        return
    typer.echo(figure.sentence())
    if figure.groups:
        rows = []
        for name, found in figure.groups.items():
            if isinstance(found, str):
                rows.append([str(name), "–", found])
            else:
                ends = "–" if found.low is None else f"{found.low:.3f} – {found.high:.3f}"
                rows.append([str(name), f"{found.value:.3f}", ends])
        print_table(by or "", ["group", figure.people, f"{100 * level:g} % interval"], rows, stderr=False)


def _less(given: Any, other: Any, wrong: list[str], **told: Any) -> Any:
    """One system's figure less another's."""
    from ...core.errors import ParameterError
    from ...evaluation.guarantee.difference import difference

    if wrong:
        raise ParameterError(f"{', '.join(wrong)} does not go with --against")
    return difference(
        given.result, other.result, gold=given.gold, second_gold=other.gold, votes=given.votes,
        second_votes=other.votes, **told,
    )  # fmt: skip
