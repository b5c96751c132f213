"""crowdwise judges: how good, how dependent, how biased judges are, and whom to pay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.kind import KindHooks
from ..loading import load
from ..options import Force, Gold, GoldColumns, Json, Seed, Votes
from ..terminal import clean, naming, print_json, print_table, say, tell_ledger
from ..vote_options import USUAL, Asked, reads_votes

Families = Annotated[
    Path | None,
    typer.Option(
        "--families", help="A table worker,family: which judges are related.", metavar="FILE", show_default=False
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="A table worker,price: what a verdict costs; the row `person` is what a person's label costs.",
        metavar="FILE",
        show_default=False,
    ),
]
Covariates = Annotated[
    Path | None,
    typer.Option(
        "--covariates",
        help="A table with a row a task and what should not matter: lengths, groups, `family` of what is judged.",
        metavar="FILE",
        show_default=False,
    ),
]


@reads_votes
def judges(
    votes: Votes,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    families: Families = None,
    prices: Prices = None,
    covariates: Covariates = None,
    subjective: Annotated[
        bool, typer.Option("--subjective", help="No single truth: score judges against people's distributions.")
    ] = False,
    groups: Annotated[
        str | None,
        typer.Option("--groups", help="With --subjective: compare raters by this column about the workers.",
                     metavar="COLUMN", show_default=False),
    ] = None,
    asked: Asked = USUAL,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the tables as CSV.", show_default=False)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:  # fmt: skip
    """How many independent voices are these judges, which are biased, and whom is it worth to pay?

    --gold are labels of people for some tasks; 30 or more make most of this possible. Repeats, prompts and orders of
    one judge (columns repeat, prompt, order) count as one voice.
    """
    from ...core.errors import ParameterError
    from ...io.beside import refuse_to_overwrite
    from ...io.csv.folder import write_tables
    from ...judges import shown
    from ...judges.study import judges as study

    if groups is not None and not subjective:
        raise ParameterError("--groups compares raters where there is no single truth; say --subjective too")
    if output is not None:
        refuse_to_overwrite(output, shown.FILES, force)
    annotations, known = load(votes, asked, gold, gold_columns)
    annotations.kind.hooks.require(KindHooks.judges)
    tell_ledger(annotations.ledger)
    if subjective:
        _subjective(annotations, groups, seed, output, force, json)
        return
    with naming(votes, gold, families, prices, covariates):
        if gold is not None:
            _refuse_models(gold, annotations)
        tables = {"families": _read(families), "covariates": _read(covariates), "prices": _read(prices)}
        found = study(annotations, known, **tables, seed=seed)
    if output is not None:
        write_tables(output, shown.files(found), force=force)
    if json:
        print_json(shown.to_dict(found))
        return
    _tell(shown.blocks(found), output)


def _tell(blocks: Any, output: Path | None) -> None:
    for block in blocks:
        if isinstance(block, str):
            say(clean(block))
        else:
            print_table(block.title, block.header, block.rows, stderr=False)
    if output is not None:
        say(f"written to {output}")


def _subjective(annotations: Any, groups: str | None, seed: int, output: Path | None, force: bool, json: bool) -> None:
    from ...io.csv.folder import write_tables
    from ...judges.soft import soft

    found = soft(annotations, groups, seed)
    if output is not None:
        write_tables(output, found.files(), force=force)
    if json:
        print_json(found.to_dict())
        return
    _tell(found.blocks(), output)


def _read(path: Path | None) -> Any:
    """A table about judges or tasks."""
    from ...io.tables import open_table

    if path is None:
        return None
    table = open_table(path)
    return table.read(table.header)


def _refuse_models(path: Path, annotations: Any) -> None:
    """Refuse gold that says itself that a model wrote it."""
    from ...judges.known import refuse_gold_of_models

    if path.suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        refuse_gold_of_models(_read(path), annotations)
