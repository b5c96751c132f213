"""crowdwise report: everything about a crowd on one HTML page."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .loading import checked_grades, checked_method, chosen_method, is_run, load, with_classes_of
from .options import Force, Gold, GoldColumns, Level, Method, Params, Seed, Truth, TruthColumns, parse_grades
from .terminal import naming, progress, say, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..core.result import Result
    from ..core.votes import Votes


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
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    asked: Asked = USUAL,
    level: Level = None,
    seed: Seed = 0,
    title: Annotated[
        str | None, typer.Option("--title", help="Heads the page; by default the file's name.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page.", metavar="FILE")] = Path("report.html"),
    force: Force = False,
) -> None:
    """Write one HTML page to read and to mail: which answers are safe, whom to talk to, and why.

    --gold answers help the method, and judge it in a second fit without them; --truth answers only judge. Given a
    folder, the result in it is shown and -m, -p and --columns are not needed.
    """
    from ..report import refuse, write

    refuse(output, force)
    grades = parse_grades(level, asked.order)
    if is_run(votes, asked):
        folder = Path(votes)
        answers, result, history = from_folder(folder, grades)
        known = asked.truth(truth, truth_columns, answers.kind)
        blind, judge = None, known if known is not None else asked.truth(gold, gold_columns, answers.kind)
    else:
        answers, result, blind, helped, known = from_file(
            votes, method, param, (gold, gold_columns), (truth, truth_columns), asked, seed, grades
        )
        folder, history, judge = None, None, helped if known is None else known
    head = title or (Path(votes).resolve().name if votes != "-" else "")
    with naming(votes, gold, truth):
        write(answers, result, output, truth=judge, blind=blind, history=history, title=head,
              made=date.today().isoformat(), folder=folder, force=force, **grades)  # fmt: skip
    say(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB); open it in any browser")


def from_folder(folder: Path, grades: dict[str, Any]) -> tuple[Votes[Any], Result, Any]:
    """Votes, result and, of a trained classifier, the history in a run folder."""
    from ..io.run_folder import Run

    run, said = Run.load(folder).shown()
    if said is not None:
        say(f"note: {said}")
    answers = run.need_votes(folder)
    checked_grades(answers, grades)
    return answers, run.result, run.history


def from_file(
    votes: str,
    method: str | None,
    param: list[str] | None,
    gold: tuple[Path | None, str | None],
    true: tuple[Path | None, str | None],
    asked: Asked,
    seed: int,
    grades: dict[str, Any],
) -> tuple[Votes[Any], Result, Result | None, Any, Any]:
    """Votes of a file, the method's result, its result without the gold answers where there are some, these, and the
    truth."""
    from ..audit.blind import blind_fit

    checked_method(method)
    answers, known = load(votes, asked, *gold, method)
    chosen = chosen_method(method, answers, seed, param)
    truth = asked.truth(*true, answers.kind)
    if truth is not None:
        answers = with_classes_of(answers, truth)
    tell_ledger(answers.ledger)
    with progress(chosen.name) as callback, naming(votes, gold[0]):
        checked_grades(answers, grades)
        result, blind = blind_fit(chosen, answers, known, callback=callback)
    return answers, result, blind, known, truth
