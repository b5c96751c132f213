"""crowdwise compare: many methods on one file, with the truth or without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .loading import load
from .options import Force, Gold, GoldColumns, Json, Seed, Truth, TruthColumns, Votes
from .terminal import counting, naming, print_json, print_table, say, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..kinds.classes.annotations import Annotations

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
    from ..core import method_registry as registry
    from ..evaluation.compare import compare as run
    from ..io.beside import refuse_to_overwrite
    from ..kinds.classes.scoring.compare import FILES

    for name in method or ():
        registry.card(name)
    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    annotations, known = load(votes, asked, gold, gold_columns, method[0] if method else None)
    chosen = method or registry.names(annotations.kind.name)
    tell_ledger(annotations.ledger)
    answers = asked.truth(truth, truth_columns, annotations.kind)
    with naming(votes, gold, truth), counting("compare") as watch:
        found = run(
            annotations,
            method or None,  # None: all except those that would cost too much
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
        print_json(found.to_dict(disputed))
        return
    for table in found.tables(disputed, annotations):
        print_table(table.title, table.header, table.rows, stderr=False)
    say(found.legend())
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
