"""What is in votes of label sets, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Coder
from ...core.describe import common
from ...core.errors import DataError, ParameterError
from ...core.intake.coding import encode
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.kind import Kind
from ...core.vocabulary import as_series, quote, sorted_vocabulary
from ...core.votes import Votes
from ..hooks import DecidedHooks
from .answers import Sets, lists_of

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerPicture
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]

# Pairs of answers to one task that are looked at.
PAIRS = 200_000


def describe_sets(votes: Votes[Sets]) -> dict[str, Any]:
    """Of sets also: how often each class was said, how large answers are, how often two of them are the same."""
    answers = votes.answers
    sizes = answers.sizes
    counts = np.bincount(answers.code, minlength=len(answers.classes))
    i, j = _pairs(votes)
    apart = answers.distance(i, j)
    offered = None if answers.menus is None or answers.menu is None else answers.menus[answers.menu].sum(axis=1)
    return {
        **common(votes),
        "classes": len(answers.classes),
        "class_counts": dict(zip(answers.classes.to_list(), counts.tolist(), strict=True)),
        "classes_per_answer": float(sizes.mean()) if len(sizes) else 0.0,
        "largest_answer": int(sizes.max()) if len(sizes) else 0,
        "empty_answers": int((sizes == 0).sum()),
        "offered": None if offered is None or not len(offered) else float(offered.mean()),
        "equal_pairs": float((apart == 0).mean()) if len(apart) else None,
        "mean_masi_distance": float(apart.mean()) if len(apart) else None,
    }


def _pairs(votes: Votes[Sets]) -> tuple[Any, Any]:
    """Every answer with the next one of its task, and the next but one, as far as PAIRS go."""
    rows = np.arange(len(votes))
    out: list[Any] = []
    for step in (1, 2):
        near = rows[:-step][votes.task[:-step] == votes.task[step:]] if len(rows) > step else rows[:0]
        out.append((near, near + step))
    i, j = (np.concatenate(side)[:PAIRS] for side in zip(*out, strict=True))
    return i, j


# ----------------------------------------------------------------
# Label sets as answers: several classes at once, or none.

Mask = npt.NDArray[np.bool_]
# Names of a column of sets, best first.
NAMES = "labels label_set tags"
UNKNOWN = "class not in the given classes"


class SetCoder(Coder):
    """A column of sets and, where there is one, of what was `offered`; `classes` are all there may be."""

    def __init__(self, columns: dict[str, Any], *, classes: Any = None, unknown_classes: str = "error") -> None:
        if "labels" not in columns:
            raise DataError("label sets need a column `labels`; name it: --columns labels=NAME")
        if unknown_classes not in ("error", "drop"):
            raise ParameterError(f"unknown_classes must be error or drop, got {unknown_classes!r}")
        self.said = lists_of(columns.pop("labels"), "labels")
        menus = columns.pop("offered", None)
        self.menus = None if menus is None else lists_of(menus, "offered")
        if self.menus is not None and len(self.menus) != len(self.said):
            raise DataError(f"labels has {len(self.said)} rows but offered has {len(self.menus)}")
        given = (
            None if classes is None else sorted_vocabulary(as_series(list(classes), "label").cast(pl.String), "label")
        )
        self.given, self.policy = given, unknown_classes

    def __len__(self) -> int:
        return len(self.said)

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without an answer; an empty list is one."""
        return self.said.null

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these texts for no answer."""
        return self.said.without(names)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Rows whose classes are all given, and were offered to them."""
        strange = set() if self.given is None else self.said.names() - set(self.given.to_list())
        if strange and self.policy == "error":
            raise DataError(
                f"{len(strange)} classes are not among the given ones: {quote(sorted(strange))}; add them or drop "
                "their rows with unknown_classes='drop'"
            )
        if not strange:
            return None
        bad = np.array([*(bool(strange & set(each)) for each in self.said.lists), False])
        ok = np.asarray(~bad[self.said.code])
        dropped[UNKNOWN] = int((keep & ~ok).sum())
        return ok

    def finish(self) -> Sets:
        """The sets as codes."""
        names = self.said.names() if self.given is None else set(self.given.to_list())
        if self.menus is not None and self.given is None:
            names |= self.menus.names()
        classes = pl.Series("label", sorted(names), dtype=pl.String)
        codes = {name: i for i, name in enumerate(classes.to_list())}
        start, code = self.said.rows(codes)
        if self.menus is None:
            return Sets(start, code, classes)
        menus = np.zeros((len(self.menus.lists) + 1, len(classes)), dtype=bool)
        for i, each in enumerate(self.menus.lists):
            menus[i, [codes[name] for name in each if name in codes]] = True
        menus[-1] = True  # rows that do not say what was offered were offered everything
        found = Sets(start, code, classes, np.where(self.menus.code < 0, len(menus) - 1, self.menus.code), menus)
        self._refuse_what_was_not_offered(found)
        return found

    def _refuse_what_was_not_offered(self, found: Sets) -> None:
        assert found.menus is not None
        assert found.menu is not None
        row = found.row
        bad = np.flatnonzero(~found.menus[found.menu[row], found.code])
        if len(bad):
            at, name = int(row[bad[0]]), found.classes[int(found.code[bad[0]])]
            raise DataError(
                f"row {at + 1} names {name!r}, which was not offered to them (and {len(bad) - 1:,} more); correct the "
                "column offered"
            )


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """The column of sets in a header, and that of what was offered."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    for name in NAMES.split():
        if name in plain:
            return {"labels": plain[name]} | ({"offered": plain["offered"]} if "offered" in plain else {})
    return None


def claims(answers: pl.Series) -> str:
    """Why answers are sets: all of them are JSON lists of names."""
    if answers.dtype != pl.String:
        return ""
    for text in answers.drop_nulls().unique(maintain_order=True).head(200).to_list():
        if not text.strip():
            continue
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            return ""
    return "lists of names in JSON" if len(answers.drop_nulls()) else ""


def fits(column: pl.Series) -> bool:
    """Whether a column holds sets: lists, in JSON or as such, or names with a bar between them."""
    if isinstance(column.dtype, pl.List):
        return True
    if column.dtype != pl.String:
        return False
    plain = column.str.strip_chars()
    return bool((plain.str.starts_with("[") | plain.str.contains("|", literal=True)).any())


def set_votes(
    task: Any,
    worker: Any,
    labels: Any,
    *,
    offered: Any = None,
    classes: Any = None,
    unknown_classes: str = "error",
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Sets]:
    """Votes from equally long columns: `labels` holds lists (or sets) of classes, JSON lists, or texts like a|b.

    `offered` is what could be chosen: a column of lists, or a mapping from tasks to lists; by default all classes. A
    class that was not offered was not denied.

    >>> set_votes([1, 1, 2], ["ann", "bob", "ann"], [["news", "sport"], ["news"], []])
    Votes(3 label sets, 2 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "labels": labels, **numbers}
    if isinstance(offered, Mapping):
        columns["offered"] = offered_to(as_series(task, "task"), offered)
    elif offered is not None:
        columns["offered"] = offered
    coder = partial(SetCoder, classes=classes, unknown_classes=unknown_classes)
    return Votes._of(encode(columns, coder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing))


def offered_to(task: pl.Series, offered: Mapping[Any, Any]) -> list[Any]:
    """What was offered in each row, by its task."""
    by_name = {str(name): what for name, what in offered.items()}
    return [by_name.get(name) for name in task.cast(pl.String).to_list()]


def as_sets(votes: Any) -> Votes[Sets]:
    """Votes of sets as they are, a table task, worker, labels as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Sets):
            return votes
        raise DataError(
            f"label sets are needed, got {votes.kind.people}; read the file with kind='sets' (--kind sets), or take a "
            "method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.set_votes(task, worker, labels)")
    frame = to_polars(votes)
    found = dict(told_by(frame.columns) or {"labels": "label"})
    picked, _ = pick(frame, found, "the frame", (), ("task", "worker", *found))
    return set_votes(picked.pop("task"), picked.pop("worker"), picked.pop("labels"), **picked)


class SetHooks(DecidedHooks):
    """What the other packages do for label sets."""

    display_name = "label sets"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import SetPosterior, SetWorkers

        return SetPosterior, SetWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .kind import describe_sets

        return describe_sets(votes)

    def model(self, result: Result) -> Model[Any] | None:
        from .fitting import model_of

        return model_of(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .fitting import infer

        return infer(result, votes, unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def decisions(self) -> Decided:
        from .fitting import decided

        return decided()

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from .scoring import sentences

        return sentences(votes, result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from ...workers.tables import set_rows

        return set_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring import show

        return show(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring import inspect

        return inspect(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_sets

        return self.call(study_sets, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_sets

        return flag_sets(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import set_page

        return self.call(set_page, votes, result, **options)

    def read_truth_file(self, path: Path, missing: Sequence[str]) -> pl.DataFrame:
        from .reading import read_set_truth

        return read_set_truth(path, missing=missing)

    def offered(self, tasks: Any, offered: Any) -> list[Any]:
        from .reading import offered_in

        return offered_in(tasks, offered)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        from .answers import distance

        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .scoring import said

        return said(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .workers import known

        return known(votes, gold)


KIND = Kind(
    name="sets",
    hooks=SetHooks(),
    columns={"labels": NAMES},
    coder=SetCoder,
    default="joint_sets",
    answers_word="label sets",
    told_by=told_by,
    more_roles=("offered",),
    fits=fits,
    claims=claims,
)
