"""crowdwise fair: are labels as good for one group as for another?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import ParameterError
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed
from ..terminal import naming, print_json, print_table, say
from ..vote_options import USUAL, Asked, reads_votes
from .given import Given, recorded, takes

if TYPE_CHECKING:
    import polars as pl

FILES = ("gaps.csv", "rates.csv", "workers_gaps.csv", "raters.csv", "labels_fair.csv", "gaps_fair.csv")
SHOWN = 20


class Target(StrEnum):
    """What is to be equal between groups."""

    parity = "parity"
    opportunity = "opportunity"
    odds = "odds"


@reads_votes
def fair(
    votes: Given,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups", help="A table task,group, or a column about the tasks.", metavar="FILE|COL", show_default=False
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Which column of --groups FILE is the group.", metavar="COL", show_default=False),
    ] = None,
    worker_groups: Annotated[
        str | None,
        typer.Option(
            "--worker-groups",
            help="A table worker,group, or a column about the workers.",
            metavar="FILE|COL",
            show_default=False,
        ),
    ] = None,
    worker_group: Annotated[
        str | None,
        typer.Option(
            "--worker-group",
            help="Which column of --worker-groups FILE is the group.",
            metavar="COL",
            show_default=False,
        ),
    ] = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    target: Annotated[
        Target | None,
        typer.Option(
            "--target",
            help="Find labels whose rates (parity), recall (opportunity) or recall and false rate "
            "(odds) differ little.",
            show_default=False,
        ),
    ] = None,
    within: Annotated[float, typer.Option("--within", help="How much they may differ.", metavar="X")] = 0.02,
    level: Annotated[float, typer.Option("--level", help="How often all intervals must hold.", metavar="P")] = 0.95,
    method: Method = None,
    param: Params = None,
    asked: Asked = USUAL,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the tables as CSV.", show_default=False)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Gaps between groups of tasks with intervals, workers' own gaps, groups of raters, and labels that close gaps.

    Shares of labels need no gold; recall, false rate and accuracy do. labels_fair.csv never replaces labels.csv.
    """
    from ...evaluation.fairness.study import fairness
    from ...io.beside import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if groups is None:
        raise ParameterError("fair needs --groups: a table task,group, or the name of a column about the tasks")
    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    given = takes(votes, method, param, gold, gold_columns, asked, seed)
    with naming(votes, gold):
        found = fairness(
            given.result, votes=given.votes, gold=given.gold, groups=grouped(groups, group, "task"),
            worker_groups=None if worker_groups is None else grouped(worker_groups, worker_group, "worker"),
            target=None if target is None else target.value, within=within, level=level,
            sampling=recorded(votes) or "random", seed=seed,
        )  # fmt: skip
    if output is not None:
        write_tables(output, found.files(), force=force)
    if json:
        print_json(found.to_dict())
        return
    for note in found.notes:
        say("note:", note)
    print_table("Gaps", HEADER, rows_of(found.gaps), stderr=False)
    _people(found)
    if found.after is not None:
        print_table(
            f"Gaps of the labels with {found.target} within {within:g}", HEADER, rows_of(found.after), stderr=False
        )
        before, after = found.expected or (float("nan"), float("nan"))
        say(f"expected accuracy {before:.3f} before, {after:.3f} after; look at all gaps, closing one may open another")
    if output is not None:
        say(f"written to {output}")


HEADER = ["measure", "class", "group", "other", "gap", "all intervals hold together", ""]


def rows_of(gaps: pl.DataFrame) -> list[list[str]]:
    """Gaps for people; those whose interval leaves zero out are marked."""
    out = []
    for row in gaps.head(4 * SHOWN).iter_rows(named=True):
        ends = "–" if row["low"] is None else f"{row['low']:+.3f} – {row['high']:+.3f}"
        sure = row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
        gap = "–" if row["gap"] is None else f"{row['gap']:+.3f}"
        told = "differs" if sure else row["note"]
        out.append([row["measure"], row["class"] or "", row["group"], row["other"], gap, ends, told])
    return out


def _people(found: Any) -> None:
    import polars as pl

    flagged = found.workers.filter(pl.col("flag")) if len(found.workers) else found.workers
    if len(found.workers):
        n, of = (table["worker"].n_unique() if len(table) else 0 for table in (flagged, found.workers))
        say(f"{n} of {of:,} workers treat groups differently (false discoveries at 10 %)")
    if len(flagged):
        rows = [[str(r["worker"]), str(r["class"]), r["high_group"], r["low_group"], f"{r['gap']:.3f}", f"{r['p']:.4f}"]
                for r in flagged.sort("p", "worker").head(SHOWN).iter_rows(named=True)]  # fmt: skip
        print_table("Workers", ["worker", "class", "higher recall", "lower recall", "gap", "p"], rows, stderr=False)
    if len(found.raters):
        rows = [[r["question"], r["group"], str(r["raters"]), f"{r['mean']:+.3f}", f"{r['p']:.4f}"]
                for r in found.raters.head(4 * SHOWN).iter_rows(named=True)]  # fmt: skip
        print_table("Groups of raters", ["question", "group", "raters", "difference", "p"], rows, stderr=False)


def grouped(text: str, column: str | None, key: str) -> Any:
    """A table of groups from a file, or the name of a column."""
    import polars as pl

    from ...core.errors import DataError
    from ...io.tables import open_table

    if not Path(text).is_file():
        if any(text.endswith(end) for end in (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")):
            raise DataError(f"{text}: there is no such file")
        return text
    table = open_table(text)
    if key not in table.header:
        raise DataError(f"{Path(text).name} has no column {key}; it has {', '.join(table.header)}")
    others = [name for name in table.header if name != key]
    name = column or ("group" if "group" in others else others[0] if len(others) == 1 else None)
    if name is None or name not in others:
        option = "--group" if key == "task" else "--worker-group"
        raise DataError(f"{Path(text).name}: which column is the group? say {option} with one of {', '.join(others)}")
    frame = table.read([key, name])
    return frame.select(pl.col(key), pl.col(name).cast(pl.String).alias("group"))
