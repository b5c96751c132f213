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


def _option(*names: str, help: str, metavar: str | None = None, show_default: bool = False) -> Any:
    """Return an option in the panel Input of the help."""
    return typer.Option(*names, help=help, metavar=metavar, show_default=show_default, rich_help_panel="Input")


Missing = Annotated[
    list[str] | None,
    _option(
        "--missing",
        help="Value that stands for a missing label, such as NA; repeat for more (empty cells are always missing).",
        metavar="VALUE",
    ),
]
Order = Annotated[
    str | None,
    _option(
        "--order",
        help="Classes from the lowest to the highest, such as bad,fair,good, or the word numbers if they are numbers.",
        metavar="CLASSES",
    ),
]
# The options of every command that reads votes: fields of ReadOptions and how each is given on the command line.
OPTIONS: dict[str, Any] = {
    "columns": Annotated[
        str | None,
        _option(
            "--columns",
            help="Column names of the file as comma-separated KEY=NAME pairs; keys are task, worker, label (for "
            "numbers value, or value_x and value_y) and optionally time, weight, duration, confidence, gold, source, "
            "group, text and url.",
            metavar="PAIRS",
        ),
    ],
    "duplicates": Annotated[
        Repeats,
        _option(
            "--duplicates",
            help="What to do when a worker gave a task different labels: refuse the file, use the first or "
            "the last one (by the time column, if any), or keep all.",
            show_default=True,
        ),
    ],
    "format": Annotated[
        str | None,
        _option(
            "--format",
            "--from",
            help="Format of the file: csv, tsv, jsonl, parquet, excel, wide (one column per worker), "
            "snorkel, or a labelling tool such as label_studio or mturk; detected by default.",
            metavar="NAME",
        ),
    ],
    "question": Annotated[
        str | None,
        _option("--question", help="Question to read from an export that has several.", metavar="NAME"),
    ],
    "multiple": Annotated[
        Multi | None,
        _option(
            "--multiple",
            help="What to do with an answer that holds several labels: refuse the file, join them into one "
            "class, drop the answer, or read all answers as label sets (the default for exports with "
            "such answers).",
        ),
    ],
    "predictions": Annotated[
        bool,
        _option("--predictions", help="Count the predictions of models in an export as votes.", show_default=True),
    ],
    "rejected": Annotated[
        RejectedPolicy,
        _option(
            "--rejected", help="Whether to keep or drop assignments that the requester rejected.", show_default=True
        ),
    ],
    "missing": Missing,
    "kind": Annotated[
        str | None,
        _option(
            "--kind",
            help="Kind of the answers: classes, numbers, sets, comparisons, rankings, ...; detected from "
            "the columns by default.",
            metavar="NAME",
        ),
    ],
    "offered": Annotated[
        Path | None,
        _option(
            "--offered",
            help="Table task,offered of the choices offered by each task, for label sets; all classes by default.",
            metavar="FILE",
        ),
    ],
    "order": Order,
    "worker_columns": Annotated[
        str | None,
        _option(
            "--workers",
            help="Columns of the workers in a wide table, as comma-separated names, patterns ('Coder*') or ranges "
            "(C1:C5); the other columns are about the tasks.",
            metavar="COLUMNS",
        ),
    ],
    "about_tasks": Annotated[
        Path | None,
        _option(
            "--about-tasks",
            help="Table with one row per task and any columns about it (text, url, ...), stored with the votes.",
            metavar="FILE",
        ),
    ],
    "about_workers": Annotated[
        Path | None,
        _option(
            "--about-workers",
            help="Table with one row per worker and any columns about them (group, family, cost, ...), "
            "stored with the votes.",
            metavar="FILE",
        ),
    ],
    "allow": Annotated[
        list[str] | None,
        _option(
            "--allow",
            help="Accept what looks like a mistake, by the name that the error gives (ids, case, ...), or all; "
            "repeat for more.",
            metavar="NAME",
        ),
    ],
    "links": Annotated[
        Path | None,
        _option(
            "--links",
            help="Table with two columns of linked tasks and an optional third column of weights.",
            metavar="FILE",
        ),
    ],
}
# The same where --workers names the workers to assign.
WORKER_COLUMNS_ONLY = Annotated[
    str | None,
    _option(
        "--worker-columns",
        help="Columns of the workers in a wide table, as for --workers of inspect.",
        metavar="COLUMNS",
    ),
]
# Options whose command-line value differs in type from the field.
_CHOICES: dict[str, type[Enum]] = {"duplicates": Repeats, "multiple": Multi, "rejected": RejectedPolicy}
DEFAULT_READ_OPTIONS = ReadOptions()


def _from_command_line(**values: Any) -> ReadOptions:
    """Build the options of reading from the values of the command line."""
    from ..core.intake.columns import parse_columns
    from ..io.detect_kind import answer_roles

    for name in _CHOICES:
        values[name] = None if values[name] is None else values[name].value
    columns, missing, order, allow = (values.pop(name) for name in ("columns", "missing", "order", "allow"))
    worker_columns = values.pop("worker_columns") or ()
    return ReadOptions(
        columns=parse_columns(columns, answer=answer_roles()) if columns else {},
        missing=tuple(missing or ()),
        allow=tuple(allow or ()),
        order=parse_order(order),
        worker_columns=worker_columns,
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
            if name == "worker_columns" and "workers" in command_signature.parameters:
                annotation = WORKER_COLUMNS_ONLY
            default = _typed_default(name, getattr(parameter.default, name))
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))

    @wraps(command)
    def run(**kwargs: Any) -> None:
        values = {name: kwargs.pop(name) for name in OPTIONS}
        command(**kwargs, read_options=_from_command_line(**values))

    run.__signature__ = command_signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _typed_default(name: str, value: Any) -> Any:
    """Convert the value of a field to the type of its command-line option; empty columns and lists become None."""
    if name in _CHOICES:
        return None if value is None else _CHOICES[name](value)
    return None if name in ("columns", "missing", "allow", "worker_columns") else value
