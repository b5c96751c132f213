"""crowdwise fairness: gaps in label quality between groups."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...core.errors import ParameterError
from ...core.options import ReadOptions
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed, TablesFolder, VotesOrRun, option
from ..terminal import error_context, info, print_json, print_table
from ..vote_options import DEFAULT_READ_OPTIONS, reads_votes
from .inputs import load_inputs, recorded_draw

if TYPE_CHECKING:
    import polars as pl

FILES = ("gaps.csv", "rates.csv", "workers_gaps.csv", "raters.csv", "labels_fair.csv", "gaps_fair.csv")
MAX_ROWS = 20


class Target(StrEnum):
    """Rates to equalise between groups."""

    parity = "parity"
    opportunity = "opportunity"
    odds = "odds"


@reads_votes
def fairness(
    votes: VotesOrRun,
    groups: Annotated[
        str | None,
        option("Input", "--groups", "Table task,group, or the name of a column about the tasks.", metavar="FILE|COL"),
    ] = None,
    group: Annotated[
        str | None, option("Input", "--group", "Column of the --groups table that holds the group.", metavar="COL")
    ] = None,
    worker_groups: Annotated[
        str | None,
        option(
            "Input",
            "--worker-groups",
            "Table worker,group, or the name of a column about the workers.",
            metavar="FILE|COL",
        ),
    ] = None,
    worker_group: Annotated[
        str | None,
        option("Input", "--worker-group", "Column of the --worker-groups table that holds the group.", metavar="COL"),
    ] = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    target: Annotated[
        Target | None,
        option(
            "Guarantee",
            "--target",
            "Find labels with small gaps in rates (parity), recall (opportunity), or recall and false rate (odds).",
        ),
    ] = None,
    within: Annotated[float, option("Guarantee", "--within", "Largest gap that --target allows.", metavar="X")] = 0.02,
    level: Annotated[
        float, option("Guarantee", "--level", "Joint confidence level of all intervals.", metavar="P")
    ] = 0.95,
    method: Method = None,
    param: Params = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    output: TablesFolder = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure gaps between groups of tasks, workers and raters, with intervals, and find labels that close them.

    Shares of labels need no gold; recall, false rate and accuracy do. labels_fair.csv never replaces labels.csv.
    """
    from ...evaluation.fairness.study import fairness as study_fairness
    from ...io.atomic import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if groups is None:
        raise ParameterError("fairness needs --groups: a table task,group, or the name of a column about the tasks")
    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    inputs = load_inputs(votes, method, param, gold, gold_columns, read_options, seed)
    with error_context(votes, gold):
        study = study_fairness(
            inputs.result, votes=inputs.votes, gold=inputs.gold, groups=read_groups(groups, group, "task"),
            worker_groups=None if worker_groups is None else read_groups(worker_groups, worker_group, "worker"),
            target=None if target is None else target.value, within=within, level=level,
            sampling=recorded_draw(inputs) or "random", seed=seed,
        )  # fmt: skip
    if output is not None:
        write_tables(output, study.files(), force=force)
    if json:
        print_json(study.to_dict())
        return
    for note in study.notes:
        info("note:", note)
    print_table("Gaps", HEADER, gap_rows(study.gaps), stderr=False)
    _print_workers(study)
    if study.after is not None:
        print_table(
            f"Gaps of the labels with {study.target} within {within:g}", HEADER, gap_rows(study.after), stderr=False
        )
        before, after = study.expected or (float("nan"), float("nan"))
        info(
            f"expected accuracy {before:.3f} before, {after:.3f} after; check all gaps, as closing one may open another"
        )
    if output is not None:
        info(f"written to {output}")


HEADER = ["measure", "class", "group", "other", "gap", "all intervals hold together", ""]


def gap_rows(gaps: pl.DataFrame) -> list[list[str]]:
    """Return gaps as table rows; those whose interval excludes zero are marked."""
    rows = []
    for row in gaps.head(4 * MAX_ROWS).iter_rows(named=True):
        interval = "–" if row["low"] is None else f"{row['low']:+.3f} – {row['high']:+.3f}"
        differs = row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
        gap = "–" if row["gap"] is None else f"{row['gap']:+.3f}"
        note = "differs" if differs else row["note"]
        rows.append([row["measure"], row["class"] or "", row["group"], row["other"], gap, interval, note])
    return rows


def _print_workers(study: Any) -> None:
    import polars as pl

    flagged = study.workers.filter(pl.col("flag")) if len(study.workers) else study.workers
    if len(study.workers):
        n, of = (table["worker"].n_unique() if len(table) else 0 for table in (flagged, study.workers))
        info(f"{n} of {of:,} workers treat groups differently (false discoveries at 10 %)")
    if len(flagged):
        rows = [[str(r["worker"]), str(r["class"]), r["high_group"], r["low_group"], f"{r['gap']:.3f}", f"{r['p']:.4f}"]
                for r in flagged.sort("p", "worker").head(MAX_ROWS).iter_rows(named=True)]  # fmt: skip
        print_table("Workers", ["worker", "class", "higher recall", "lower recall", "gap", "p"], rows, stderr=False)
    if len(study.raters):
        rows = [[r["question"], r["group"], str(r["raters"]), f"{r['mean']:+.3f}", f"{r['p']:.4f}"]
                for r in study.raters.head(4 * MAX_ROWS).iter_rows(named=True)]  # fmt: skip
        print_table("Groups of raters", ["question", "group", "raters", "difference", "p"], rows, stderr=False)


def read_groups(text: str, column: str | None, key: str) -> Any:
    """Return a table of groups from a file, or the name of a column."""
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
        raise DataError(f"{Path(text).name}: which column is the group? Give {option} one of {', '.join(others)}")
    frame = table.read([key, name])
    return frame.select(pl.col(key), pl.col(name).cast(pl.String).alias("group"))
