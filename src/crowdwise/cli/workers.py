"""crowdwise workers: quality, agreement, flags with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .fitted import Wanted, obtain
from .options import Force, Gold, GoldColumns, Json, Level, Method, Params, Seed, parse_grades
from .sampling import SamplingOption
from .terminal import clean, naming, print_json, print_table, say
from .vote_options import USUAL, Asked, reads_votes

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
    sampling: SamplingOption = None,
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
    from ..kinds.classes.scoring.shown import err_together
    from ..workers.studied import study

    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    grades = parse_grades(level, asked.order)
    made = obtain(votes, Wanted(method, param, (gold, gold_columns), asked, seed, sampling, grades=grades))
    answers, result = made.votes, made.result
    with naming(votes, gold):
        look = study(answers, result, gold=made.gold, **grades, **({} if idle is None else {"idle": idle}))
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
    for sentence in err_together(result):
        say(clean(sentence))
    if output is not None:
        say(f"written to {output}")
