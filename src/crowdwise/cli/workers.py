"""crowdwise workers: quality, agreement, flags with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .loading import checked_grades, checked_method, chosen_method, is_run, load
from .options import Force, Gold, GoldColumns, Json, Level, Method, Params, Seed, parse_grades
from .terminal import naming, print_json, print_table, progress, say, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..core.result import Result
    from ..core.votes import Votes

# What every kind of answers writes with -o, so that it can be looked for before a long fit.
FILES = ("quality.csv", "agreement.csv", "flags.csv")
# Rows of each table shown on the terminal; of longer lists of workers so many of the best and of the worst.
SHOWN = 20
ENDS = 10


@reads_votes
def workers(
    votes: Annotated[
        str,
        typer.Argument(
            help="Votes (as for aggregate), or a folder that aggregate wrote.", metavar="VOTES|DIR", show_default=False
        ),
    ],
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    asked: Asked = USUAL,
    level: Level = None,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            help="A longer pause than so many seconds (600) is a break.",
            metavar="S",
            min=0,
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the tables as CSV.", show_default=False)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Who is good, who guesses, who copies whom, and is the agreement any good?

    Given a folder, the method's own result is used and -m, -p and --columns are not needed.
    """
    from ..io.beside import refuse_to_overwrite
    from ..io.csv.folder import write_tables
    from ..workers.study import study

    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    grades = parse_grades(level, asked.order)
    answers, result, known = obtain(votes, method, param, (gold, gold_columns), asked, seed, grades)
    with naming(votes, gold):
        look = study(answers, result, gold=known, **grades, **({} if idle is None else {"idle": idle}))
    if output is not None:
        write_tables(output, look.files(), force=force)
    if json:
        print_json(look.to_dict())
        return
    say(f"{len(answers):,} {answers.kind.answers_word} by {answers.n_workers:,} workers; {result.method}")
    for block in look.blocks(SHOWN, ENDS):
        if isinstance(block, str):
            say(block)
        else:
            print_table(block.title, block.header, block.rows, stderr=False)
    if output is not None:
        say(f"written to {output}")


def obtain(
    votes: str,
    method: str | None,
    param: list[str] | None,
    gold: tuple[Path | None, str | None],
    asked: Asked,
    seed: int,
    grades: dict[str, Any],
) -> tuple[Votes[Any], Result, Any]:
    """Votes, their result and gold: from a run folder, or by fitting the method to a file."""
    from ..io.run_folder import Run

    if is_run(votes, asked):
        run, said = Run.load(votes).shown()
        if said is not None:
            say(f"note: {said}")
        answers = run.need_votes(votes)
        checked_grades(answers, grades)
        return answers, run.result, asked.truth(*gold, answers.kind)
    checked_method(method)
    answers, known = load(votes, asked, *gold, method)
    chosen = chosen_method(method, answers, seed, param)
    tell_ledger(answers.ledger)
    with progress(chosen.name) as callback, naming(votes, gold[0]):
        checked_grades(answers, grades)
        return answers, chosen.fit(answers, gold=known, callback=callback), known
