"""crowdwise evaluate: labels against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ParameterError
from .options import Json, Truth
from .talk import naming, print_json, print_table, say


def evaluate(
    labels: Annotated[
        Path,
        typer.Argument(
            help="A folder that aggregate wrote, or a table task,label[,p_<class>...].",
            metavar="DIR|LABELS",
            show_default=False,
        ),
    ],
    truth: Truth = None,
    json: Json = False,
) -> None:
    """Score labels and probabilities against the truth."""
    import polars as pl

    from ..io.read import read_truth
    from ..io.tables import open_table
    from ..metrics import evaluate as score
    from ..result import Result

    if truth is None:
        raise ParameterError("evaluate needs --truth FILE, a table task,label")
    if labels.is_dir():
        found: Result | pl.DataFrame = Result.load(labels)
    else:
        table = open_table(labels)
        found = table.read(table.header).with_columns(pl.all().cast(pl.String))
    with naming(labels, truth):
        scores = score(found, read_truth(truth))
    if json:
        print_json(scores.to_dict())
        return
    shown = [
        ("tasks with known truth", f"{scores.n:,}"),
        ("accuracy", f"{scores.accuracy:.4f}"),
        ("macro F1", f"{scores.macro_f1:.4f}"),
    ]
    if scores.log_loss is not None:
        shown += [
            ("accuracy, ties shared", f"{scores.expected_accuracy:.4f}"),
            ("mean confidence", f"{scores.mean_confidence:.4f}"),
            ("log-loss (nats)", f"{scores.log_loss:.4f}"),
            ("Brier score", f"{scores.brier:.4f}"),
            ("expected calibration error", f"{scores.ece:.4f}"),
        ]
    print_table("", ["", ""], [list(row) for row in shown], stderr=False)
    if len(scores.classes) <= 20:
        header = ["true \\ said", *map(str, scores.classes)]
        rows = [[str(name), *map(str, row)] for name, row in zip(scores.classes, scores.confusion, strict=True)]
        print_table("Confusion", header, rows, stderr=False)
    if scores.truths_without_labels:
        say(f"{scores.truths_without_labels:,} tasks in the truth have no label here and are not counted")
