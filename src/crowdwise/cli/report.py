"""crowdwise report: everything about a crowd on one HTML page."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from .fitted import Wanted, obtain
from .loading import is_run
from .options import Force, Gold, GoldColumns, Level, Method, Params, Seed, Truth, TruthColumns, parse_grades
from .sampling import CheckOption, ErrorOption, SamplingOption, refuse_check, write_check
from .terminal import naming, say
from .vote_options import USUAL, Asked, reads_votes


@reads_votes
def report(
    votes: Annotated[
        str,
        typer.Argument(
            help="Votes (as for aggregate), or a folder that aggregate or train wrote.",
            metavar="VOTES|DIR",
            show_default=False,
        ),
    ],
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    asked: Asked = USUAL,
    level: Level = None,
    error: ErrorOption = None,
    check: CheckOption = None,
    seed: Seed = 0,
    title: Annotated[
        str | None, typer.Option("--title", help="Heads the page; by default the file's name.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page.", metavar="FILE")] = Path("report.html"),
    force: Force = False,
) -> None:
    """Write one HTML page to read and to mail: which answers are safe, whom to talk to, and why.

    --gold answers help the method, calibrate its confidence and judge a second fit without them; --truth answers only
    judge. Given a folder, the result in it is shown, --gold calibrates it, and -m, -p and --columns are not needed.
    """
    from ..report import refuse, write

    refuse(output, force)
    refuse_check(check, force)
    grades = parse_grades(level, asked.order)
    made = obtain(votes, Wanted(method, param, (gold, gold_columns), asked, seed, sampling, error,
                                (truth, truth_columns), grades, judged=True))  # fmt: skip
    judge = made.gold if made.truth is None else made.truth
    folder = Path(votes) if is_run(votes, asked) else None
    head = title or (Path(votes).resolve().name if votes != "-" else "")
    with naming(votes, gold, truth):
        write(made.votes, made.result, output, truth=judge, blind=made.blind, history=made.history, title=head,
              made=date.today().isoformat(), folder=folder, force=force, **grades)  # fmt: skip
    written = write_check(made.result, check, seed)
    say(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB); open it in any browser")
    if written:
        say(f"tasks to label in {written}; give the file back as --gold")
