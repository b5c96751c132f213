"""How gold tasks were drawn: stated by --sampling, recorded beside the file or in a run, or asked for on a terminal."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .terminal import say

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
    typer.Option(
        "--sampling",
        help="How the gold tasks were drawn. Only a random sample calibrates confidence; other gold helps the fit. A "
        "recorded draw (--check) needs no statement.",
        show_default=False,
    ),
]
ErrorOption = Annotated[
    float | None,
    typer.Option(
        "--error",
        help="Share of wrong labels that may ship. By default that of the run, or .05.",
        metavar="X",
        min=0.001,
        max=0.5,
        show_default=False,
    ),
]
CheckOption = Annotated[
    Path | None,
    typer.Option(
        "--check",
        help="Write a random sample of tasks to label, to know how many labels are right.",
        metavar="FILE",
        show_default=False,
    ),
]


def stated(
    sampling: Sampling | None, path: Path | None, gold: Any, tasks: pl.Series, result: Result | None = None
) -> Any:
    """How the gold was drawn, as `cw.fit` takes it: as given; else as recorded beside its file, or in the run whose fit
    was given it (`result`); else a terminal is asked. None where nobody says."""
    from ..core.errors import ParameterError
    from ..evaluation.guarantee.sampling import draw_beside

    if gold is None:
        if sampling is not None:
            raise ParameterError(f"--sampling {sampling} is about gold; give --gold too")
        return None
    if sampling is not None:
        return sampling.value
    drawn = None if path is None else draw_beside(path, gold, tasks)
    if drawn is not None:
        record, file = drawn
        say(f"note: the gold tasks are those of the draw recorded in {file.name}")
        return "random" if record.design == "random" else "weights"
    if result is not None and (recorded := recorded_in(result, gold)) is not None:
        return recorded if recorded in Sampling.__members__ else None
    if sys.stdin.isatty() and sys.stderr.isatty():
        return "random" if typer.confirm(QUESTION, default=True, err=True) else "chosen"
    return None


def recorded_in(result: Result, gold: Any) -> str | None:
    """How this gold was drawn by the record of a result whose fit was given it; None where it was given other gold."""
    from ..evaluation.fitting import sampling_of

    return sampling_of(result) if same_gold(result, gold) else None


def same_gold(result: Result, gold: Any) -> bool:
    """Whether all tasks of this gold were gold in the fit of a result."""
    import polars as pl

    from ..evaluation.guarantee.gold import gold_tasks

    if result.gold is None or not (isinstance(gold, dict) or "task" in gold.columns):
        return False
    given = result.tasks.filter(pl.Series(result.gold)).cast(pl.String)
    return bool(gold_tasks(gold).is_in(given.implode()).all())


def tell_assumed(result: Result) -> None:
    """A note where confidence is calibrated on gold that nobody states to be a random sample."""
    from ..evaluation.fitting import ASSUMED

    check = result.extra.get("gold_check") or {}
    if "reason" not in check and check.get("sampling") == ASSUMED:
        say(
            "note: the gold tasks are taken for a random sample, which the data do not contradict; state it with "
            "--sampling random, or --sampling chosen if they were picked"
        )


def refuse_check(check: Path | None, force: bool) -> None:
    """Refuse to overwrite the file of tasks to check or its record."""
    from ..evaluation.guarantee.sampling import record_of
    from ..io.beside import refuse_to_overwrite

    if check is not None:
        refuse_to_overwrite(check.parent, (check.name, record_of(check).name), force)


def write_check(result: Result, check: Path | None, seed: int) -> str:
    """Write the file of tasks to check, where one is named; its name."""
    from ..evaluation.guarantee.sampling import save_check
    from ..evaluation.statement import TO_CHECK

    if check is None:
        return ""
    save_check(result, check, TO_CHECK, seed=seed)
    return str(check)
