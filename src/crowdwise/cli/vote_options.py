"""How a file of votes is to be read: one set of options for every command that reads one, so that none lacks one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..core.kind import KindHooks

if TYPE_CHECKING:
    import polars as pl

    from ..core.kind import Kind
    from ..io.reading import Reading


class Repeats(StrEnum):
    """What to do when a worker labelled a task more than once, differently."""

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


class Refused(StrEnum):
    """What to do with assignments that the requester rejected."""

    keep = "keep"
    drop = "drop"


Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Which column is which: task=..,worker=..,label=..[,time=..,weight=..,duration=..,confidence=..,gold=..,"
        "source=..,group=..,text=..,url=..]; "
        "value=.. (or value_x=..,value_y=..) for numbers.",
        metavar="PAIRS",
        show_default=False,
    ),
]
Duplicates = Annotated[
    Repeats,
    typer.Option(
        "--duplicates",
        help="When one worker gave a task different labels: refuse, use the first or the last (by the time column "
        "when there is one), or keep all as votes.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "--from",
        help="csv, tsv, jsonl, parquet, excel, wide (one column per worker), snorkel, or a labelling tool's export "
        "such as label_studio or mturk; by default the file tells.",
        metavar="NAME",
        show_default=False,
    ),
]
Question = Annotated[
    str | None,
    typer.Option("--question", help="Which question of an export with several.", metavar="NAME", show_default=False),
]
Multiple = Annotated[
    Multi | None,
    typer.Option(
        "--multiple",
        help="When an answer holds several labels: refuse, join them to one class, drop it, or read sets (also a|b in "
        "a table); by default exports with such answers are read as sets.",
        show_default=False,
    ),
]
Offered = Annotated[
    Path | None,
    typer.Option(
        "--offered",
        help="A table task,offered: what could be chosen, where answers are sets (by default all classes).",
        metavar="FILE",
        show_default=False,
    ),
]
Predictions = Annotated[
    bool, typer.Option("--predictions", help="Take the predictions of models in an export as workers.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="A value that stands for no label, such as R's NA; repeat for more. Empty cells always do.",
        metavar="VALUE",
        show_default=False,
    ),
]
Rejected = Annotated[Refused, typer.Option("--rejected", help="Assignments that the requester rejected: keep or drop.")]


KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind",
        help="What the answers are: classes, numbers, sets, comparisons, rankings, ...; by default the columns tell.",
        metavar="NAME",
        show_default=False,
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        help="The classes from low to high, where they have an order: bad,fair,good; or the word numbers, where they "
        "are numbers.",
        metavar="CLASSES",
        show_default=False,
    ),
]
AboutTasks = Annotated[
    Path | None,
    typer.Option(
        "--about-tasks",
        help="A table with a row a task and whatever is known of it (text, url, ...); it travels with the votes.",
        metavar="FILE",
        show_default=False,
    ),
]
AboutWorkers = Annotated[
    Path | None,
    typer.Option(
        "--about-workers",
        help="A table with a row a worker and whatever is known of them (group, family, cost, ...).",
        metavar="FILE",
        show_default=False,
    ),
]


Links = Annotated[
    Path | None,
    typer.Option(
        "--links",
        help="A table of two columns of tasks that belong together, and a third with weights if there is one.",
        metavar="FILE",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Asked:
    """What was said about reading the votes; every field is an option of every command that reads votes."""

    columns: Columns = None
    duplicates: Duplicates = Repeats.error
    format: Format = None
    question: Question = None
    multiple: Multiple = None
    predictions: Predictions = False
    rejected: Rejected = Refused.keep
    missing: Missing = None
    kind: KindOption = None
    offered: Offered = None
    order: Order = None
    about_tasks: AboutTasks = None
    about_workers: AboutWorkers = None
    links: Links = None

    def read(self, votes: str, likely: str | None = None) -> Reading:
        """The file, as it was asked for; answers are of the `likely` kind where nobody says another."""
        from ..core.intake.columns import parse_columns
        from ..io.kind_of_columns import answer_roles
        from ..io.reading import read_all

        return read_all(
            votes,
            columns=parse_columns(self.columns, answer=answer_roles()),
            duplicates=self.duplicates.value,
            format=self.format,
            question=self.question,
            multiple=None if self.multiple is None else self.multiple.value,
            predictions=self.predictions,
            rejected=self.rejected.value,
            missing=tuple(self.missing or ()),
            kind=self.kind,
            likely=likely,
            order=parse_order(self.order),
            offered=self.offered,
            about_tasks=self.about_tasks,
            about_workers=self.about_workers,
            links=self.links,
        )

    def truth(self, path: Path | None, columns: str | None, kind: Kind | None = None) -> pl.DataFrame | None:
        """Known answers in a file (--gold or --truth, with --gold-columns or --truth-columns), if one is named; a kind
        whose truths stand in columns of their own reads them itself."""
        from ..core.intake.columns import TRUTH_OPTION, parse_columns
        from ..io.read import read_truth

        if path is None:
            return None
        if kind is not None and kind.hooks.supports(KindHooks.read_truth_file) and columns is None:
            own: pl.DataFrame = kind.hooks.read_truth_file(path, missing=tuple(self.missing or ()))
            return own
        return read_truth(path, columns=parse_columns(columns, TRUTH_OPTION), missing=tuple(self.missing or ()))


# What is asked for when nothing is said.
USUAL = Asked()


def parse_order(order: str | None) -> list[str] | None:
    """The names in --order, which may be quoted."""
    import csv

    return None if order is None else [n.strip() for n in next(csv.reader([order], skipinitialspace=True), [])]


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command with a parameter `asked` one option for each field of Asked, in that parameter's place.

    The options' defaults are the fields of the parameter's own default.
    """
    kinds = get_type_hints(Asked, include_extras=True)
    told = signature(command, eval_str=True)
    parameters: list[Parameter] = []
    for each in told.parameters.values():
        if each.name != "asked":
            parameters.append(each.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        for name, kind in kinds.items():
            default = getattr(each.default, name)
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))

    @wraps(command)
    def run(**given: Any) -> None:
        asked = Asked(**{name: given.pop(name) for name in kinds})
        command(**given, asked=asked)

    run.__signature__ = told.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
