"""Arguments and options shared by several commands; those for reading votes are in vote_options.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ParameterError

if TYPE_CHECKING:
    from ..core.params import Param


def option(panel: str, names: str, help: str, **settings: Any) -> Any:
    """Return a typer option, such as option("Output", "-o, --output", "Folder for the files.").

    Args:
        panel: Panel of --help that lists the option.
        names: Names on the command line, separated by ", ".
        help: One sentence.
        **settings: Further arguments of typer.Option.
    """
    return typer.Option(*names.split(", "), help=help, rich_help_panel=panel, **settings)


class MeasurementLevel(StrEnum):
    """Measurement level of the classes."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


Votes = Annotated[
    str,
    typer.Argument(
        help="File of votes: .csv, .tsv, .jsonl, .parquet (also .gz or .zst), .xlsx, .npy, or a labelling tool's "
        "export; - reads CSV from standard input.",
        metavar="VOTES",
    ),
]
VotesOrRun = Annotated[
    str,
    typer.Argument(
        help="File of votes (as for aggregate), or a folder written by aggregate or train.", metavar="VOTES|DIR"
    ),
]
Seed = Annotated[int, option("Method", "--seed", "Seed for ties and random restarts.", metavar="N", min=0)]
Force = Annotated[bool, option("Output", "--force", "Overwrite existing files.")]
Json = Annotated[bool, option("Output", "--json", "Print JSON on standard output.")]
TablesFolder = Annotated[Path | None, option("Output", "-o, --output", "Folder for the tables as CSV.")]
Systems = Annotated[
    str | None,
    option(
        "Input",
        "--systems",
        "Two systems to compare, for comparisons of more than two.",
        metavar="A,B",
    ),
]
Truth = Annotated[
    Path | None,
    option("Gold and truth", "--truth", "Table of true labels, with the columns task and label.", metavar="FILE"),
]
Gold = Annotated[
    Path | None,
    option(
        "Gold and truth",
        "--gold",
        "Table of known labels of some tasks, with the columns task and label.",
        metavar="FILE",
    ),
]
GoldColumns = Annotated[
    str | None,
    option(
        "Gold and truth",
        "--gold-columns",
        "Column names of the --gold table, as task=A,label=B.",
        metavar="PAIRS",
    ),
]
TruthColumns = Annotated[
    str | None,
    option(
        "Gold and truth",
        "--truth-columns",
        "Column names of the --truth table, as task=A,label=B.",
        metavar="PAIRS",
    ),
]
Prior = Annotated[
    Path | None,
    option(
        "Method",
        "--prior",
        "Earlier results of the same workers: a folder written by aggregate, or a table worker,true,observed,n "
        "such as its confusion.csv.",
        metavar="DIR|TABLE",
    ),
]
Level = Annotated[
    MeasurementLevel | None,
    option("Method", "--level", "Measurement level of the classes for the agreement; nominal by default."),
]
Params = Annotated[
    list[str] | None,
    option(
        "Method",
        "-p, --param",
        "Parameter of the method as name=value, a list as name=(1,2); repeat for more.",
        metavar="NAME=VALUE",
    ),
]


def parse_level(level: MeasurementLevel | None, order: Sequence[Any] | None) -> dict[str, Any]:
    """Return --level and --order as keyword arguments of the library, where given.

    An order alone means ordinal classes; names may be quoted.
    """
    if order is None:
        return {} if level is None else {"level": level.value}
    options = {"level": "ordinal" if level is None else level.value}
    return options if list(order) == ["numbers"] else {**options, "order": list(order)}


def load_method(name: str | None) -> str | None:
    """Register a method given as module:Class, and return its name; other names are returned as they are."""
    from ..core import method_registry as registry

    return registry.load(name) if name is not None and ":" in name else name


def load_methods(names: list[str] | None) -> list[str] | None:
    """Register the methods given as module:Class, and return the names of all."""
    return [load_method(name) or name for name in names] if names else None


Method = Annotated[
    str | None,
    option(
        "Method",
        "-m, --method",
        "Method to fit (see crowdwise methods), or module:Class for one of your own; by default adaptive for classes "
        "and combined for numbers.",
        metavar="NAME",
        callback=load_method,
    ),
]


def parse_params(method: str, pairs: list[str] | None) -> dict[str, Any]:
    """Parse name=value pairs into values of the types of the method's parameters."""
    from ..core import method_registry as registry
    from ..core.params import of

    return parse_pairs(method, pairs, of(registry.get(method)))


def parse_pairs(method: str, pairs: list[str] | None, params: Mapping[str, Param]) -> dict[str, Any]:
    """Parse name=value pairs for these parameters."""
    from ..core.paramtext import parse

    parsed: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ParameterError(f"-p takes name=value, got {pair!r}")
        if name not in params:
            raise ParameterError(f"{method} has no parameter {name!r}; it has {', '.join(params)}")
        parsed[name] = parse(params[name], text)
    return parsed
