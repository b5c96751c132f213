"""crowdwise aggregate: from a file of votes to labels, workers and confusions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..registry import DEFAULT
from .options import Columns, Duplicates, Force, Format, Gold, Json, Params, Repeats, Seed, Votes, parse_params
from .talk import naming, print_json, print_table, progress, say, tell_ledger, worker_rows

if TYPE_CHECKING:
    from ..annotations import Annotations
    from ..result import Result


def aggregate(
    votes: Votes,
    method: Annotated[str, typer.Option("-m", "--method", help="See: crowdwise methods")] = DEFAULT,
    param: Params = None,
    gold: Gold = None,
    columns: Columns = None,
    duplicates: Duplicates = Repeats.error,
    format: Format = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all tables and the saved result.", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Turn votes into labels with honest confidence.

    Without -o the labels go to stdout as CSV: task, label, confidence, entropy, n_labels, p_<class>...
    """
    from .. import registry
    from ..io.store import FILES, refuse_to_overwrite
    from ..io.write import TABLES, write_run

    chosen = registry.method(method, **{"seed": seed, **parse_params(method, param)})
    if output is not None:
        refuse_to_overwrite(output, TABLES + FILES, force)
    annotations, known = load(votes, columns, duplicates, format, gold)
    tell_ledger(annotations.ledger)
    with progress(method) as callback, naming(votes, gold):
        result = chosen.fit(annotations, gold=known, callback=callback)
    if output is not None:
        write_run(result, annotations.ledger, output, force=force)
    if json:
        print_json(summary(result, annotations, output))
    elif output is None:
        sys.stdout.write(result.to_table().write_csv())
    if not json:
        tell(result, annotations, output)


def load(
    votes: str, columns: str | None, duplicates: Repeats, format: str | None, gold: Path | None
) -> tuple[Annotations, Any]:
    """Votes and gold; classes that only gold knows are added to the votes' classes."""
    from ..io.columns import parse_columns
    from ..io.read import read, read_truth

    annotations = read(votes, columns=parse_columns(columns), duplicates=duplicates.value, format=format)
    if gold is None:
        return annotations, None
    known = read_truth(gold)
    before = annotations.n_classes
    annotations = annotations.with_classes(known["label"])
    if annotations.n_classes > before:
        say(f"note: {annotations.n_classes - before} classes occur in the gold labels only")
    return annotations, known


def summary(result: Result, annotations: Annotations, output: Path | None) -> dict[str, Any]:
    """What --json prints."""
    return {
        "method": result.method,
        "params": dict(result.params),
        "annotations": len(annotations),
        "tasks": annotations.n_tasks,
        "workers": annotations.n_workers,
        "classes": annotations.classes.to_list(),
        "class_prior": result.class_prior.tolist(),
        "mean_confidence": result.mean_confidence,
        "iterations": result.n_iter,
        "converged": result.converged,
        "ledger": annotations.ledger.to_dict(),
        "output": None if output is None else str(output),
        "labels": None if output is not None else result.to_table().to_dicts(),
    }


def tell(result: Result, annotations: Annotations, output: Path | None) -> None:
    """The short summary for people."""
    say(
        f"{len(annotations):,} annotations of {annotations.n_tasks:,} tasks by {annotations.n_workers:,} workers, "
        f"{annotations.n_classes} classes; {result.method}, {result.n_iter} iterations"
    )
    unsure = int((result.confidence < 0.9).sum())
    say(
        f"by its own reckoning {result.mean_confidence:.1%} of the labels are right; "
        f"{unsure:,} tasks are less than 90 % sure and deserve another vote"
    )
    none = int((annotations.labels_per_task == 0).sum())
    if none:
        say(f"{none:,} tasks have no label at all; their rows show the class prior")
    if output is not None:
        print_table("Workers, best and worst", ["worker", "labels", "skill", "95 % interval", ""], worker_rows(result))
        say(f"written to {output}")
