"""crowdwise show: a saved result, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..scoring.outlook import outlook
from .options import Json
from .terminal import console, print_json, print_table, worker_rows


def show(
    folder: Annotated[Path, typer.Argument(help="A folder that aggregate wrote.", metavar="DIR", show_default=False)],
    json: Json = False,
) -> None:
    """Show a saved result: classes, confidence, workers, the least certain tasks."""
    from ..core.result import Result

    result = Result.load(folder)
    if json:
        print_json(
            {
                "method": result.method,
                "params": dict(result.params),
                "tasks": len(result.tasks),
                "workers": result.worker_table().to_dicts(),
                "classes": result.classes.to_list(),
                "class_prior": result.class_prior.tolist(),
                "mean_confidence": result.mean_confidence,
                "expected_accuracy": result.extra.get("expected_accuracy"),
                "iterations": result.n_iter,
                "converged": result.converged,
                "versions": dict(result.versions),
            }
        )
        return
    out = console(stderr=False)
    settings = ", ".join(f"{k}={v}" for k, v in result.params.items())
    out.print(f"{result.method} ({settings})")
    out.print(f"{len(result.tasks):,} tasks, {len(result.workers):,} workers; {outlook(result)}")
    table = result.to_table()
    counts = dict(table["label"].value_counts().iter_rows())
    names = result.classes.to_list()
    rows = [[str(c), f"{p:.3f}", f"{counts.get(c, 0):,}"] for c, p in zip(names, result.class_prior, strict=True)]
    print_table("Classes", ["class", "prior", "tasks"], rows[:30], stderr=False)
    print_table(
        "Workers, best and worst", ["worker", "labels", "skill", "95 % interval", ""], worker_rows(result), stderr=False
    )
    doubtful = table.sort("confidence").head(5).select("task", "label", "confidence", "n_labels")
    rows = [[str(t), str(lab), f"{c:.3f}", str(n)] for t, lab, c, n in doubtful.iter_rows()]
    print_table("Least certain tasks", ["task", "label", "confidence", "labels"], rows, stderr=False)
