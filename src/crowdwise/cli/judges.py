"""crowdwise judges: accuracy, dependence, bias and value for money of judges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ..core.doubt import OF_AGGREGATION
from ..core.kind import KindHooks
from ..core.options import ReadOptions
from .loading import in_classes, load
from .options import Force, Gold, GoldColumns, Json, Seed, Systems, TablesFolder, Votes, option
from .terminal import error_context, info, print_blocks, print_json, print_ledger
from .vote_options import DEFAULT_READ_OPTIONS, reads_votes

Families = Annotated[
    Path | None, option("Input", "--families", "Table worker,family of related judges.", metavar="FILE")
]
Prices = Annotated[
    Path | None,
    option(
        "Budget",
        "--prices",
        "Table worker,price of a verdict; the row person holds the price of a person's label.",
        metavar="FILE",
    ),
]
Covariates = Annotated[
    Path | None,
    option(
        "Input",
        "--covariates",
        "Table with one row per task of properties that should not matter, such as lengths, groups, or the "
        "family that is judged.",
        metavar="FILE",
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
        bool,
        option(
            "Method",
            "--subjective",
            "Assume no single truth and score judges against the distribution of people's answers.",
        ),
    ] = False,
    groups: Annotated[
        str | None,
        option(
            "Method",
            "--groups",
            "With --subjective, compare raters by this column about the workers.",
            metavar="COLUMN",
        ),
    ] = None,
    half_width: Annotated[
        float,
        option(
            "Budget",
            "--half-width",
            "Half of the width of the interval for which the missing human labels are counted.",
            metavar="X",
            min=0.001,
            max=0.5,
        ),
    ] = 0.05,
    systems: Systems = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    output: TablesFolder = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure the accuracy, dependence, bias and value for money of judges.

    Most of this needs --gold with people's labels of 30 or more tasks. Repeats, prompts and orders of one judge
    (columns repeat, prompt, order) count as one judge.
    """
    from ..core.errors import ParameterError
    from ..io.atomic import refuse_to_overwrite
    from ..io.csv.folder import write_tables
    from ..judges import output as study_output
    from ..judges.study import judges as study_judges

    if groups is not None and not subjective:
        raise ParameterError("--groups compares raters where there is no single truth; it needs --subjective")
    if output is not None:
        refuse_to_overwrite(output, study_output.FILES, force)
    alone = replace(read_options, allow=(*read_options.allow, *OF_AGGREGATION))  # one judge can be measured
    annotations, gold_labels = load(votes, alone, gold, gold_columns)
    annotations.kind.hooks.require(KindHooks.judges)
    print_ledger(annotations.ledger)
    with error_context(votes, gold):
        annotations, gold_labels = in_classes(annotations, gold_labels, systems)
    if subjective:
        _subjective(annotations, groups, seed, output, force, json)
        return
    with error_context(votes, gold, families, prices, covariates):
        if gold is not None:
            _refuse_models(gold, annotations)
        tables = {"families": _read(families), "covariates": _read(covariates), "prices": _read(prices)}
        study = study_judges(annotations, gold_labels, **tables, seed=seed)
    if output is not None:
        write_tables(output, study_output.files(study), force=force)
    show = study_output.to_dict if json else study_output.blocks
    _print(show(study, half_width=half_width), output)


def _print(result: Any, output: Path | None) -> None:
    """Print a study: plain values as JSON, or tables and sentences."""
    if isinstance(result, dict):
        print_json(result)
        return
    print_blocks(result)
    if output is not None:
        info(f"written to {output}")


def _subjective(annotations: Any, groups: str | None, seed: int, output: Path | None, force: bool, json: bool) -> None:
    from ..io.csv.folder import write_tables
    from ..judges.soft import soft

    scores = soft(annotations, groups, seed)
    if output is not None:
        write_tables(output, scores.files(), force=force)
    _print(scores.to_dict() if json else scores.blocks(), output)


def _read(path: Path | None) -> Any:
    """Read a table about judges or tasks."""
    from ..io.tables import open_table

    if path is None:
        return None
    table = open_table(path)
    return table.read(table.header)


def _refuse_models(path: Path, annotations: Any) -> None:
    """Refuse gold whose columns show that a model wrote it."""
    from ..judges.metadata import refuse_gold_of_models

    if path.suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        refuse_gold_of_models(_read(path), annotations)
