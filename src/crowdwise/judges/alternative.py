"""The alternative-annotator test: may a judge replace a person? Over all tasks and for each class.

For each person, the judge and the person are compared with the other people, task by task: W_f is 1 where the judge
agrees with them at least as well as the person, W_j where the person agrees at least as well as the judge. One-sided
t-test of mean(W_f - W_j) > -eps, Benjamini-Yekutieli over people; a judge who matches at least half of them passes. A
judge that always gives the most common class can pass over all tasks, so each class is tested too. Calderon, Reichart &
Dror (2025), arXiv:2501.10970.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..core.arrays import F8, I8, Mask
from ..core.order import offsets
from ..kinds.classes.methods.judges import JudgeVerdicts
from ..stats.logspace import segment_sum

COST = 0.1
LEVEL = 0.05
MIN_TASKS = 30


def alternative_table(verdicts: JudgeVerdicts, people: Mask, workers: pl.Series, classes: pl.Series) -> pl.DataFrame:
    """Table with a row per judge and class ("all" first): number of people compared, share matched, passes, recall."""
    if not people.any():
        return pl.DataFrame([], schema=_SCHEMA)
    at = offsets(verdicts.task.astype(np.int32), verdicts.n_tasks)
    people_share = segment_sum(verdicts.share * people[verdicts.judge][:, None], at)  # task, class: people's labels
    rows = []
    for judge in np.flatnonzero(~people).tolist():
        rows_of_judge = np.flatnonzero(verdicts.judge == judge)
        judge_share = np.zeros((verdicts.n_tasks, verdicts.share.shape[1]))
        judge_share[verdicts.task[rows_of_judge]] = verdicts.share[rows_of_judge]
        is_judged = np.zeros(verdicts.n_tasks, dtype=bool)
        is_judged[verdicts.task[rows_of_judge]] = True
        compared = [_person(verdicts, p, people_share, judge_share, is_judged) for p in np.flatnonzero(people).tolist()]
        recall = _recall(people_share, judge_share, is_judged)
        for k, name in [(-1, "all"), *enumerate(map(str, classes.cast(pl.String)))]:
            rows.append(
                {"judge": str(workers[int(judge)]), "class": name} | _verdict(compared, k) | _recall_entry(recall, k)
            )
    return pl.DataFrame(rows, schema=_SCHEMA)


_SCHEMA: dict[str, Any] = {
    "judge": pl.String, "class": pl.String, "people": pl.Int64, "matched": pl.Float64, "passes": pl.Boolean,
    "recall": pl.Float64,
}  # fmt: skip


def _person(verdicts: JudgeVerdicts, person: int, people_share: F8, judge_share: F8, is_judged: Mask) -> tuple[F8, I8]:
    """W_f - W_j and the majority class of the other people, for each comparable task."""
    rows = np.flatnonzero(verdicts.judge == person)
    rows = rows[is_judged[verdicts.task[rows]]]
    task, own_share = verdicts.task[rows], verdicts.share[rows]
    others = people_share[task] - own_share
    has_others = others.sum(axis=1) > 1e-9
    task, own_share, others = task[has_others], own_share[has_others], others[has_others]
    others = others / others.sum(axis=1, keepdims=True)
    judge, self_ = (judge_share[task] * others).sum(axis=1), (own_share * others).sum(axis=1)
    advantage = (judge >= self_ - 1e-12).astype(np.float64) - (self_ >= judge - 1e-12)
    return advantage, np.asarray(others.argmax(axis=1), dtype=np.int64)


def _verdict(compared: list[tuple[F8, I8]], k: int) -> dict[str, Any]:
    from scipy.stats import t

    p = []
    for won, majority in compared:
        d = won if k < 0 else won[majority == k]
        n = len(d)
        if n < MIN_TASKS:
            continue
        spread = d.std(ddof=1) / np.sqrt(n)
        z = (d.mean() + COST) / spread if spread > 0 else np.inf * np.sign(d.mean() + COST)
        p.append(float(t.sf(z, n - 1)))
    if not p:
        return {"people": 0, "matched": None, "passes": None}
    order, m = np.sort(p), len(p)
    harmonic = (1 / np.arange(1, m + 1)).sum()
    below = np.flatnonzero(order <= LEVEL * np.arange(1, m + 1) / (m * harmonic))
    matched = (below[-1] + 1) / m if len(below) else 0.0
    return {"people": m, "matched": float(matched), "passes": bool(matched >= 0.5)}


def _recall(people_share: F8, judge_share: F8, is_judged: Mask) -> F8:
    """recall[class] of the judge against the majority of people, with that over all tasks at the end."""
    total = people_share.sum(axis=1)
    use = np.flatnonzero(is_judged & (total > 0))
    true = people_share[use].argmax(axis=1)
    hit = judge_share[use, true]
    k = people_share.shape[1]
    n = np.bincount(true, minlength=k)
    per_class = np.where(n > 0, np.bincount(true, weights=hit, minlength=k) / np.maximum(n, 1), np.nan)
    return np.append(per_class, hit.mean() if len(hit) else np.nan)


def _recall_entry(recall: F8, k: int) -> dict[str, Any]:
    value = float(recall[k])
    return {"recall": None if np.isnan(value) else value}
