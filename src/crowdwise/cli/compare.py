"""crowdwise compare: many methods on one file, with the truth or without."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import typer

from .aggregate import load
from .options import Columns, Duplicates, Format, Gold, Json, Repeats, Seed, Truth, Votes
from .talk import naming, print_json, print_table, progress, say, tell_ledger


def compare(
    votes: Votes,
    method: Annotated[
        list[str] | None,
        typer.Option("-m", "--method", help="A method; repeat for more. Default: all.", show_default=False),
    ] = None,
    truth: Truth = None,
    gold: Gold = None,
    columns: Columns = None,
    duplicates: Duplicates = Repeats.error,
    format: Format = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run many methods on one file and lay them side by side."""
    from .. import registry
    from ..io.read import read_truth

    # Unless named, methods that need more than there is for certain (two classes, overlap) stay out.
    given = {"gold"} if gold else set()
    chosen = method or [name for name in registry.names() if registry.card(name).needs <= given]
    for name in chosen:
        registry.card(name)
    annotations, known = load(votes, columns, duplicates, format, gold)
    tell_ledger(annotations.ledger)
    answers = None if truth is None else read_truth(truth)
    with naming(votes, gold, truth):
        rows = [_run(name, seed, annotations, known, answers) for name in chosen]
    _agreement(rows)
    if json:
        print_json({"methods": [{k: v for k, v in row.items() if k != "labels"} for row in rows]})
        return
    if answers is not None:
        rows.sort(key=lambda row: (-row["accuracy"], row["log_loss"]))
    _print(rows, answers is not None)
    for row in rows:
        for note in row["notes"]:
            say("note:", note)


def _run(name: str, seed: int, annotations: Any, gold: Any, truth: Any) -> dict[str, Any]:
    from .. import registry
    from ..metrics import evaluate

    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, progress(name) as callback:
        warnings.simplefilter("always")
        result = registry.method(name, seed=seed).fit(annotations, gold=gold, callback=callback)
    row: dict[str, Any] = {
        "method": name,
        "seconds": time.perf_counter() - started,
        "iterations": result.n_iter,
        "converged": result.converged,
        "mean_confidence": result.mean_confidence,
        "labels": result.labels,
        "notes": [str(w.message) for w in caught],
    }
    if truth is not None:
        scores = evaluate(result, truth)
        row |= {
            k: getattr(scores, k)
            for k in ("n", "accuracy", "expected_accuracy", "macro_f1", "log_loss", "brier", "ece")
        }
    return row


def _agreement(rows: list[dict[str, Any]]) -> None:
    """How often a method agrees with the others: one that stands alone is either very good or has lost its way."""
    for row in rows:
        others = [float((row["labels"] == other["labels"]).mean()) for other in rows if other is not row]
        row["agreement_with_others"] = sum(others) / len(others) if others else None


def _print(rows: list[dict[str, Any]], with_truth: bool) -> None:
    header = ["method", "s", "steps", "conf.", "agrees"]
    header += ["accuracy", "log-loss", "ECE", "F1"] if with_truth else []
    table = []
    for row in rows:
        agrees = row["agreement_with_others"]
        cells = [row["method"], f"{row['seconds']:.2f}", str(row["iterations"]), f"{row['mean_confidence']:.3f}"]
        cells.append("–" if agrees is None else f"{agrees:.3f}")
        if with_truth:
            cells += [f"{row[k]:.4f}" for k in ("accuracy", "log_loss", "ece", "macro_f1")]
        table.append(cells)
    print_table("", header, table, stderr=False)
    say("conf.: mean confidence; agrees: mean share of labels shared with the other methods")
