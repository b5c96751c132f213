"""crowdwise next: which tasks deserve how many more votes, from whom, and what that brings and costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ..fitted import Wanted, obtain
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed
from ..sampling import ErrorOption, SamplingOption
from ..terminal import clean, naming, print_json, print_table, say
from ..vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    import polars as pl

# Tasks shown on the terminal, and names listed for one task.
SHOWN, NAMES = 20, 5


@reads_votes
def next_(
    votes: Annotated[
        str,
        typer.Argument(
            help="Votes (as for aggregate), or a folder that aggregate wrote.", metavar="VOTES|DIR", show_default=False
        ),
    ],
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            help="What may be spent, in votes or in the unit of --cost; without it, all votes that are worth it.",
            metavar="X",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers",
            help="Who may be asked: names with commas between, or a table with a column worker. Default: everybody.",
            metavar="NAMES|TABLE",
            show_default=False,
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            "--cost", help="What a vote costs: a number, or a table worker,cost.", metavar="X|TABLE", show_default=False
        ),
    ] = None,
    load: Annotated[
        int | None,
        typer.Option(
            "--load",
            help="The most tasks that one worker gets. Default: three times an even share.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs",
            help="Who may be asked what, if not everybody everything: a table task,worker.",
            metavar="TABLE",
            show_default=False,
        ),
    ] = None,
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    error: ErrorOption = None,
    asked: Asked = USUAL,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A CSV file for the whole plan.", metavar="FILE", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Which tasks deserve more votes, how many, from whom, for how much, and which need an expert instead?

    Votes go where one more adds most to the expected number of right labels. Given a folder, its own result is used.
    """
    from ...active.plan import plan
    from ...evaluation.statement import error_of
    from ...io.csv.cells import to_csv

    if output is not None and output.exists() and not force:
        raise DataError(f"{output} exists; name another file, or say --force")
    prices = _cost(cost)
    names = None if workers is None else _names(workers)
    may = None if pairs is None else _table(pairs, ("task", "worker"))
    made = obtain(votes, Wanted(method, param, (gold, gold_columns), asked, seed, sampling, error))
    options = {"workers": names, "cost": prices, "load": load, "pairs": may, "error": error_of(made.result)}
    with naming(votes, gold):
        found = plan(made.votes, budget=budget, result=made.result, **options)
    if output is not None:
        to_csv(found.to_table(), output)
    if json:
        print_json(found.to_dict())
        return
    for line in (found.trust.sentence(), *found.sentences()):
        say(clean(line))
    header = ["task", "label", "sure", "labels", "votes", "gain", "ask", "why"]
    if found.n_votes:
        print_table("Ask for votes", header, _rows(found.tasks, "vote"), stderr=False)
    if found.n_expert:
        print_table("Ask an expert", [*header[:4], "why"], _rows(found.tasks, "expert"), stderr=False)
    if output is not None:
        say(f"written to {output}")


def _rows(table: pl.DataFrame, todo: str) -> list[list[str]]:
    import polars as pl

    out = []
    wanted = table.filter((pl.col("todo") == todo) & ((pl.col("votes") > 0) | (todo == "expert")))
    for row in wanted.head(SHOWN).to_dicts():
        first = [str(row["task"]), str(row["label"]), f"{row['confidence']:.0%}", str(row["n_labels"])]
        if todo == "vote":
            more = "" if len(row["ask"]) <= NAMES else f" and {len(row['ask']) - NAMES} more"
            first += [str(row["votes"]), f"{row['gain']:+.3f}", ", ".join(map(str, row["ask"][:NAMES])) + more]
        out.append([*first, row["why"]])
    return out


def _cost(text: str | None) -> float | dict[Any, float]:
    """A number, or the costs of a table."""
    if text is None:
        return 1.0
    try:
        return float(text)
    except ValueError:
        table = _table(text, ("worker", "cost"))
    out = {}
    for name, price in table.iter_rows():
        try:
            out[name] = float(price)
        except (TypeError, ValueError):
            raise DataError(f"{text}: the cost of worker {name!r} is {price!r}; it must be a number above 0") from None
    return out


def _names(text: str) -> list[Any]:
    """Names of a list, or of a table's column worker."""
    if Path(text).is_file():
        return _table(text, ("worker",))["worker"].to_list()
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError("--workers names nobody; give names with commas between, or a table with a column worker")
    return names


def _table(path: str, columns: tuple[str, ...]) -> pl.DataFrame:
    from ...io.tables import open_table

    table = open_table(path)
    for name in columns:
        if name not in table.header:
            raise DataError(f"{path}: there is no column {name}; it has {', '.join(table.header)}")
    return table.read(list(columns))
