"""crowdwise convert: votes in another format, or a saved result in the formats of other tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import DataError, ParameterError
from ..core.options import SETS, ReadOptions
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
    at_least: Annotated[
        float | None,
        option(
            "Output",
            "--at-least",
            "With --to label_studio, leave out predictions with a lower score (confidence).",
            metavar="SHARE",
            min=0,
            max=1,
        ),
    ] = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    force: Force = False,
) -> None:
    """Convert votes or a result to another format.

    Votes are written as csv, tsv, jsonl, parquet, wide, cleanlab, snorkel, or any readable labelling tool's format. A
    folder written by aggregate is written as csv, jsonl, parquet, label_studio (predictions), hf_dataset, soft_labels
    (.npz) or preferences (for comparisons: chosen, rejected, weight). With label_studio, a folder of runs that
    aggregate --question all wrote becomes one file with the predictions of all questions.
    """
    from ..io.export import write_votes
    from ..io.questions import runs_in

    if target.exists() and not force:
        raise DataError(f"{target} exists already; choose another name or use --force")
    folder = Path(source)
    runs = [folder] if (folder / "result.json").is_file() else runs_in(folder)
    if runs:
        notes, size = _convert_runs(runs, target, to, original, at_least, read_options)
    else:
        if at_least is not None:
            raise ParameterError("--at-least is for a folder written by aggregate, whose labels have a confidence")
        origin = None if original is None else export_of(original, read_options)
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


def _convert_runs(
    runs: list[Path],
    target: Path,
    to: str | None,
    original: str | None,
    at_least: float | None,
    read_options: ReadOptions,
) -> tuple[tuple[str, ...], str]:
    """Write the results of one run, or of the runs of several questions; return notes and what was written."""
    from ..io.export import write_results
    from ..io.export.predictions import QuestionResult
    from ..io.run_folder import Run, saved_about

    parts = []
    for folder in runs:
        run = Run.load(folder)
        options = read_options
        if options.question is None:
            options = replace(options, question=run.ledger.question)
        origin = None if original is None else export_of(original, options, run.result.kind.name)
        parts.append(QuestionResult(run.result, origin, run.ledger.question, saved_about(folder), at_least))
    notes = write_results(parts, target, to)
    first = parts[0].result
    n = len(first.tasks) if to != "label_studio" else int((first.labels_per_task > 0).sum())
    if at_least is not None:
        return notes, f"predictions with a score of at least {at_least:g}"
    return notes, f"{n:,} labels" if len(parts) == 1 else f"{len(parts)} questions of {n:,} tasks"


def export_of(original: str, read_options: ReadOptions, kind: str | None = None) -> Reading:
    """Read the tasks of the export that the votes came from; contradictory votes in it do not matter.

    `kind` is the kind of the run's answers, which a part of the export may not show.
    """
    export_options = replace(read_options, duplicates="keep", format=None, about_tasks=None, about_workers=None)
    if kind == SETS and export_options.multiple is None:
        export_options = replace(export_options, kind=kind)
    reading = read_votes(original, export_options)
    if reading.items is None:
        raise DataError(f"{original} is read as {reading.format}; --original takes an export of Label Studio")
    return reading
