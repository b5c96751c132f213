"""crowdwise report: everything about a crowd on one HTML page."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..aggregate.registry import DEFAULT
from .loading import is_run, load, with_classes_of
from .options import (
    Force,
    Gold,
    GoldColumns,
    Level,
    Order,
    Params,
    Seed,
    Truth,
    TruthColumns,
    parse_grades,
    parse_params,
)
from .terminal import naming, progress, say, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    import polars as pl

    from ..core.ledger import Ledger
    from ..core.result import Result
    from ..kinds.classes import Annotations


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
    method: Annotated[str, typer.Option("-m", "--method", help="See: crowdwise methods")] = DEFAULT,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    asked: Asked = USUAL,
    level: Level = None,
    order: Order = None,
    seed: Seed = 0,
    title: Annotated[
        str | None, typer.Option("--title", help="Heads the page; by default the file's name.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page.", metavar="FILE")] = Path("report.html"),
    force: Force = False,
) -> None:
    """Write one HTML page to read and to mail: which labels are safe, whom to talk to, and why.

    --gold labels help the method, and judge it in a second fit without them; --truth labels only judge. Given a folder,
    the result in it is shown and -m, -p and --columns are not needed.
    """
    from ..report import refuse, write

    refuse(output, force)
    grades = parse_grades(level, order)
    known = asked.truth(truth, truth_columns)
    if is_run(votes, asked):
        annotations, result, history = from_folder(Path(votes))
        blind, judge = None, known if known is not None else asked.truth(gold, gold_columns)
    else:
        annotations, result, blind, helped = from_file(
            votes, method, param, (gold, gold_columns), known, asked, seed, grades
        )
        history, judge = None, helped if known is None else known
    head = title or (Path(votes).resolve().name if votes != "-" else "")
    with naming(votes, gold, truth):
        write(annotations, result, output, truth=judge, blind=blind, history=history, title=head,
              made=date.today().isoformat(), force=force, **grades)  # fmt: skip
    say(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB); open it in any browser")


def from_folder(folder: Path) -> tuple[Annotations, Result, pl.DataFrame | None]:
    """Votes, result and, of a trained classifier, the history in a run folder."""
    from ..core.result import Result
    from ..io.run_folder import load_votes
    from ..io.tables import open_table

    result = Result.load(folder)
    annotations = replace(load_votes(folder, result), ledger=saved_ledger(folder / "ledger.json"))
    path, history = folder / "history.csv", None
    if path.is_file():
        table = open_table(path)
        history = table.read(table.header)
    return annotations, result, history


def saved_ledger(path: Path) -> Ledger:
    """What became of every row, as the run wrote it down."""
    from ..core.errors import DataError
    from ..core.ledger import Ledger
    from ..io.result_files import read_json

    told = read_json(path)
    try:
        dropped = {reason: int(n) for reason, n in told["dropped"].items()}
        ledger = Ledger(int(told["rows_in"]), int(told["rows_used"]), dropped, tuple(map(str, told["notes"])))
        if min(ledger.rows_in, ledger.rows_used, *dropped.values()) < 0:
            raise ValueError("a number of rows is negative")
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, OverflowError) as error:
        raise DataError(f"{path} cannot be read ({' '.join(str(error).split())[:120]}); run aggregate anew") from None
    return ledger


def from_file(
    votes: str,
    method: str,
    param: list[str] | None,
    gold: tuple[Path | None, str | None],
    truth: Any,
    asked: Asked,
    seed: int,
    grades: dict[str, Any],
) -> tuple[Annotations, Result, Result | None, Any]:
    """Votes of a file, the method's result, its result without the gold labels where there are some, and these."""
    from ..aggregate import registry
    from ..workers.agreement import check_grades

    chosen = registry.method(method, **{"seed": seed, **parse_params(method, param)})
    annotations, known = load(votes, asked, *gold)
    if truth is not None:
        annotations = with_classes_of(annotations, truth)
    tell_ledger(annotations.ledger)
    with progress(method) as callback, naming(votes, gold[0]):
        check_grades(annotations, **grades)
        result = chosen.fit(annotations, gold=known, callback=callback)
        if known is None or "gold" in registry.card(method).needs:
            return annotations, result, None, known
        return annotations, result, chosen.fit(annotations, callback=callback), known
