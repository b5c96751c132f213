"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError

Votes = Annotated[
    str,
    typer.Argument(
        help="Votes: .csv .tsv .jsonl .parquet (+ .gz .zst), .npy, or - for CSV on stdin.",
        metavar="VOTES",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Which column is which: task=..,worker=..,label=..[,time=..,weight=..]",
        metavar="PAIRS",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet, wide (one column per worker) or snorkel; by default the file's name tells.",
        metavar="NAME",
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
Params = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--param",
        help="A parameter of the method, as name=value; repeat for more.",
        metavar="NAME=VALUE",
        show_default=False,
    ),
]


class Repeats(StrEnum):
    """What to do when a worker labelled a task more than once, differently."""

    error = "error"
    first = "first"
    last = "last"
    keep = "keep"


Duplicates = Annotated[
    Repeats,
    typer.Option(
        "--duplicates",
        help="When one worker gave a task different labels: refuse, use the first or the last (by the time column "
        "when there is one), or keep all as votes.",
    ),
]


def parse_params(method: str, given: list[str] | None) -> dict[str, Any]:
    """name=value pairs as values of the types that the method's parameters have."""
    from .. import registry

    kinds = {f.name: (str(f.type), f.default) for f in fields(registry.get(method))}
    parsed: dict[str, Any] = {}
    for pair in given or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ParameterError(f"-p wants name=value, got {pair!r}")
        if name not in kinds:
            raise ParameterError(f"{method} has no parameter {name!r}; it has {', '.join(kinds)}")
        parsed[name] = _value(name, text, *kinds[name])
    return parsed


def _value(name: str, text: str, kind: str, default: Any) -> Any:
    if text.lower() == "none" and "None" in kind:
        return None
    if isinstance(default, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ParameterError(f"{name} must be true or false, got {text!r}")
    try:
        if isinstance(default, int):
            return int(text)
        return float(text) if "float" in kind else text
    except ValueError:
        what = "a whole number" if isinstance(default, int) else "a number"
        raise ParameterError(f"{name} must be {what}, got {text!r}") from None
