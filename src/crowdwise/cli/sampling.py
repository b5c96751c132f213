"""How gold tasks were drawn: given by --sampling, recorded beside the file or in a run, or asked on a terminal."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import option
from .terminal import info

if TYPE_CHECKING:
    import polars as pl

    from ..core.result import Result

QUESTION = "Were the gold tasks drawn at random from all tasks (not picked by hand, by difficulty or by label)?"


class Sampling(StrEnum):
    """Designs of a gold sample."""

    random = "random"
    weights = "weights"
    chosen = "chosen"


SamplingOption = Annotated[
    Sampling | None,
    option(
        "Gold and truth",
        "--sampling",
        "How the gold tasks were drawn; only a random sample calibrates confidence, and a recorded draw "
        "(--check) is recognised.",
    ),
]
ErrorOption = Annotated[
    float | None,
    option(
        "Guarantee",
        "--error",
        "Share of wrong labels that may ship; by default that of the run, or .05.",
        metavar="X",
        min=0.001,
        max=0.5,
    ),
]
CheckOption = Annotated[
    Path | None,
    option(
        "Guarantee",
        "--check",
        "File for a random sample of tasks to label as gold, which measures how many labels are right.",
        metavar="FILE",
    ),
]


def resolve_sampling(
    sampling: Sampling | None, path: Path | None, gold: Any, tasks: pl.Series, result: Result | None = None
) -> Any:
    """Return how the gold was drawn, in the terms of `cw.fit`; None if unknown.

    That is --sampling if given, else the record beside the file of gold or of the run that used it (`result`), else
    the answer to a question on the terminal.
    """
    from ..core.errors import ParameterError

    if gold is None:
        if sampling is not None:
            raise ParameterError(f"--sampling {sampling} describes gold; give --gold too")
        return None
    if sampling is not None:
        return sampling.value
    from ..evaluation.guarantee.sampling import draw_beside

    found_draw = None if path is None else draw_beside(path, gold, tasks)
    if found_draw is not None:
        record, file = found_draw
        info(f"note: the gold tasks are those of the draw recorded in {file.name}")
        return "random" if record.design == "random" else "weights"
    if result is not None and (recorded := recorded_sampling(result, gold)) is not None:
        return recorded if recorded in Sampling.__members__ else None
    if sys.stdin.isatty() and sys.stderr.isatty():
        return "random" if typer.confirm(QUESTION, default=True, err=True) else "chosen"
    return None


def recorded_sampling(result: Result, gold: Any) -> str | None:
    """Return how this gold was drawn according to a result that used it; None if the result used other gold."""
    from ..evaluation.fitting import sampling_of

    return sampling_of(result) if used_in_fit(result, gold) else None


def used_in_fit(result: Result, gold: Any) -> bool:
    """Return whether all tasks of this gold were gold in the fit of a result."""
    import polars as pl

    from ..evaluation.guarantee.gold import gold_tasks

    if result.gold is None or not (isinstance(gold, dict) or "task" in gold.columns):
        return False
    fit_gold = result.tasks.filter(pl.Series(result.gold)).cast(pl.String)
    return bool(gold_tasks(gold).is_in(fit_gold.implode()).all())


def print_assumed_sampling(result: Result) -> None:
    """Print a note if confidence is calibrated on gold that was only assumed to be a random sample."""
    from ..evaluation.fitting import ASSUMED

    check = result.extra.get("gold_check") or {}
    if "reason" not in check and check.get("sampling") == ASSUMED:
        info(
            "note: the gold tasks are assumed to be a random sample, which the data do not contradict; confirm it with "
            "--sampling random, or use --sampling chosen if they were picked"
        )


def refuse_check_overwrite(check: Path | None, force: bool) -> None:
    """Refuse to overwrite the file of tasks to check or its record."""
    if check is not None:
        from ..evaluation.guarantee.sampling import record_of
        from ..io.atomic import refuse_to_overwrite

        refuse_to_overwrite(check.parent, (check.name, record_of(check).name), force)


def write_check(result: Result, check: Path | None, seed: int) -> str:
    """Write the file of tasks to check, if named; return its name."""
    if check is None:
        return ""
    from ..evaluation.guarantee.sampling import save_check
    from ..evaluation.statement import TO_CHECK

    save_check(result, check, TO_CHECK, seed=seed)
    return str(check)
