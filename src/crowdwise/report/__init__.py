"""The report: one HTML file that can be mailed, read offline, with scripts off, on a phone and on paper.

>>> import crowdwise as cw
>>> votes = cw.simulate.scenario("one_coin", tasks=60, workers=6, seed=1).annotations
>>> page = cw.report.render(votes, cw.MajorityVote().fit(votes))
>>> "label 60 tasks at random" in page
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, unwritable
from ..core.kind import KindHooks

if TYPE_CHECKING:
    import polars as pl

    from ..core.result import Result
    from ..core.votes import Votes
    from ..stats.agreement import Level

__all__ = ["render", "write"]


def render(
    votes: Votes[Any],
    result: Result,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
    title: str = "",
    made: str = "",
    level: Level | None = None,
    order: Sequence[Any] | None = None,
    folder: Path | None = None,
    error: float | None = None,
) -> str:
    """The page as a string, of any kind of answers.

    `truth` (a table task, label or a mapping) holds true answers of some tasks or all; they judge answers and workers.
    Where `result` was itself fitted with them as gold, `blind` is the same method's result without: it is judged in its
    place. `history` is a classifier's history (`history_.to_table()`); `title` and `made` (a date) head the page;
    `level` and `order` grade the agreement of classes (see `workers.agreement`). `folder` is a run's: what estimate,
    accept and fair left there gets sections of its own. `error` is the share of wrong labels that may ship (None: that
    of the run, else 0.05).
    """
    from ..evaluation.statement import at_error
    from ..kinds.classes.page.over_time import tells_of_training, training_section
    from . import page
    from .page import attached
    from .plain_page import plain_page

    result = result if error is None else at_error(result, error)
    by_itself = tells_of_training(result)
    own = {"history": history if by_itself else None, "level": level, "order": order}
    options = {"truth": truth, "blind": blind, **{name: value for name, value in own.items() if value is not None}}
    kind = result.kind
    if votes.kind is not kind:
        raise DataError(f"the result is of {kind.people}, the votes are {votes.kind.people}")
    sheet = (
        kind.hooks.page(votes, result, **options) if kind.hooks.supports(KindHooks.page) else plain_page(votes, result)
    )
    course = [] if by_itself else training_section(result, history)
    sheet = replace(sheet, sections=[*sheet.sections, *course, *attached(folder)])
    return page.render(sheet, result, title=title, made=made)


def write(
    votes: Votes[Any],
    result: Result,
    path: str | Path,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
    title: str = "",
    made: str = "",
    level: Level | None = None,
    order: Sequence[Any] | None = None,
    folder: Path | None = None,
    error: float | None = None,
    force: bool = False,
) -> Path:
    """Write the page (see `render`) to a file; never over an existing one without `force`."""
    path = Path(path)
    refuse(path, force)
    page = render(votes, result, truth=truth, blind=blind, history=history, title=title, made=made, level=level,
                  order=order, folder=folder, error=error)  # fmt: skip
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def refuse(path: Path, force: bool) -> None:
    """Raise when the file is there already, unless told to go ahead."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file such as {path / 'report.html'}")
    if path.exists() and not force:
        raise DataError(f"{path} exists already; choose another name or say --force (force=True)")
