"""Disagreement: of a run without one truth, how people divide, task by task and group by group."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...core.errors import CrowdwiseError
from ...core.result import Result
from ...core.side_tables import column_by
from ...judges.soft import LEVEL, Soft, soft
from ...kinds.classes.annotations import Annotations
from .. import svg
from ..page import fragment
from ..sheet import Section
from ..text import number, shown

Tables = list[tuple[str, str, pl.DataFrame]]
# Tasks, columns about raters, groups in a column, and classes that are shown.
TASKS, COLUMNS, GROUPS, CLASSES = 20, 3, 12, 6
_ASSUMED = (
    "Assumption: nobody is wrong; raters are a sample of those whose view counts, and the labels of a rater belong "
    "together (raters are permuted, never rows)."
)


def disagreement_section(votes: Annotations, result: Result) -> tuple[list[Section], Tables]:
    """The section of a subjective run and its tables for download; nothing of other runs."""
    if not result.extra.get("subjective"):
        return [], []
    found = [(column, _of(votes, column)) for column in _columns(votes)]
    groups = [(column, each) for column, each in found if each is not None]
    plain = groups[0][1] if groups else soft(votes)
    view = {
        "assumed": _ASSUMED, "scores": plain.scores, "classes": [shown(c, 30) for c in result.classes[:CLASSES]],
        "rows": _divided(result), "judges": plain.scores.judges.sort("log_loss").head(TASKS).to_dicts(),
        "groups": [_group(votes, column, each) for column, each in groups],
    }  # fmt: skip
    body = fragment("judges/disagreement.html.j2", **view)
    tables: Tables = []
    for column, each in groups:
        if each.groups is not None and each.tasks is not None:
            tables += [(f"groups_{column}.csv", f"groups of raters by {column}", each.groups),
                       (f"tasks_{column}.csv", f"tasks that divide groups by {column}", each.tasks)]  # fmt: skip
    return [Section("disagreement", "Disagreement", "Disagreement", body)], tables


def _columns(votes: Annotations) -> list[str]:
    """Columns about the workers that put them into a few groups."""
    table = votes.about_workers
    out = []
    for name in [] if table is None else table.columns[1:]:
        column = column_by(table, name, votes.workers)
        if name != "kind" and column is not None and 2 <= column.drop_nulls().n_unique() <= GROUPS:
            out.append(name)
    return out[:COLUMNS]


def _of(votes: Annotations, column: str) -> Soft | None:
    """The study of one column; none where its groups are too small."""
    try:
        return soft(votes, column)
    except CrowdwiseError:
        return None


def _divided(result: Result) -> list[dict[str, Any]]:
    """The tasks on which people are most of two minds."""
    p = np.maximum(result.posterior, 1e-300)
    entropy = np.where(result.labels_per_task > 1, -(p * np.log(p)).sum(axis=1), -1)
    top = [int(t) for t in np.argsort(-entropy, kind="stable")[:TASKS] if entropy[t] >= 0]
    return [
        {
            "task": shown(result.tasks[t], 80), "raters": int(result.labels_per_task[t]),
            "shares": [{"text": number(s), "bar": svg.interval(float(s), 0.0, float(s))}
                       for s in result.posterior[t, :CLASSES]],
        }
        for t in top
    ]  # fmt: skip


def _group(votes: Annotations, column: str, found: Soft) -> dict[str, Any]:
    assert found.groups is not None
    assert found.tasks is not None
    shares = _shares(votes, column)
    rows = found.groups.sort("group", "class").head(4 * TASKS).to_dicts()
    shown_rows = []
    for row in rows:
        share = shares.get((row["group"], row["class"]))  # of a mean there is none
        bar = "" if share is None else svg.interval(share, 0.0, share)
        names = {"group": shown(row["group"], 60), "class": shown(row["class"], 40)}
        shown_rows.append(row | names | {"share": share, "bar": bar})
    split = found.tasks.filter(pl.col("p_adjusted") <= LEVEL)["task"].unique()
    return {
        "column": shown(column, 60), "rows": shown_rows, "divide": len(split),
        "tasks": found.tasks["task"].n_unique(),
        "level": LEVEL,
    }  # fmt: skip


def _shares(votes: Annotations, column: str) -> dict[tuple[str, str], float]:
    """How often each group says each class."""
    names = column_by(votes.about_workers, column, votes.workers)
    assert names is not None
    rows = pl.DataFrame({
        "group": names.cast(pl.String).gather(votes.worker), "class": votes.classes.cast(pl.String).gather(votes.label),
    }).drop_nulls()  # fmt: skip
    counted = (
        rows.group_by("group", "class").len().with_columns(share=pl.col("len") / pl.col("len").sum().over("group"))
    )
    return {(group, each): share for group, each, share in counted.select("group", "class", "share").iter_rows()}
