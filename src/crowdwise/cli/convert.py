"""crowdwise convert: votes in another format, or a saved result in the formats of other tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import DataError
from ..core.options import ReadOptions
from .options import Force, option
from .terminal import clean, error_context, info, print_ledger
from .vote_options import DEFAULT_READ_OPTIONS, read_votes, reads_votes

if TYPE_CHECKING:
    from ..io.reading import Reading


@reads_votes
def convert(
    source: Annotated[str, typer.Argument(help="Votes in any format, or a folder written by aggregate.", metavar="IN")],
    target: Annotated[Path, typer.Argument(help="File or folder to write.", metavar="OUT")],
    to: Annotated[
        str | None, option("Output", "--to", "Format of OUT; determined by the file name by default.", metavar="F")
    ] = None,
    original: Annotated[
        str | None,
        option(
            "Input",
            "--original",
            "Label Studio export that the votes came from, so that --to label_studio keeps its ids, data and control.",
            metavar="FILE",
        ),
    ] = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    force: Force = False,
) -> None:
    """Convert votes or a result to another format.

    Votes are written as csv, tsv, jsonl, parquet, wide, cleanlab, snorkel, or any readable labelling tool's format. A
    folder written by aggregate is written as csv, jsonl, parquet, label_studio (predictions), hf_dataset, soft_labels
    (.npz) or preferences (for comparisons: chosen, rejected, weight).
    """
    from ..io.export import write_result, write_votes

    if target.exists() and not force:
        raise DataError(f"{target} exists already; choose another name or use --force")
    folder = Path(source)
    origin = None if original is None else export_of(original, read_options)
    if (folder / "result.json").is_file():
        from ..core.result import Result
        from ..io.run_folder import saved_about

        result = Result.load(folder)
        notes = write_result(result, target, to, origin, saved_about(folder))
        size = f"{len(result.tasks):,} labels"
    else:
        reading = read_votes(source, read_options)
        if origin is not None:
            reading = replace(reading, items=origin.items, control=origin.control)
        info(f"read as {reading.format}: {clean(reading.why)}")
        print_ledger(reading.annotations.ledger)
        with error_context(source):
            notes = write_votes(reading, target, to)
        size = f"{len(reading.annotations):,} annotations"
    for note in notes:
        info("note:", clean(note))
    info(f"{size} written to {target}")


def export_of(original: str, read_options: ReadOptions) -> Reading:
    """Read the tasks of the export that the votes came from; contradictory votes in it do not matter."""
    export_options = replace(read_options, duplicates="keep", format=None, about_tasks=None, about_workers=None)
    reading = read_votes(original, export_options)
    if reading.items is None:
        raise DataError(f"{original} is read as {reading.format}; --original takes an export of Label Studio")
    return reading
