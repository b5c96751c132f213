"""Arguments and options that several commands share; those about reading votes are in asking.py."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ParameterError

if TYPE_CHECKING:
    from ..core.params import Param


class Grade(StrEnum):
    """What the classes are: names, steps, or numbers."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


Votes = Annotated[
    str,
    typer.Argument(
        help="Votes: .csv .tsv .jsonl .parquet (+ .gz .zst), .xlsx, .npy, a labelling tool's export, or - for CSV on "
        "stdin.",
        metavar="VOTES",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Breaks ties and draws restarts.", metavar="N", min=0)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Truth = Annotated[
    Path | None,
    typer.Option("--truth", help="A table task,label with the true labels.", metavar="FILE", show_default=False),
]
Gold = Annotated[
    Path | None,
    typer.Option(
        "--gold", help="A table task,label with the known truth of some tasks.", metavar="FILE", show_default=False
    ),
]
GoldColumns = Annotated[
    str | None,
    typer.Option(
        "--gold-columns", help="Which column of --gold is which: task=..,label=..", metavar="PAIRS", show_default=False
    ),
]
TruthColumns = Annotated[
    str | None,
    typer.Option(
        "--truth-columns",
        help="Which column of --truth is which: task=..,label=..",
        metavar="PAIRS",
        show_default=False,
    ),
]
Prior = Annotated[
    Path | None,
    typer.Option(
        "--prior",
        help="What an earlier project says of the workers: a folder that aggregate wrote, or a table "
        "worker,true,observed,n (its confusion.csv).",
        metavar="DIR|TABLE",
        show_default=False,
    ),
]
Level = Annotated[
    Grade | None,
    typer.Option(
        "--level",
        help="What the classes are, for the agreement: names (the default), steps, or numbers.",
        show_default=False,
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--param",
        help="A parameter of the method, as name=value; lists as name=(1,2); repeat for more.",
        metavar="NAME=VALUE",
        show_default=False,
    ),
]


def parse_grades(level: Grade | None, order: str | None) -> dict[str, Any]:
    """--level and --order as the library takes them, where they are given. An order alone means ordinal classes; names
    may be quoted."""
    from .vote_options import parse_order

    names = parse_order(order)
    if names is None:
        return {} if level is None else {"level": level.value}
    graded = {"level": "ordinal" if level is None else level.value}
    return graded if names == ["numbers"] else {**graded, "order": names}


Method = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--method",
        help="See: crowdwise methods. By default adaptive for classes, combined for numbers.",
        metavar="NAME",
        show_default=False,
    ),
]


def parse_params(method: str, given: list[str] | None) -> dict[str, Any]:
    """name=value pairs as values of the types that the method's parameters have."""
    from ..core import method_registry as registry
    from ..core.params import of

    return parse_pairs(method, given, of(registry.get(method)))


def parse_pairs(method: str, given: list[str] | None, known: Mapping[str, Param]) -> dict[str, Any]:
    """The same for the parameters of anything, by name."""
    from ..core.paramtext import parse

    parsed: dict[str, Any] = {}
    for pair in given or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ParameterError(f"-p wants name=value, got {pair!r}")
        if name not in known:
            raise ParameterError(f"{method} has no parameter {name!r}; it has {', '.join(known)}")
        parsed[name] = parse(known[name], text)
    return parsed
