"""crowdwise report: an HTML report of a result."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from ..core.options import ReadOptions
from .fitted import FitRequest, load_or_fit
from .loading import beside, for_each_question, is_run
from .options import (
    Force,
    Gold,
    GoldColumns,
    Level,
    Method,
    Params,
    Seed,
    Truth,
    TruthColumns,
    VotesOrRun,
    option,
    parse_level,
)
from .sampling import CheckOption, ErrorOption, SamplingOption, refuse_check_overwrite, write_check
from .terminal import error_context, info
from .vote_options import DEFAULT_READ_OPTIONS, reads_votes


@reads_votes
@for_each_question(beside, "gold", "truth", "check", "title")
def report(
    votes: VotesOrRun,
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    level: Level = None,
    error: ErrorOption = None,
    check: CheckOption = None,
    seed: Seed = 0,
    title: Annotated[str | None, option("Output", "--title", "Title of the page; the file name by default.")] = None,
    output: Annotated[Path, option("Output", "-o, --output", "HTML file to write.", metavar="FILE")] = Path(
        "report.html"
    ),
    force: Force = False,
) -> None:
    """Write a self-contained HTML report of a result: safe labels, disputed tasks, and worker quality.

    --gold labels inform the method, calibrate its confidence and evaluate a second fit without them; --truth labels
    only evaluate. Given a folder, its result is shown and --gold calibrates it; -m, -p and --columns are not needed.
    """
    from ..report import refuse, write

    refuse(output, force)
    refuse_check_overwrite(check, force)
    grades = parse_level(level, read_options.order)
    fitted = load_or_fit(votes, FitRequest(method, param, (gold, gold_columns), read_options, seed, sampling, error,
                                (truth, truth_columns), grades, evaluate_gold=True))  # fmt: skip
    true_labels = fitted.gold if fitted.truth is None else fitted.truth
    folder = Path(votes) if is_run(votes, read_options) else None
    heading = title or (Path(votes).resolve().name if votes != "-" else "")
    with error_context(votes, gold, truth):
        write(
            fitted.votes,
            fitted.result,
            output,
            truth=true_labels,
            blind=fitted.blind,
            history=fitted.history,
            title=heading,
            made=date.today().isoformat(),
            folder=folder,
            force=force,
            **grades,
        )
    written = write_check(fitted.result, check, seed)
    info(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB); open it in any browser")
    if written:
        info(f"tasks to label in {written}; give the file back as --gold")
