"""crowdwise evaluate: score labels against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import ParameterError
from ..core.options import ReadOptions
from .bounds import ScoresAtLeast, ScoresAtMost, exit_if_broken, parse_limits, report, score_bounds
from .options import Json, Truth, TruthColumns, option
from .terminal import error_context, info, print_blocks, print_json, print_table
from .vote_options import Missing, Order, parse_order, read_known_labels

if TYPE_CHECKING:
    import polars as pl


def evaluate(
    labels: Annotated[
        Path,
        typer.Argument(help="Folder written by aggregate, or a table task,label[,p_<class>...].", metavar="DIR|LABELS"),
    ],
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    columns: Annotated[
        str | None,
        option("Input", "--columns", "Column names of a LABELS table, as task=A,label=B.", metavar="PAIRS"),
    ] = None,
    missing: Missing = None,
    order: Order = None,
    cluster: Annotated[
        str | None,
        option("Input", "--cluster", "Table task,cluster of tasks that belong together.", metavar="FILE"),
    ] = None,
    resamples: Annotated[
        int,
        option(
            "Method",
            "--resamples",
            "Number of bootstrap resamples of the tasks for the 95 % intervals.",
            min=0,
            metavar="N",
        ),
    ] = 1000,
    seed: Annotated[int, option("Method", "--seed", "Seed of the resamples.", min=0, metavar="N")] = 0,
    at_least: ScoresAtLeast = None,
    at_most: ScoresAtMost = None,
    json: Json = False,
) -> None:
    """Score labels and probabilities against the truth, with 95 % intervals."""
    from ..core.result import Result
    from ..evaluation.evaluate import evaluate as score
    from ..evaluation.evaluate import kind_of

    if truth is None:
        raise ParameterError("evaluate needs --truth FILE, a table task,label")
    limits = parse_limits(at_least, at_most)
    labels = run_of_items(labels)
    predicted: Result | pl.DataFrame = Result.load(labels) if labels.is_dir() else read_labels(labels, columns)
    gold_tasks = None if labels.is_dir() else gold_beside(labels)
    true_labels = read_known_labels(ReadOptions(missing=tuple(missing or ())), truth, truth_columns, kind_of(predicted))
    with error_context(labels, truth):
        scores = score(
            predicted,
            true_labels,
            gold=gold_tasks,
            resamples=resamples,
            seed=seed,
            order=parse_order(order),
            cluster=None if cluster is None else cluster_table(cluster),
        )
        bounds = score_bounds(scores, limits)
    if json:
        values = scores.to_dict()
        report(bounds, values)
        print_json(values)
        exit_if_broken(bounds)
        return
    print_table("", ["", f"of {scores.n:,} tasks", "95 % interval"], scores.rows(), stderr=False)
    print_blocks(scores.tables())
    if scores.n_gold_left_out:
        run = "fit" if labels.is_dir() else "run of this table"
        info(f"{scores.n_gold_left_out:,} tasks in the truth were gold in the {run} and are not counted")
    if scores.truths_without_labels:
        info(f"{scores.truths_without_labels:,} tasks in the truth have no label and are not counted")
    report(bounds)
    exit_if_broken(bounds)


def cluster_table(path: str) -> pl.DataFrame:
    """Read a table task, cluster."""
    from ..core.errors import DataError
    from .guarantee.fairness import read_groups

    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file; --cluster is a table task,cluster")
    table: pl.DataFrame = read_groups(path, None, "task")
    return table


def run_of_items(labels: Path) -> Path:
    """Return the run folder of a table of items (scores, clusters, places); any other path is returned unchanged."""
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
            f"{labels} is a table of items outside a run folder; give evaluate the folder that aggregate wrote"
        ) from None
    return labels.parent


def gold_beside(labels: Path) -> pl.DataFrame | None:
    """Return the gold tasks of the run whose folder holds this table; None outside a run."""
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
    """Read a table of labels as text: task, label and any other columns, such as p_<class>."""
    import polars as pl

    from ..core.intake.columns import TRUTH, parse_columns
    from ..io.detect_kind import kind_of_header
    from ..io.numerals import with_points
    from ..io.reading import choose_columns
    from ..io.tables import open_table

    table = open_table(path)
    kind = None if columns else kind_of_header(table.header)
    roles = TRUTH if kind is None else ("task", *kind.columns)
    chosen, _ = choose_columns(table, parse_columns(columns), roles)
    frame = table.read(table.header).with_columns(pl.all().cast(pl.String))
    if table.decimal_comma:
        frame = with_points(frame, [name for name in frame.columns if name.startswith("p_")])
    new_names = {theirs: role for role, theirs in chosen.items() if role in roles}
    return frame.drop([name for name in roles if name not in new_names and name in frame.columns]).rename(new_names)
