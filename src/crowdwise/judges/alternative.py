"""May a judge replace a person? The alternative-annotator test, for all tasks and for each class.

For each person the judge and the person are compared with the other people, task by task: W_f, the judge agrees with
them at least as well; W_j, the person does. One-sided t-test of mean(W_f - W_j) > -eps, Benjamini-Yekutieli over
people; a judge who matches at least half of them passes. Who always says the common class passes over all tasks, so it
is demanded in each class too. Calderon, Reichart & Dror (2025), arXiv:2501.10970.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.order import offsets
from ..kinds.classes.methods.judges import Voices
from ..stats.logspace import segment_sum

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

COST = 0.1
LEVEL = 0.05
MIN_TASKS = 30


def alternative_table(said: Voices, people: Mask, workers: pl.Series, classes: pl.Series) -> pl.DataFrame:
    """A row a judge and class ("all" first): people who could be compared, share matched, passes, recall."""
    if not people.any():
        return pl.DataFrame([], schema=_SCHEMA)
    at = offsets(said.task.astype(np.int32), said.n_tasks)
    everybody = segment_sum(said.share * people[said.judge][:, None], at)  # task, class: people's voices
    rows = []
    for judge in np.flatnonzero(~people).tolist():
        own = np.flatnonzero(said.judge == judge)
        verdict = np.zeros((said.n_tasks, said.share.shape[1]))
        verdict[said.task[own]] = said.share[own]
        seen = np.zeros(said.n_tasks, dtype=bool)
        seen[said.task[own]] = True
        compared = [_person(said, p, everybody, verdict, seen) for p in np.flatnonzero(people).tolist()]
        recall = _recall(everybody, verdict, seen)
        for k, name in [(-1, "all"), *enumerate(map(str, classes.cast(pl.String)))]:
            rows.append({"judge": str(workers[int(judge)]), "class": name} | _verdict(compared, k) | _told(recall, k))
    return pl.DataFrame(rows, schema=_SCHEMA)


_SCHEMA: dict[str, Any] = {
    "judge": pl.String, "class": pl.String, "people": pl.Int64, "matched": pl.Float64, "passes": pl.Boolean,
    "recall": pl.Float64,
}  # fmt: skip


def _person(said: Voices, person: int, everybody: F8, verdict: F8, seen: Mask) -> tuple[F8, I8]:
    """W_f - W_j and the class that the other people say, of each task that can be compared."""
    own = np.flatnonzero(said.judge == person)
    own = own[seen[said.task[own]]]
    task, mine = said.task[own], said.share[own]
    others = everybody[task] - mine
    some = others.sum(axis=1) > 1e-9
    task, mine, others = task[some], mine[some], others[some] / others[some].sum(axis=1, keepdims=True)
    judge, self_ = (verdict[task] * others).sum(axis=1), (mine * others).sum(axis=1)
    won = (judge >= self_ - 1e-12).astype(np.float64) - (self_ >= judge - 1e-12)
    return won, np.asarray(others.argmax(axis=1), dtype=np.int64)


def _verdict(compared: list[tuple[F8, I8]], k: int) -> dict[str, Any]:
    from scipy.stats import t

    p = []
    for won, of in compared:
        d = won if k < 0 else won[of == k]
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


def _recall(everybody: F8, verdict: F8, seen: Mask) -> F8:
    """recall[class] of the judge against the majority of people, and over all tasks at the end."""
    total = everybody.sum(axis=1)
    use = np.flatnonzero(seen & (total > 0))
    true = everybody[use].argmax(axis=1)
    hit = verdict[use, true]
    k = everybody.shape[1]
    n = np.bincount(true, minlength=k)
    per_class = np.where(n > 0, np.bincount(true, weights=hit, minlength=k) / np.maximum(n, 1), np.nan)
    return np.append(per_class, hit.mean() if len(hit) else np.nan)


def _told(recall: F8, k: int) -> dict[str, Any]:
    value = float(recall[k])
    return {"recall": None if np.isnan(value) else value}
