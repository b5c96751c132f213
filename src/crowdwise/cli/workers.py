"""crowdwise workers: quality, agreement, and flags with evidence."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from ..core.options import ReadOptions
from .fitted import FitRequest, load_or_fit
from .options import (
    Force,
    Gold,
    GoldColumns,
    Json,
    Level,
    Method,
    Params,
    Seed,
    TablesFolder,
    VotesOrRun,
    option,
    parse_level,
)
from .sampling import SamplingOption
from .terminal import error_context, info, print_blocks, print_json
from .vote_options import DEFAULT_READ_OPTIONS, reads_votes


class TableFormat(StrEnum):
    """How tables are written."""

    csv = "csv"
    latex = "tex"
    markdown = "md"
    html = "html"


def _named(file: str, form: TableFormat) -> str:
    return file.removesuffix("csv") + form.value


# Files that every kind of answers writes with -o, to check for before a long fit.
FILES = ("quality.csv", "agreement.csv", "flags.csv")
# Rows shown of each table; of longer lists of workers, this many of the best and of the worst.
MAX_ROWS = 20
ENDS = 10


@reads_votes
def workers(
    votes: VotesOrRun,
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    level: Level = None,
    idle: Annotated[
        float | None,
        option("Method", "--idle", "Pause in seconds that counts as a break; 600 by default.", metavar="S", min=0),
    ] = None,
    seed: Seed = 0,
    output: TablesFolder = None,
    written_as: Annotated[
        TableFormat, option("Output", "--as", "Format of the tables written with -o.")
    ] = TableFormat.csv,
    force: Force = False,
    json: Json = False,
) -> None:
    """Report worker quality, agreement, and flags for guessing, copying and collusion.

    Given a folder, its result is used; -m, -p and --columns are not needed.
    """
    from ..io.atomic import refuse_to_overwrite
    from ..io.csv.folder import write_tables
    from ..kinds.classes.scoring.summaries import dependence_sentences
    from ..workers.studied import study

    if output is not None:
        refuse_to_overwrite(output, tuple(_named(name, written_as) for name in FILES), force)
    grades = parse_level(level, read_options.order)
    fitted = load_or_fit(
        votes, FitRequest(method, param, (gold, gold_columns), read_options, seed, sampling, grades=grades)
    )
    answers, result = fitted.votes, fitted.result
    with error_context(votes, gold):
        worker_study = study(answers, result, gold=fitted.gold, **grades, **({} if idle is None else {"idle": idle}))
    if output is not None:
        tables = {_named(name, written_as): table for name, table in worker_study.files().items()}
        write_tables(output, tables, force=force)
    if json:
        print_json(worker_study.to_dict())
        return
    info(f"{len(answers):,} {answers.kind.answers_word} by {answers.n_workers:,} workers; {result.method}")
    print_blocks([*worker_study.blocks(MAX_ROWS, ENDS), *dependence_sentences(result)])
    if output is not None:
        info(f"written to {output}")
