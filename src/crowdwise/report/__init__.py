"""The report: one HTML file that can be mailed, read offline, with scripts off, on a phone and on paper.

>>> import crowdwise as cw
>>> votes = cw.simulate.scenario("one_coin", tasks=60, workers=6, seed=1).annotations
>>> page = cw.report.render(votes, cw.MajorityVote().fit(votes))
>>> "need another vote" in page
True
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, unwritable

if TYPE_CHECKING:
    import polars as pl

    from ..core.result import Result
    from ..kinds.classes import Annotations
    from ..maths.agreement import Level

__all__ = ["render", "write"]


def render(
    annotations: Annotations,
    result: Result,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
    title: str = "",
    made: str = "",
    level: Level = "nominal",
    order: Sequence[Any] | None = None,
) -> str:
    """The page as a string.

    `truth` (a table task, label or a mapping) holds true labels of some tasks or all; they judge labels and workers.
    Where `result` was itself fitted with them as gold, `blind` is the same method's result without: it is judged in its
    place. `history` is a classifier's history (`history_.to_table()`); `title` and `made` (a date) head the page;
    `level` and `order` grade the agreement (see `workers.agreement`).
    """
    from . import page
    from .build import build

    view = build(annotations, result, truth=truth, blind=blind, history=history, title=title, made=made, level=level,
                 order=order)  # fmt: skip
    return page.render(view)


def write(
    annotations: Annotations,
    result: Result,
    path: str | Path,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
    title: str = "",
    made: str = "",
    level: Level = "nominal",
    order: Sequence[Any] | None = None,
    force: bool = False,
) -> Path:
    """Write the page (see `render`) to a file; never over an existing one without `force`."""
    path = Path(path)
    refuse(path, force)
    page = render(annotations, result, truth=truth, blind=blind, history=history, title=title, made=made, level=level,
                  order=order)  # fmt: skip
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
