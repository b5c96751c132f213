"""crowdwise show: print a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..evaluation.scores import Table
from .options import Json
from .terminal import console, print_blocks, print_json


def show(
    folder: Annotated[Path, typer.Argument(help="Folder written by aggregate.", metavar="DIR")],
    json: Json = False,
) -> None:
    """Show a saved result: summary, workers, and the least certain tasks."""
    from ..core.result import Result

    result = Result.load(folder)
    if json:
        print_json(
            {
                "method": result.method,
                "kind": result.kind.name,
                "params": dict(result.params),
                "tasks": result.n_tasks,
                "workers": result.worker_table().to_dicts(),
                **result.facts(),
                "expected_accuracy": result.extra.get("expected_accuracy"),
                "iterations": result.n_iter,
                "converged": result.converged,
                "versions": dict(result.versions),
            }
        )
        return
    out = console(stderr=False)
    settings = ", ".join(f"{k}={v}" for k, v in result.params.items())
    summary, tables = result.kind.hooks.show(result)
    out.print(f"{result.method} ({settings})")
    out.print(f"{result.n_tasks:,} tasks, {len(result.workers):,} workers; {summary}")
    header, rows = result.kind.hooks.worker_rows(result)
    tables.insert(len(tables) - 1, Table("Workers, best and worst", header, rows))
    print_blocks(tables)
