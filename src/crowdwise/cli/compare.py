"""crowdwise compare: many methods on one file, with the truth or without."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .asking import USUAL, Asked, reads_votes
from .loading import load
from .options import Force, Gold, GoldColumns, Json, Seed, Truth, TruthColumns, Votes
from .talk import counting, naming, print_json, print_table, say, tell_ledger

if TYPE_CHECKING:
    from ..annotations import Annotations
    from ..comparison import Comparison

# Below so many annotations × methods, starting processes takes longer than it saves.
_SMALL = 200_000
# So many methods have their agreement printed pair by pair.
_FEW = 8


@reads_votes
def compare(
    votes: Votes,
    method: Annotated[
        list[str] | None,
        typer.Option("-m", "--method", help="A method; repeat for more. Default: all.", show_default=False),
    ] = None,
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    asked: Asked = USUAL,
    seed: Seed = 0,
    folds: Annotated[
        int, typer.Option("--folds", min=0, metavar="N", help="Folds of held-out annotations; 0: no held-out score.")
    ] = 5,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, metavar="N", help="Processes; by default all cores.", show_default=False),
    ] = None,
    disputed: Annotated[int, typer.Option("--disputed", min=0, metavar="N", help="Disputed tasks to show.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for methods.csv, agreement.csv, tasks.csv.", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Run many methods on one file and lay them side by side.

    Held-out score: mean log-likelihood of annotations that the method has not seen; it needs no truth.
    """
    from .. import registry
    from ..comparison import FILES
    from ..comparison import compare as run
    from ..io.store import refuse_to_overwrite

    chosen = method or registry.names()
    for name in chosen:
        registry.card(name)
    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    annotations, known = load(votes, asked, gold, gold_columns)
    tell_ledger(annotations.ledger)
    answers = asked.truth(truth, truth_columns)
    with naming(votes, gold, truth), counting("compare") as watch:
        found = run(
            annotations,
            method or None,  # None: all, but for those that would cost too much
            truth=answers,
            gold=known,
            seed=seed,
            folds=folds,
            jobs=jobs or _jobs(annotations, chosen),
            watch=watch,
        )
    if output is not None:
        found.save(output, force=force)
    if json:
        print_json(_plain(found, disputed))
        return
    _print(found, disputed, annotations)
    if found.n_gold_left_out:
        say(f"{found.n_gold_left_out:,} tasks in the truth were gold in the fits and are not scored")
    for note in found.notes:
        say("note:", note)
    if output is not None:
        say(f"written to {output}")


def _jobs(annotations: Annotations, chosen: list[str]) -> int:
    if len(annotations) * len(chosen) < _SMALL:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plain(found: Comparison, limit: int) -> dict[str, Any]:
    """What --json prints."""
    names = found.agreement["method"].to_list()
    known = [name for name in found.tasks.columns if name not in names]
    tasks = [
        {**{name: row[name] for name in known}, "labels": {name: row[name] for name in names}}
        for row in found.disputed(limit).to_dicts()
    ]
    return {
        "methods": found.methods.to_dicts(),
        "agreement": {row.pop("method"): row for row in found.agreement.to_dicts()},
        "disputed": tasks,
        "n_gold_left_out": found.n_gold_left_out,
        "notes": list(found.notes),
    }


def _print(found: Comparison, limit: int, annotations: Annotations) -> None:
    table = found.methods.filter(found.methods["reason"].is_null())
    with_truth = "accuracy" in table.columns
    if with_truth:
        table = table.sort("accuracy", "log_loss", descending=[True, False])
    elif table["held_out"].is_not_null().any():
        table = table.sort("held_out", descending=True, nulls_last=True)
    header = ["method", "CPU s", "steps", "conf.", "agrees", "held-out"]
    header += ["accuracy", "95 % interval", "log-loss", "ECE", "F1"] if with_truth else []
    print_table("", header, [_cells(row, with_truth) for row in table.to_dicts()], stderr=False)
    refused = found.methods.filter(found.methods["reason"].is_not_null())
    if len(refused):
        print_table("Could not run", ["method", "reason"], refused.select("method", "reason").rows(), stderr=False)
    _print_agreement(found)
    disputes = found.disputed(limit)
    if len(disputes):
        names = found.agreement["method"].to_list()
        rows = [_dispute(row, names, annotations) for row in disputes.to_dicts()]
        header = ["task", "differ", *(["true"] if with_truth else []), "votes", "who says what"]
        print_table("Most disputed tasks", header, rows, stderr=False)
    say(
        "conf.: mean confidence; agrees: mean share of labels shared with the other methods; held-out: mean "
        "log-likelihood of annotations not seen; differ: share of pairs of methods that differ"
    )


def _print_agreement(found: Comparison) -> None:
    """Every two methods, where they fit on a line; agreement.csv has them all."""
    table = found.agreement
    if 2 <= len(table) <= _FEW:
        rows = [[row[0], *(f"{value:.3f}" for value in row[1:])] for row in table.rows()]
        print_table("Share of equal labels", ["", *table["method"].to_list()], rows, stderr=False)


def _cells(row: dict[str, Any], with_truth: bool) -> list[str]:
    agrees, score = row["agreement"], row["held_out"]
    cells = [row["method"], f"{row['cpu_seconds']:.2f}", str(row["iterations"]), f"{row['mean_confidence']:.3f}"]
    cells += ["–" if agrees is None else f"{agrees:.3f}"]
    cells += ["–" if score is None else f"{score:.4f} ± {row['held_out_error']:.4f}"]
    if with_truth:
        cells += [f"{row['accuracy']:.4f}", f"{row['accuracy_low']:.4f} – {row['accuracy_high']:.4f}"]
        cells += [f"{row[name]:.4f}" for name in ("log_loss", "ece", "macro_f1")]
    return cells


def _dispute(row: dict[str, Any], names: list[str], annotations: Annotations) -> list[str]:
    """One disputed task: what was voted, and which methods say what, the largest party first."""
    task = int((annotations.tasks == row["task"]).arg_max() or 0)
    votes = annotations.votes[task]
    ballots = ", ".join(f"{annotations.classes[int(k)]} {votes[k]:g}" for k in (-votes).argsort() if votes[k] > 0)
    parties = Counter(row[name] for name in names).most_common()
    sides = []
    for label, size in parties:
        members = [name for name in names if row[name] == label]
        sides.append(
            f"{label}: " + (", ".join(members) if size <= 3 else f"{', '.join(members[:2])} and {size - 2} more")
        )
    true = [str(row["true"] if row["true"] is not None else "–")] if "true" in row else []
    return [str(row["task"]), f"{row['disagreement']:.2f}", *true, ballots, "; ".join(sides)]
