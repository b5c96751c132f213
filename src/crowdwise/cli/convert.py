"""crowdwise convert: from one format to another; votes to votes, a saved result to what other tools take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import DataError
from .options import Force
from .terminal import clean, naming, say, tell_ledger
from .vote_options import USUAL, Asked, Repeats, reads_votes

if TYPE_CHECKING:
    from ..io.reading import Reading


@reads_votes
def convert(
    source: Annotated[str, typer.Argument(help="Votes in any format, or a folder that aggregate wrote.", metavar="IN")],
    target: Annotated[Path, typer.Argument(help="The file (or folder) to write.", metavar="OUT")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="Format of OUT; by default the file's name tells.", metavar="F"),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(
            "--original",
            help="The Label Studio export that the votes came from; --to label_studio then keeps ids, data and control",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    asked: Asked = USUAL,
    force: Force = False,
) -> None:
    """Write votes in another format, or a result's labels for other tools.

    From votes: csv, tsv, jsonl, parquet, wide, cleanlab, snorkel, and every labelling tool's format that is read. From
    a folder that aggregate wrote: csv, jsonl, parquet, label_studio (predictions), hf_dataset, soft_labels (.npz),
    preferences (of comparisons: chosen, rejected, weight).
    """
    from ..io.export import write_result, write_votes

    if target.exists() and not force:
        raise DataError(f"{target} exists already; choose another name or say --force")
    folder = Path(source)
    origin = None if original is None else export_of(original, asked)
    if (folder / "result.json").is_file():
        from ..core.result import Result
        from ..io.run_folder import saved_about

        result = Result.load(folder)
        notes = write_result(result, target, to, origin, saved_about(folder))
        size = f"{len(result.tasks):,} labels"
    else:
        reading = asked.read(source)
        if origin is not None:
            reading = replace(reading, items=origin.items, control=origin.control)
        say(f"read as {reading.format}: {clean(reading.why)}")
        tell_ledger(reading.annotations.ledger)
        with naming(source):
            notes = write_votes(reading, target, to)
        size = f"{len(reading.annotations):,} annotations"
    for note in notes:
        say("note:", clean(note))
    say(f"{size} written to {target}")


def export_of(original: str, asked: Asked) -> Reading:
    """The export that the votes came from, read for its tasks; contradictions in it are nobody's concern here."""
    own = replace(asked, duplicates=Repeats.keep, format=None, about_tasks=None, about_workers=None)
    reading = own.read(original)
    if reading.items is None:
        raise DataError(f"{original} is read as {reading.format}; --original takes an export of Label Studio")
    return reading
