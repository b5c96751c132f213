"""crowdwise next: a plan of further votes, with their gain and cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...core.errors import DataError, ParameterError
from ...core.options import ReadOptions
from ..fitted import FitRequest, load_or_fit
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed, VotesOrRun, option
from ..sampling import ErrorOption, SamplingOption
from ..terminal import clean, error_context, info, print_json, print_table
from ..vote_options import DEFAULT_READ_OPTIONS, reads_votes
from .inputs import read_columns, split_names

if TYPE_CHECKING:
    import polars as pl

    from ...active.by_loss import LossPlan

# Tasks shown on the terminal, and names listed for one task.
MAX_ROWS, MAX_NAMES = 20, 5
# Longest content of a task.
MAX_CONTENT = 60
# Longest estimate that is shown whole.
MAX_TEXT = 40


@reads_votes
def next_(
    votes: VotesOrRun,
    budget: Annotated[
        float | None,
        option(
            "Budget",
            "--budget",
            "Amount to spend, in votes or in the unit of --cost; by default all votes that are worth it.",
            metavar="X",
        ),
    ] = None,
    workers: Annotated[
        str | None,
        option(
            "Budget",
            "--workers",
            "Workers to assign, as comma-separated names or a table with a column worker; everybody by default.",
            metavar="NAMES|TABLE",
        ),
    ] = None,
    cost: Annotated[
        str | None, option("Budget", "--cost", "Cost of a vote: a number, or a table worker,cost.", metavar="X|TABLE")
    ] = None,
    load: Annotated[
        int | None,
        option("Budget", "--load", "Maximum number of tasks per worker; three times an even share by default."),
    ] = None,
    pairs: Annotated[
        str | None,
        option("Budget", "--pairs", "Table task,worker of the allowed assignments; all by default.", metavar="TABLE"),
    ] = None,
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    error: ErrorOption = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    output: Annotated[
        Path | None, option("Output", "-o, --output", "CSV file for the whole plan.", metavar="FILE")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Plan which tasks need more votes, how many and from which workers, and which need an expert.

    Votes go to the tasks where one more adds most to the expected number of correct labels. Given a folder, its result
    is used.
    """
    from ...active.by_loss import LossPlan
    from ...active.plan import plan
    from ...evaluation.statement import error_of
    from ...io.csv.cells import to_csv

    if output is not None and output.exists() and not force:
        raise DataError(f"{output} exists; choose another file, or use --force")
    prices = _cost(cost)
    names = None if workers is None else _names(workers)
    allowed_pairs = None if pairs is None else read_columns(pairs, ("task", "worker"))
    fitted = load_or_fit(votes, FitRequest(method, param, (gold, gold_columns), read_options, seed, sampling, error))
    options = {"workers": names, "cost": prices, "load": load, "pairs": allowed_pairs, "error": error_of(fitted.result)}
    with error_context(votes, gold):
        budget_plan = plan(fitted.votes, budget=budget, result=fitted.result, **options)
    if output is not None:
        to_csv(budget_plan.to_table(), output)
    if json:
        print_json(budget_plan.to_dict())
        return
    if isinstance(budget_plan, LossPlan):
        _print_by_loss(budget_plan, output)
        return
    for line in (budget_plan.trust.sentence(), *budget_plan.sentences()):
        info(clean(line))
    content = _contents(fitted.votes, budget_plan.tasks)
    header = ["task", *(["content"] if content else []), "label", "sure", "labels", "votes", "gain", "ask", "why"]
    if budget_plan.n_votes:
        print_table("Ask for votes", header, _rows(budget_plan.tasks, "vote", content), stderr=False)
    if budget_plan.n_expert:
        print_table("Ask an expert", [*header[:-4], "why"], _rows(budget_plan.tasks, "expert", content), stderr=False)
    if output is not None:
        info(f"written to {output}")


def _contents(votes: Any, table: pl.DataFrame) -> dict[Any, str]:
    """Return the content of the tasks that may be shown, shortened; empty if the votes carry none."""
    from ...core.content import contents
    from ...report.text import shown

    tasks = table["task"].to_list()
    lines = {task: shown(line, MAX_CONTENT) for task, line in zip(tasks, contents(votes, tasks), strict=True)}
    return lines if any(lines.values()) else {}


def _print_by_loss(budget_plan: LossPlan, output: Path | None) -> None:
    for line in (budget_plan.level, *budget_plan.sentences()):
        info(clean(line))
    rows = []
    for row in budget_plan.tasks.head(MAX_ROWS).to_dicts():
        more = "" if len(row["ask"]) <= MAX_NAMES else f" and {len(row['ask']) - MAX_NAMES} more"
        estimate = str(row["label"])
        rows.append([
            str(row["task"]), estimate if len(estimate) <= MAX_TEXT else f"{estimate[: MAX_TEXT - 1]}…",
            f"{row['loss']:.3g}", str(row["n_labels"]), str(row["votes"]), f"{row['gain']:.3g}",
            ", ".join(map(str, row["ask"][:MAX_NAMES])) + more, row["why"],
        ])  # fmt: skip
    if rows:
        header = ["task", "estimate", "expected loss", "labels", "votes", "gain", "ask", "why"]
        print_table("Ask for votes", header, rows, stderr=False)
    if output is not None:
        info(f"written to {output}")


def _rows(table: pl.DataFrame, todo: str, content: dict[Any, str]) -> list[list[str]]:
    import polars as pl

    rows = []
    selected = table.filter((pl.col("todo") == todo) & ((pl.col("votes") > 0) | (todo == "expert")))
    for row in selected.head(MAX_ROWS).to_dicts():
        cells = [str(row["task"])] + ([content[row["task"]]] if content else [])
        cells += [str(row["label"]), f"{row['confidence']:.0%}", str(row["n_labels"])]
        if todo == "vote":
            more = "" if len(row["ask"]) <= MAX_NAMES else f" and {len(row['ask']) - MAX_NAMES} more"
            cells += [str(row["votes"]), f"{row['gain']:+.3f}", ", ".join(map(str, row["ask"][:MAX_NAMES])) + more]
        rows.append([*cells, row["why"]])
    return rows


def _cost(text: str | None) -> float | dict[Any, float]:
    """Parse --cost: a number, or a table of costs."""
    if text is None:
        return 1.0
    try:
        return float(text)
    except ValueError:
        table = read_columns(text, ("worker", "cost"))
    out = {}
    for name, price in table.iter_rows():
        try:
            out[name] = float(price)
        except (TypeError, ValueError):
            raise DataError(f"{text}: the cost of worker {name!r} is {price!r}; it must be a number above 0") from None
    return out


def _names(text: str) -> list[Any]:
    """Parse --workers: comma-separated names, or a table with a column worker."""
    if Path(text).is_file():
        return read_columns(text, ("worker",))["worker"].to_list()
    names = split_names(text)
    if not names:
        raise ParameterError("--workers holds no name; give comma-separated names, or a table with a column worker")
    return list(names)
