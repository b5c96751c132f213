"""The report: one self-contained HTML file that works offline, without scripts, on phones and on paper.

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
from ..core.progress import watching

if TYPE_CHECKING:
    import polars as pl

    from ..core.result import Result
    from ..core.votes import Votes
    from ..stats.agreement import Level

__all__ = ["render", "write"]


@watching("report")
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
    """Render the report as HTML, for any kind of answers.

    Args:
        votes: The votes.
        result: A result of these votes.
        truth: Table task, label or mapping with true answers of some tasks, used to judge answers and workers.
        blind: Result of the same method without gold, if `result` was fitted with `truth` as gold; it is judged
            instead.
        history: History of a classifier (`history_.to_table()`).
        title: Title of the page.
        made: Date shown on the page.
        level: Measurement level of the agreement of classes (see `workers.agreement`).
        order: Order of the classes.
        folder: Run folder; sections are added for what estimate, accept and fairness left there.
        error: Share of wrong labels that may ship; by default that of the run, else 0.05.

    Returns:
        The page.
    """
    from ..evaluation.statement import at_error
    from ..kinds.classes.page.over_time import has_training_section, training_section
    from . import page
    from .page import attached
    from .plain_page import plain_page

    result = result if error is None else at_error(result, error)
    in_kind_page = has_training_section(result)
    extra_options = {"history": history if in_kind_page else None, "level": level, "order": order}
    options = {
        "truth": truth,
        "blind": blind,
        **{name: value for name, value in extra_options.items() if value is not None},
    }
    kind = result.kind
    if votes.kind is not kind:
        raise DataError(f"the result is of {kind.display_name}, but the votes are {votes.kind.display_name}")
    sheet = (
        kind.hooks.page(votes, result, **options) if kind.hooks.supports(KindHooks.page) else plain_page(votes, result)
    )
    training = [] if in_kind_page else training_section(result, history)
    sheet = replace(sheet, sections=[*sheet.sections, *training, *attached(folder)])
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
    """Write the report (see `render`) to a file.

    Args:
        votes: The votes.
        result: A result of these votes.
        path: File to write.
        truth: See `render`.
        blind: See `render`.
        history: See `render`.
        title: See `render`.
        made: See `render`.
        level: See `render`.
        order: See `render`.
        folder: See `render`.
        error: See `render`.
        force: Overwrite an existing file.

    Returns:
        The path.

    Raises:
        DataError: If the file exists and `force` is not set, or it cannot be written.
    """
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
    """Raise if the file exists, unless `force` is set."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file such as {path / 'report.html'}")
    if path.exists() and not force:
        raise DataError(f"{path} exists already; choose another name or say --force (force=True)")
