"""crowdwise evaluate: labels against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import ParameterError
from .options import Json, Truth, TruthColumns
from .terminal import naming, print_json, print_table, say
from .vote_options import Asked, Missing, Order, parse_order

if TYPE_CHECKING:
    import polars as pl


def evaluate(
    labels: Annotated[
        Path,
        typer.Argument(
            help="A folder that aggregate wrote, or a table task,label[,p_<class>...].",
            metavar="DIR|LABELS",
            show_default=False,
        ),
    ],
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="Which column of a table LABELS is which: task=..,label=..",
            metavar="PAIRS",
            show_default=False,
        ),
    ] = None,
    missing: Missing = None,
    order: Order = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, metavar="N", help="Resamples of the tasks behind the 95 % intervals.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Draws the resamples.")] = 0,
    json: Json = False,
) -> None:
    """Score labels and probabilities against the truth, with 95 % intervals."""
    from ..core.result import Result
    from ..evaluation.evaluate import evaluate as score
    from ..evaluation.evaluate import kind_of

    if truth is None:
        raise ParameterError("evaluate needs --truth FILE, a table task,label")
    labels = run_of_items(labels)
    found: Result | pl.DataFrame = Result.load(labels) if labels.is_dir() else read_labels(labels, columns)
    told = None if labels.is_dir() else gold_beside(labels)
    answers = Asked(missing=missing).truth(truth, truth_columns, kind_of(found))
    with naming(labels, truth):
        scores = score(found, answers, gold=told, resamples=resamples, seed=seed, order=parse_order(order))
    if json:
        print_json(scores.to_dict())
        return
    print_table("", ["", f"of {scores.n:,} tasks", "95 % interval"], scores.rows(), stderr=False)
    for table in scores.tables():
        print_table(table.title, table.header, table.rows, stderr=False)
    if scores.n_gold_left_out:
        run = "fit" if labels.is_dir() else "run that this table lies with"
        say(f"{scores.n_gold_left_out:,} tasks in the truth were gold in the {run} and are not counted")
    if scores.truths_without_labels:
        say(f"{scores.truths_without_labels:,} tasks in the truth have no label here and are not counted")


def run_of_items(labels: Path) -> Path:
    """A table of items (scores, clusters, places) is scored with the run in whose folder it lies; anything else stays
    what it is."""
    from ..core.errors import CrowdwiseError, DataError
    from ..core.result import Result
    from ..io.tables import open_table

    if labels.is_dir() or not labels.is_file():
        return labels
    header = open_table(labels).header
    of_lists = {"task", "place"} <= set(header)  # rankings have items of every task
    if "item" not in header or "label" in header or ("task" in header and not of_lists):
        return labels
    try:
        Result.load(labels.parent)
    except CrowdwiseError:
        raise DataError(
            f"{labels} is a table of items and lies in no run; give evaluate the folder that aggregate wrote"
        ) from None
    return labels.parent


def gold_beside(labels: Path) -> pl.DataFrame | None:
    """A table does not say which tasks were gold; the run in whose folder it lies does."""
    import polars as pl

    from ..core.errors import CrowdwiseError
    from ..core.result import Result

    try:
        run = Result.load(labels.parent)
    except CrowdwiseError:  # no run, or a damaged one
        return None
    if run.gold is None:
        return None
    return pl.DataFrame({"task": run.tasks.filter(pl.Series(run.gold))})


def read_labels(path: Path, columns: str | None) -> pl.DataFrame:
    """A table of labels as text: task, label and what else is in it, such as p_<class>."""
    import polars as pl

    from ..core.intake.columns import TRUTH, parse_columns
    from ..io.kind_of_columns import kind_of_header
    from ..io.numerals import with_points
    from ..io.reading import choose_columns
    from ..io.tables import open_table

    table = open_table(path)
    own = None if columns else kind_of_header(table.header)
    roles = TRUTH if own is None else ("task", *own.columns)
    chosen, _ = choose_columns(table, parse_columns(columns), roles)
    frame = table.read(table.header).with_columns(pl.all().cast(pl.String))
    if table.decimal_comma:
        frame = with_points(frame, [name for name in frame.columns if name.startswith("p_")])
    ours = {theirs: role for role, theirs in chosen.items() if role in roles}
    return frame.drop([name for name in roles if name not in ours and name in frame.columns]).rename(ours)
