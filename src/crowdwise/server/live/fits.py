"""Background fit: the project's method on the answers at an event of the log."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.result import Result
from ...evaluation.calibration import by_task, task_confidence
from ...evaluation.statement import Trust
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.methods.requirements import too_sparse
from ...kinds.classes.workers import dependence as colluders
from ...kinds.classes.workers import quality as spammers
from ...kinds.classes.workers.coaching import coachable_of
from ...kinds.classes.workers.judgement import Judgement
from ...workers.flags import Flag
from ..config import Config
from .baseline import Arrays, text
from .flags import flagged, groups_of
from .gold import usable
from .state import Live
from .statement import fit_calibrated, statement
from .votes import votes_of

Codes = npt.NDArray[np.integer[Any]]
# Labels per class and worker below which confusion matrices are uninformative, as in workers.study.
_FEWEST = 8
# Number of answers up to which every fit includes a forecast of more votes; above it, only fits with flags.
PLANNED = 20_000
# A class code in the evidence of a flag, which is replaced by its name.
_CODE = re.compile(r"'(\d{4})'")


@dataclass(frozen=True)
class FitInput:
    """The counted answers at an event: codes if they are classes, else rows (task, worker, answer, payload) in
    `answers`. Tasks in `gold`, and those with randomly drawn gold in `checked`, are codes or names accordingly."""

    config: Config
    n_tasks: int
    task: Codes
    worker: Codes
    label: Codes
    gold: dict[Any, Any]
    answers: Any = None
    names: tuple[str, ...] = ()
    checked: tuple[Any, ...] = ()


def rows_of(live: Live, answers: Callable[[int], Any] | None = None) -> FitInput:
    """The current answers as input of a fit."""
    # A copy for the duration of the fit, so with few bytes per answer.
    task, worker, label = (x.astype(np.int32) for x in live.session.model.answer_lists.rows()[:3])
    given = answers(live.last) if answers is not None and not live.config.sure else None
    if live.excluded:
        kept = ~np.isin(task, sorted(live.excluded))
        task, worker, label = task[kept], worker[kept], label[kept]
        if given is not None:
            given = without_excluded(live, given)
    names = tuple(entry.name for entry in live.crowd.workers)
    gold: dict[Any, Any] = dict(live.gold)
    checked: tuple[Any, ...] = tuple(sorted(live.checks.done))
    if not live.config.sure:
        tasks = live.crowd.tasks
        gold, checked = {tasks[t]: answer for t, answer in gold.items()}, tuple(tasks[t] for t in checked)
    return FitInput(live.config, len(live.crowd.tasks), task, worker, label, gold, given, names, checked)


def without_excluded(live: Live, rows: list[Any]) -> list[Any]:
    """The rows of `answers_at` without those of excluded tasks."""
    gone = {live.crowd.tasks[code] for code in live.excluded}
    return [row for row in rows if row[0] not in gone]


def fit_arrays(rows: FitInput, *, flags: bool = True) -> Arrays:
    """The result of the method as arrays for the database: posterior[task, class], or a JSON text. With `flags`, also
    flags of workers, which takes ten times as long in a large project."""
    if rows.config.sure:
        return _classes(rows, flags)
    answers = rows.answers or []
    votes = votes_of(rows.config, answers)
    shown = {row[0]: row[3] for row in answers}
    gold, unused = usable(rows.config.kind, rows.gold, rows.checked, shown)
    result = fit_calibrated(votes, rows.config.method, gold, set(rows.checked))
    level, stated = statement(votes, result, (), plan=True, unused=unused)
    table = [_plain(row) for row in result.to_table().to_dicts()]
    if isinstance(level, Trust):
        judged = by_task(result, level)
        for row, sure, ships in zip(table, judged.confidence, judged.ships, strict=True):
            row |= {"can_ship": ships[0]} if judged.single else {"sure": sure, "can_ship": ships}
        stated["confidence"] = dict(zip(result.tasks.to_list(), _finite(task_confidence(result)), strict=True))
    more = flagged(votes, result, rows.names) if flags else {}
    return {"json": text({"tasks": {row.pop("task"): row for row in table}} | stated | more)}


def _finite(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold: no NaN, no objects."""
    kept = {k: v for k, v in row.items() if not (isinstance(v, float) and not np.isfinite(v))}
    return {k: v if isinstance(v, str | int | float | bool | list) or v is None else str(v) for k, v in kept.items()}


def _classes(rows: FitInput, flags: bool) -> Arrays:
    """posterior[task, class], NaN for tasks without answers; which labels can ship; and the summary for the lead."""
    k = len(rows.config.classes)
    out, ships = np.full((rows.n_tasks, k), np.nan), np.zeros(rows.n_tasks, dtype=bool)
    if not len(rows.task):
        return {"posterior": out, "ships": ships, "json": text({})}
    names = [f"{i:04d}" for i in range(k)]
    order = names if rows.config.kind == "ordered" else None
    label = np.array(names)[rows.label]
    votes = Annotations.from_arrays(rows.task, rows.worker, label, classes=names, order=order)
    place = {name: code for code, name in enumerate(rows.config.classes)}
    answered = np.bincount(rows.task, minlength=rows.n_tasks) > 0
    gold = {task: names[place[answer]] for task, answer in rows.gold.items() if answered[task]} or None
    result = fit_calibrated(votes, rows.config.method, gold, set(rows.checked))
    tasks = votes.tasks.to_numpy()
    out[tasks] = result.posterior
    level, stated = statement(votes, result, rows.names, plan=flags or len(rows.task) <= PLANNED)
    assert isinstance(level, Trust)
    ships[tasks] = level.ships
    more = {"agreement": _agreement(rows, k), "skill": _skills(result), "given": sorted(gold or {})} | stated
    more |= _flags(votes, result, rows) if flags else {}
    return {"posterior": out, "ships": ships, "json": text(more)}


def _skills(result: Result) -> dict[str, list[float]]:
    """Skill with its interval by the code of the worker."""
    ends = result.worker_table().select("worker", "skill_low", "skill", "skill_high").iter_rows()
    return {str(worker): [low, mean, high] for worker, low, mean, high in ends if np.isfinite([low, mean, high]).all()}


def _flags(votes: Annotations, result: Result, rows: FitInput) -> dict[str, Any]:
    """Flags with their evidence by the code of the worker, and groups of names of workers who copy each other."""
    classes = rows.config.classes
    flags: dict[str, list[dict[str, str]]] = {}
    together: list[Flag] = []
    if not too_sparse(votes, _FEWEST):
        judgement = Judgement(votes, result)
        together = colluders.flags_of(judgement)
        for flag in [*spammers.flags_of(judgement), *together, *coachable_of(judgement)]:
            words = _CODE.sub(lambda code: repr(classes[int(code[1])]), flag.evidence)
            if flag.partners:
                words = words.replace(f"as {flag.partners[0]} ", f"as {rows.names[flag.partners[0]]} ", 1)
            flags.setdefault(str(flag.worker), []).append({"flag": flag.name, "evidence": words})
    groups = [sorted(rows.names[code] for code in group) for group in groups_of(together)]
    return {"flags": flags, "groups": groups}


def _agreement(rows: FitInput, k: int) -> float | None:
    """The share of pairs of answers to one task that agree."""
    cell = rows.task.astype(np.int64) * k + rows.label
    n = np.bincount(cell, minlength=rows.n_tasks * k).reshape(rows.n_tasks, k).astype(float)
    total = n.sum(axis=1)
    pairs = float((total * (total - 1)).sum())
    return float((n * (n - 1)).sum()) / pairs if pairs else None
