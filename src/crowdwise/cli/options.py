"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import ParameterError

if TYPE_CHECKING:
    from ..io.reading import Reading

Votes = Annotated[
    str,
    typer.Argument(
        help="Votes: .csv .tsv .jsonl .parquet (+ .gz .zst), .npy, a labelling tool's export, or - for CSV on stdin.",
        metavar="VOTES",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Which column is which: task=..,worker=..,label=..[,time=..,weight=..,duration=..,confidence=..,gold=..]",
        metavar="PAIRS",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet, wide (one column per worker), snorkel, or a labelling tool's export such as "
        "label_studio or mturk; by default the file tells.",
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


class Multi(Enum):
    """What to do with an answer that holds several labels."""

    error = "error"
    join = "join"
    drop = "drop"


class Refused(StrEnum):
    """What to do with assignments that the requester rejected."""

    keep = "keep"
    drop = "drop"


Question = Annotated[
    str | None,
    typer.Option("--question", help="Which question of an export with several.", metavar="NAME", show_default=False),
]
Multiple = Annotated[
    Multi,
    typer.Option("--multiple", help="When an answer holds several labels: refuse, join them to one class, or drop it."),
]
Predictions = Annotated[
    bool, typer.Option("--predictions", help="Take the predictions of models in an export as workers.")
]
Rejected = Annotated[Refused, typer.Option("--rejected", help="Assignments that the requester rejected: keep or drop.")]


@dataclass(frozen=True)
class Asked:
    """What was said about reading an export."""

    question: str | None = None
    multiple: Multi = Multi.error
    predictions: bool = False
    rejected: Refused = Refused.keep

    def read(
        self, votes: str, columns: str | None, duplicates: Literal["error", "first", "last", "keep"], format: str | None
    ) -> Reading:
        """The file, as it was asked for."""
        from ..io.columns import parse_columns
        from ..io.reading import read_all

        return read_all(
            votes,
            columns=parse_columns(columns),
            duplicates=duplicates,
            format=format,
            question=self.question,
            multiple=self.multiple.value,
            predictions=self.predictions,
            rejected=self.rejected.value,
        )


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

    return parse_pairs(method, given, {f.name: (str(f.type), f.default) for f in fields(registry.get(method))})


def parse_pairs(method: str, given: list[str] | None, kinds: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """The same for parameters of these types (as written in the code) and defaults, by name."""
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
    if kind.startswith("tuple[") and "str |" not in kind:
        return _list(name, text, kind)
    if "Sequence[float]" in kind:
        return _list(name, text, kind) if "," in text else text
    if isinstance(default, bool) or kind.startswith("bool"):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ParameterError(f"{name} must be true or false, got {text!r}")
    whole = isinstance(default, int) or kind.startswith("int")
    try:
        if whole:
            return int(text)
        return float(text) if "float" in kind else text
    except ValueError:
        what = "a whole number" if whole else "a number"
        raise ParameterError(f"{name} must be {what}, got {text!r}") from None


def _list(name: str, text: str, kind: str) -> tuple[Any, ...]:
    """(a, b), [a, b] or a,b as a tuple of numbers or texts, whichever the parameter has."""
    inner = text.strip()
    if inner[:1] in "([" and inner[-1:] == {"(": ")", "[": "]"}.get(inner[:1]):
        inner = inner[1:-1]
    parts = [part.strip().strip("'\"") for part in inner.split(",") if part.strip()]
    if not parts or any(mark in part for part in parts for mark in "()[]"):
        raise ParameterError(f"{name} must be a list such as ({'0.5,0.5' if 'float' in kind else 'a,b'}), got {text!r}")
    if "float" not in kind:
        return tuple(parts)
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        raise ParameterError(f"{name} must be a list of numbers such as (0.5,0.5), got {text!r}") from None
