"""crowdwise estimate: a figure with a confidence interval, from few gold labels and many verdicts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.options import ReadOptions
from ..bounds import AtLeast, AtMost, exit_if_broken, figure_bounds, refuse_percent, report
from ..options import Gold, GoldColumns, Json, Method, Params, Seed, Systems, VotesOrRun, option
from ..terminal import error_context, info, print_json, print_table
from ..vote_options import DEFAULT_READ_OPTIONS, reads_votes
from .fairness import read_groups
from .inputs import FitShare, gold_sampling, load_inputs, save_figure

if TYPE_CHECKING:
    from ...evaluation.guarantee.estimand import Figure


class GoldDesign(StrEnum):
    """How the gold tasks were drawn."""

    random = "random"
    clusters = "clusters"
    within = "within-verdict"
    weights = "weights"
    truth = "by-truth"
    unknown = "unknown"


class Population(StrEnum):
    """Population of the estimate."""

    these = "these"
    new = "new"


class EstimatorName(StrEnum):
    """Names of the estimators."""

    auto = "auto"
    double = "double"
    regression = "regression"
    ppi = "ppi++"


@reads_votes
def estimate(
    votes: VotesOrRun,
    metric: Annotated[
        str,
        option(
            "Method",
            "--metric",
            "Quantity to estimate: share:CLASS, accuracy, winrate[:CLASS], mean, difference:A,B of two classes or two "
            "workers; error of numbers; score of spans, boxes, texts and the like.",
            metavar="WHAT",
        ),
    ],
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: Annotated[
        GoldDesign | None,
        option("Gold and truth", "--sampling", "How the gold tasks were drawn; not needed for a recorded draw."),
    ] = None,
    by: Annotated[
        str | None, option("Method", "--by", "Column about the tasks; adds an estimate for each group.", metavar="COL")
    ] = None,
    against: Annotated[
        str | None,
        option(
            "Input",
            "--against",
            "Votes or run of another system; the estimate is the difference from it, paired by task.",
            metavar="VOTES|DIR",
        ),
    ] = None,
    against_gold: Annotated[
        Path | None,
        option(
            "Gold and truth",
            "--against-gold",
            "Human labels of the other system's output, if they are not in --gold.",
            metavar="GOLD",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        option(
            "Input",
            "--cluster",
            "Column about the tasks, or table task,cluster, of tasks that belong together: prompts of one document, "
            "turns of one conversation.",
            metavar="COL|FILE",
        ),
    ] = None,
    population: Annotated[
        Population,
        option("Method", "--population", "Population of the estimate: these tasks, or new ones of the same kind."),
    ] = Population.these,
    how: Annotated[
        EstimatorName, option("Method", "--how", "Estimator; auto chooses one for the quantity.")
    ] = EstimatorName.auto,
    level: Annotated[float, option("Method", "--level", "Confidence level of the interval.", metavar="P")] = 0.95,
    at_least: AtLeast = None,
    at_most: AtMost = None,
    fit_share: FitShare = None,
    systems: Systems = None,
    method: Method = None,
    param: Params = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    output: Annotated[
        Path | None, option("Output", "-o, --output", "Folder whose estimates.json receives the estimate.")
    ] = None,
    force: Annotated[
        bool,
        option(
            "Output",
            "--force",
            "Replace an existing estimate; with --sampling unknown, give the point estimate without an interval.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Estimate a share, accuracy, win rate or mean over all tasks, with a valid confidence interval.

    Verdicts cover every task, and gold drawn at random measures their errors. The verdicts are the labels of a run
    folder, those of the only judge in a file, or the labels of the default method.
    """
    from ...evaluation.guarantee.estimate import estimate as estimate_figure

    refuse_percent(metric if against is None else "difference", at_least, at_most)
    inputs = load_inputs(votes, method, param, gold, gold_columns, read_options, seed, systems)
    design = sampling.value if sampling is not None else gold_sampling(inputs, None)
    options: dict[str, Any] = {
        "metric": metric, "sampling": design, "level": level, "population": population.value, "seed": seed,
        "cluster": None if cluster is None else read_groups(cluster, None, "task"),
    }  # fmt: skip
    with error_context(votes, gold):
        if against is not None:
            unsupported = [name for name, value in (("--by", by), ("--fit-share", fit_share)) if value]
            other = load_inputs(against, method, param, against_gold, gold_columns, read_options, seed, systems)
            figure = _difference(inputs, other, unsupported, **options)
        else:
            figure = estimate_figure(
                inputs.result, gold=inputs.gold, votes=inputs.votes, by=by, method=how.value, fit_share=fit_share,
                force=force and sampling is GoldDesign.unknown, **options,
            )  # fmt: skip
    bounds = figure_bounds(figure, at_least, at_most)
    if output is not None:
        save_figure(output, figure, force)
    for note in figure.notes:
        info("note:", note)
    if json:
        values = figure.to_dict()
        report(bounds, values)
        print_json(values)
    else:
        _print(figure, by)
        report(bounds)
    exit_if_broken(bounds)


def _print(figure: Figure, by: str | None) -> None:
    """Print an estimate, and a table of its groups."""
    typer.echo(figure.sentence())
    if figure.groups:
        rows = []
        for name, group_figure in figure.groups.items():
            if isinstance(group_figure, str):
                rows.append([str(name), "–", group_figure])
            else:
                interval = "–" if group_figure.low is None else f"{group_figure.low:.3f} – {group_figure.high:.3f}"
                rows.append([str(name), f"{group_figure.value:.3f}", interval])
        print_table(by or "", ["group", figure.display_name, f"{100 * figure.level:g} % interval"], rows, stderr=False)


def _difference(inputs: Any, other: Any, unsupported: list[str], **options: Any) -> Any:
    """Estimate the difference between two systems."""
    from ...core.errors import ParameterError
    from ...evaluation.guarantee.difference import difference

    if unsupported:
        raise ParameterError(f"{', '.join(unsupported)} does not go with --against")
    return difference(
        inputs.result, other.result, gold=inputs.gold, second_gold=other.gold, votes=inputs.votes,
        second_votes=other.votes, **options,
    )  # fmt: skip
