"""Options for reading a file of votes, shared by every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum, StrEnum
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.kind import KindHooks
from ..core.options import ReadOptions

if TYPE_CHECKING:
    import polars as pl

    from ..core.kind import Kind
    from ..io.reading import Reading


class Repeats(StrEnum):
    """What to do when a worker gave a task different labels."""

    error = "error"
    first = "first"
    last = "last"
    keep = "keep"


class Multi(Enum):
    """What to do with an answer that holds several labels."""

    error = "error"
    join = "join"
    drop = "drop"
    set = "set"


class RejectedPolicy(StrEnum):
    """What to do with assignments that the requester rejected."""

    keep = "keep"
    drop = "drop"


Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Column names of the file as comma-separated KEY=NAME pairs; keys are task, worker, label (for numbers "
        "value, or value_x and value_y) and optionally time, weight, duration, confidence, gold, source, group, text "
        "and url.",
        metavar="PAIRS",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Duplicates = Annotated[
    Repeats,
    typer.Option(
        "--duplicates",
        help="What to do when a worker gave a task different labels: refuse the file, use the first or "
        "the last one (by the time column, if any), or keep all.",
        rich_help_panel="Input",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "--from",
        help="Format of the file: csv, tsv, jsonl, parquet, excel, wide (one column per worker), "
        "snorkel, or a labelling tool such as label_studio or mturk; detected by default.",
        metavar="NAME",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Question = Annotated[
    str | None,
    typer.Option(
        "--question",
        help="Question to read from an export that has several.",
        metavar="NAME",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Multiple = Annotated[
    Multi | None,
    typer.Option(
        "--multiple",
        help="What to do with an answer that holds several labels: refuse the file, join them into one "
        "class, drop the answer, or read all answers as label sets (the default for exports with "
        "such answers).",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Offered = Annotated[
    Path | None,
    typer.Option(
        "--offered",
        help="Table task,offered of the choices offered by each task, for label sets; all classes by default.",
        metavar="FILE",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Predictions = Annotated[
    bool,
    typer.Option(
        "--predictions", help="Count the predictions of models in an export as votes.", rich_help_panel="Input"
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="Value that stands for a missing label, such as NA; repeat for more (empty cells are always missing).",
        metavar="VALUE",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Rejected = Annotated[
    RejectedPolicy,
    typer.Option(
        "--rejected", help="Whether to keep or drop assignments that the requester rejected.", rich_help_panel="Input"
    ),
]


KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind",
        help="Kind of the answers: classes, numbers, sets, comparisons, rankings, ...; detected from "
        "the columns by default.",
        metavar="NAME",
        show_default=False,
        rich_help_panel="Input",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        help="Classes from the lowest to the highest, such as bad,fair,good, or the word numbers if they are numbers.",
        metavar="CLASSES",
        show_default=False,
        rich_help_panel="Input",
    ),
]
AboutTasks = Annotated[
    Path | None,
    typer.Option(
        "--about-tasks",
        help="Table with one row per task and any columns about it (text, url, ...), stored with the votes.",
        metavar="FILE",
        show_default=False,
        rich_help_panel="Input",
    ),
]
AboutWorkers = Annotated[
    Path | None,
    typer.Option(
        "--about-workers",
        help="Table with one row per worker and any columns about them (group, family, cost, ...), "
        "stored with the votes.",
        metavar="FILE",
        show_default=False,
        rich_help_panel="Input",
    ),
]


Links = Annotated[
    Path | None,
    typer.Option(
        "--links",
        help="Table with two columns of linked tasks and an optional third column of weights.",
        metavar="FILE",
        show_default=False,
        rich_help_panel="Input",
    ),
]


# The options of every command that reads votes: fields of ReadOptions and how each is given on the command line.
OPTIONS: dict[str, Any] = {
    "columns": Columns,
    "duplicates": Duplicates,
    "format": Format,
    "question": Question,
    "multiple": Multiple,
    "predictions": Predictions,
    "rejected": Rejected,
    "missing": Missing,
    "kind": KindOption,
    "offered": Offered,
    "order": Order,
    "about_tasks": AboutTasks,
    "about_workers": AboutWorkers,
    "links": Links,
}
# Options whose command-line value differs in type from the field.
_CHOICES: dict[str, type[Enum]] = {"duplicates": Repeats, "multiple": Multi, "rejected": RejectedPolicy}
DEFAULT_READ_OPTIONS = ReadOptions()


def _from_command_line(**values: Any) -> ReadOptions:
    """Return the options of reading from the values of the command line."""
    from ..core.intake.columns import parse_columns
    from ..io.detect_kind import answer_roles

    for name in _CHOICES:
        values[name] = None if values[name] is None else values[name].value
    columns, missing, order = values.pop("columns"), values.pop("missing"), values.pop("order")
    return ReadOptions(
        columns=parse_columns(columns, answer=answer_roles()) if columns else {},
        missing=tuple(missing or ()),
        order=parse_order(order),
        **values,
    )


def read_votes(votes: str, options: ReadOptions, likely: str | None = None) -> Reading:
    """Read a file of votes; answers are of the `likely` kind unless the options or the columns say otherwise."""
    from ..io.reading import read_all

    return read_all(votes, replace(options, likely=likely))


def read_known_labels(
    options: ReadOptions, path: Path | None, columns: str | None, kind: Kind | None = None
) -> pl.DataFrame | None:
    """Read the true labels in a file (--gold or --truth, with --gold-columns or --truth-columns); None without a file.

    A kind whose truth has columns of its own reads it itself.
    """
    from ..core.intake.columns import TRUTH_OPTION, parse_columns
    from ..io.read import read_truth

    if path is None:
        return None
    if kind is not None and kind.hooks.supports(KindHooks.read_truth_file) and columns is None:
        labels: pl.DataFrame = kind.hooks.read_truth_file(path, missing=options.missing)
        return labels
    return read_truth(path, columns=parse_columns(columns, TRUTH_OPTION), missing=options.missing)


def parse_order(order: str | None) -> list[str] | None:
    """Return the names in --order, which may be quoted."""
    import csv

    return None if order is None else [n.strip() for n in next(csv.reader([order], skipinitialspace=True), [])]


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with a parameter `read_options` one command-line option per entry of OPTIONS in its place.

    The options' defaults are the fields of the parameter's own default.
    """
    command_signature = signature(command, eval_str=True)
    parameters: list[Parameter] = []
    for parameter in command_signature.parameters.values():
        if parameter.name != "read_options":
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        for name, annotation in OPTIONS.items():
            default = _typed_default(name, getattr(parameter.default, name))
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))

    @wraps(command)
    def run(**kwargs: Any) -> None:
        values = {name: kwargs.pop(name) for name in OPTIONS}
        command(**kwargs, read_options=_from_command_line(**values))

    run.__signature__ = command_signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _typed_default(name: str, value: Any) -> Any:
    """A field's value as the command line's type for it; empty columns and lists are None."""
    if name in _CHOICES:
        return None if value is None else _CHOICES[name](value)
    return None if name in ("columns", "missing") else value
