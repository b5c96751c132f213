"""crowdwise workers: quality, agreement, flags with evidence."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..registry import DEFAULT
from .asking import USUAL, Asked, reads_votes
from .loading import is_run, load
from .options import Force, Gold, Json, Params, Seed, parse_params
from .talk import bar, naming, print_json, print_table, progress, say, tell_ledger

if TYPE_CHECKING:
    from ..annotations import Annotations
    from ..result import Result
    from ..workers.study import Study

FILES = ("quality.csv", "classes.csv", "confusions.csv", "agreement.csv", "flags.csv", "pairs.csv", "curve.csv",
         "contested.csv")  # fmt: skip
# Rows of each table shown on the terminal.
SHOWN = 20


class Grade(StrEnum):
    """What the classes are: names, steps, or numbers."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


@reads_votes
def workers(
    votes: Annotated[
        str,
        typer.Argument(
            help="Votes (as for aggregate), or a folder that aggregate wrote.", metavar="VOTES|DIR", show_default=False
        ),
    ],
    method: Annotated[str, typer.Option("-m", "--method", help="See: crowdwise methods")] = DEFAULT,
    param: Params = None,
    gold: Gold = None,
    asked: Asked = USUAL,
    level: Annotated[Grade, typer.Option("--level", help="What the classes are, for the agreement.")] = Grade.nominal,
    idle: Annotated[
        float, typer.Option("--idle", help="A longer pause than so many seconds is a break.", metavar="S", min=0)
    ] = 600.0,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the tables as CSV.", show_default=False)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Who is good, who guesses, who copies whom, and is the agreement any good?

    Given a folder, the method's own result is used and -m, -p and --columns are not needed.
    """
    from ..io.store import refuse_to_overwrite
    from ..workers.study import study

    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    annotations, result, known = obtain(votes, method, param, gold, asked, seed)
    with naming(votes, gold):
        look = study(annotations, result, gold=known, level=level.value, idle=idle)
    if output is not None:
        write(look, annotations, result, output)
    if json:
        print_json(summary(look, result))
    else:
        tell(look, annotations, result)
        if output is not None:
            say(f"written to {output}")


def obtain(
    votes: str,
    method: str,
    param: list[str] | None,
    gold: Path | None,
    asked: Asked,
    seed: int,
) -> tuple[Annotations, Result, Any]:
    """Votes, their result and gold: from a run folder, or by fitting the method to a file."""
    from .. import registry
    from ..io.read import read_truth
    from ..io.votes import load_votes
    from ..result import Result

    if is_run(votes, asked):
        result = Result.load(votes)
        annotations = load_votes(Path(votes), result)
        return annotations, result, None if gold is None else read_truth(gold)
    chosen = registry.method(method, **{"seed": seed, **parse_params(method, param)})
    annotations, known = load(votes, asked, gold)
    tell_ledger(annotations.ledger)
    with progress(method) as callback, naming(votes, gold):
        return annotations, chosen.fit(annotations, gold=known, callback=callback), known


def write(look: Study, annotations: Annotations, result: Result, folder: Path) -> None:
    """All tables as CSV."""
    from ..errors import unwritable
    from ..io.csvcells import to_csv
    from ..tasks import contested
    from ..workers.agreement import agreement_table
    from ..workers.flags import flag_table
    from ..workers.pairs import pair_table

    tables = (look.quality, look.classes, look.confusion, agreement_table(look.agreement), flag_table(look.flags),
              pair_table(annotations), look.curve, contested(annotations, result))  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in zip(FILES, tables, strict=True):
            to_csv(table, folder / name)
    except OSError as error:
        raise unwritable(folder, error) from error


def summary(look: Study, result: Result) -> dict[str, Any]:
    """What --json prints."""
    return {
        "method": result.method,
        "agreement": [c.to_dict() for c in look.agreement],
        "flags": [flag.to_dict() for flag in look.flags],
        "workers": look.quality.to_dicts(),
        "classes": look.classes.to_dicts(),
    }


def tell(look: Study, annotations: Annotations, result: Result) -> None:
    """The tables for people."""
    say(f"{len(annotations):,} annotations by {annotations.n_workers:,} workers; {result.method}")
    rows = [[c.name, _number(c.value), _range(c.low, c.high), c.reason or c.note or ""] for c in look.agreement]
    print_table("Agreement", ["", "value", "95 % interval", ""], rows, stderr=False)
    seen = look.quality.filter(look.quality["n_labels"] > 0).sort("skill", descending=True)
    print_table(
        f"Workers, best first{_of(len(seen))}",
        ["worker", "labels", "skill", "95 % interval", "", "confirmed", "bits", "spammer?", "flags"],
        [_row(row, look) for row in seen.head(SHOWN).to_dicts()],
        stderr=False,
    )
    flags = [flag for flag in look.flags if flag.name != "unknown"]
    rows = [[str(f.worker), f.name, _strength(f.probability, f.p_value), f.evidence] for f in flags[:SHOWN]]
    if flags:
        print_table(f"Flags{_of(len(flags))}", ["worker", "flag", "strength", "evidence"], rows, stderr=False)
    unknown = len(look.flags) - len(flags)
    say(
        f"{len({f.worker for f in flags})} workers are flagged"
        + (f"; of {unknown} too little is known" * (unknown > 0))
    )


def _row(row: dict[str, Any], look: Study) -> list[str]:
    names = ", ".join(flag.name for flag in look.flags if flag.worker == row["worker"])
    skill, low, high = row["skill"], row["skill_low"], row["skill_high"]
    return [
        str(row["worker"]),
        f"{row['n_labels']:,}",
        _number(skill),
        _range(low, high),
        bar(skill, low, high, 16),
        _number(row["consensus_agreement"]),
        _number(row["bits"]),
        _number(row["spammer_probability"]),
        names,
    ]


def _of(n: int) -> str:
    return f" ({SHOWN} of {n:,})" if n > SHOWN else ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} – {high:.3f}"


def _strength(probability: float | None, p_value: float | None) -> str:
    if probability is not None:
        return f"probability {probability:.3f}"
    return "" if p_value is None else f"p = {p_value:.2g}"
