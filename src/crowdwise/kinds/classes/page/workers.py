"""The workers' rows and their confusion matrices, as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup

from ....core.result import Result
from ....report import svg
from ....report.text import percent, shown, span
from ....report.workers import flags_by_worker, most_telling
from ....workers.flags import Flag
from ....workers.studied import best_first
from ..annotations import Annotations
from ..workers.pairs import pair_table
from ..workers.study import Study

# ----------------------------------------------------------------
# Who agrees with whom: a heat map of pairs, and the tasks on which they differ.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Workers on the map; tasks that a pair differs on, in the data behind it; pairs listed without scripts, their tasks.
WORKERS = 40
TASKS = 20
LISTED, EXAMPLES = 10, 8


@dataclass(frozen=True)
class Pair:
    """Two workers, how often they met and agreed, and (task, first's label, second's, the crowd's, how sure)."""

    first: str
    second: str
    n_common: int
    agreement: float
    kappa: float | None
    tasks: list[tuple[str, str, str, str, str]]


@dataclass(frozen=True)
class Pairs:
    """The map, the pairs that agree least, the table behind both, and what the page's script looks up on a click."""

    drawing: Markup = svg.NOTHING
    workers: list[str] = field(default_factory=list)
    of: int = 0
    least: list[Pair] = field(default_factory=list)
    table: pl.DataFrame = field(default_factory=pl.DataFrame)
    data: dict[str, Any] = field(default_factory=dict)


def pairs(votes: Annotations, result: Result, flags: Sequence[Flag]) -> Pairs:
    """Pairs among the flagged and the busiest workers; empty where no two of them share five tasks."""
    chosen = _chosen(votes, flags)
    part = votes.take(np.isin(votes.worker, chosen))
    table = pair_table(part)
    of = int((votes.labels_per_worker > 0).sum())
    if not len(table):
        return Pairs(of=of, table=table)
    place = {name: i for i, name in enumerate(votes.workers.to_list())}
    ends = np.array([[place[a], place[b]] for a, b in table.select("first", "second").iter_rows()])
    order = _order(np.intersect1d(chosen, ends), ends, table["agreement"].to_numpy())
    at = {int(w): i for i, w in enumerate(order)}
    names = [shown(votes.workers[int(w)], 40) for w in order]
    m = len(order)
    values, tips, found = np.full((m, m), np.nan), [[""] * m for _ in range(m)], {}
    said = {int(w): _answers(votes, int(w)) for w in order}
    for (a, b), row in zip(ends.tolist(), table.to_dicts(), strict=True):
        i, j = sorted((at[a], at[b]), reverse=True)
        values[i, j] = row["agreement"]
        tips[i][j] = f"{names[i]} and {names[j]}: agree on {row['n_agree']:,} of {row['n_common']:,} common tasks"
        found[i, j] = (_differing(said[int(order[i])], said[int(order[j])], result), row)
    label = f"Heat map of how often {m} workers agree with each other; the stronger the colour, the more often"
    data = _data(votes, result, names, found)
    return Pairs(svg.heat(values, names, tips, label), names, of, _least(votes, result, names, found), table, data)


def _chosen(votes: Annotations, flags: Sequence[Flag]) -> I8:
    """Codes of the workers on the map: the flagged with their partners (at most half), then the busiest."""
    place = {name: i for i, name in enumerate(votes.workers.to_list())}
    grave = [w for flag in flags if flag.name != "unknown" for w in (flag.worker, *flag.partners)]
    first = [place[w] for w in dict.fromkeys(grave) if w in place][: WORKERS // 2]
    busy = np.argsort(-votes.labels_per_worker, kind="stable").tolist()
    chosen = [w for w in dict.fromkeys([*first, *busy]) if votes.labels_per_worker[w] > 0]
    return np.array(chosen[:WORKERS], dtype=np.int64)


def _order(workers: I8, ends: I8, agreement: F8) -> I8:
    """Workers who agree stand side by side: leaves of an average-linkage tree over their disagreement."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(workers) < 3:
        return workers
    at = np.searchsorted(workers, ends)
    distance = np.full((len(workers), len(workers)), 1 - agreement.mean())
    distance[at[:, 0], at[:, 1]] = distance[at[:, 1], at[:, 0]] = 1 - agreement
    np.fill_diagonal(distance, 0.0)
    return np.asarray(workers[leaves_list(linkage(squareform(distance), "average", optimal_ordering=True))])


def _answers(votes: Annotations, worker: int) -> tuple[I8, I8]:
    """Tasks and labels of one worker, each task once (their first answer where they gave several)."""
    rows = votes.worker_order[votes.worker_offsets[worker] : votes.worker_offsets[worker + 1]]
    task, first = np.unique(votes.task[rows], return_index=True)
    return task.astype(np.int64), votes.label[rows][first].astype(np.int64)


def _differing(a: tuple[I8, I8], b: tuple[I8, I8], result: Result) -> I8:
    """(task, a's label, b's label) where they differ, the tasks of which the crowd is surest first."""
    task, at_a, at_b = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
    mine, theirs = a[1][at_a], b[1][at_b]
    odd = np.flatnonzero(mine != theirs)
    odd = odd[np.argsort(-result.confidence[task[odd]], kind="stable")][:TASKS]
    return np.stack([task[odd], mine[odd], theirs[odd]], axis=1)


def _data(votes: Annotations, result: Result, names: list[str], found: dict[Any, Any]) -> dict[str, Any]:
    """What a click looks up: names once, pairs as numbers into them."""
    used = np.unique(np.concatenate([rows[:, 0] for rows, _ in found.values()] or [np.empty(0, dtype=np.int64)]))
    at = {int(t): i for i, t in enumerate(used)}
    return {
        "workers": names,
        "classes": [shown(c, 40) for c in votes.classes.to_list()],
        "tasks": [
            [shown(votes.tasks[int(t)]), int(result.labels[t]), percent(float(result.confidence[t]))] for t in used
        ],
        "pairs": {
            f"{i},{j}": [row["n_common"], row["n_agree"], [[at[t], a, b] for t, a, b in rows.tolist()]]
            for (i, j), (rows, row) in found.items()
        },
    }


def _least(votes: Annotations, result: Result, names: list[str], found: dict[Any, Any]) -> list[Pair]:
    """The pairs that agree least for the number of tasks they share (upper end of a rough interval)."""

    def bound(row: dict[str, Any]) -> float:
        n, p = row["n_common"], (row["n_agree"] + 2) / (row["n_common"] + 4)
        return float(p + 2 * np.sqrt(p * (1 - p) / (n + 4)))

    classes = [shown(c, 40) for c in votes.classes.to_list()]
    worst = sorted(found.items(), key=lambda item: bound(item[1][1]))[:LISTED]
    return [
        Pair(
            names[i], names[j], row["n_common"], row["agreement"], row["cohen_kappa"],
            [
                (shown(votes.tasks[t]), classes[a], classes[b], classes[int(result.labels[t])],
                 percent(float(result.confidence[t])))
                for t, a, b in rows[:EXAMPLES].tolist()
            ],
        )
        for (i, j), (rows, row) in worst
    ]  # fmt: skip


MATRICES, MORE = 12, 36
CLASSES = 24


@dataclass(frozen=True)
class Row:
    """A worker's numbers (`of`, by the names of the quality table), bar and flags."""

    worker: str
    of: dict[str, Any]
    bar: Markup
    flags: list[str]


@dataclass(frozen=True)
class Matrix:
    """A worker's confusion matrix with its caption."""

    worker: str
    caption: str
    drawing: Markup


def rows(look: Study) -> list[Row]:
    """Workers with labels, the best first; where there are too many, the flagged and the busiest."""
    flagged = flags_by_worker(look)
    out = []
    for row in best_first(most_telling(look, flagged)).to_dicts():
        bar = svg.interval(row["skill"], row["skill_low"], row["skill_high"], mark=row["gold_accuracy"])
        out.append(Row(shown(row["worker"]), row, bar, flagged.get(str(row["worker"]), [])))
    return out


def matrices(votes: Annotations, look: Study) -> list[Matrix]:
    """Small multiples, the most interesting first: the flagged, then those whose errors cost most labels."""
    k = votes.n_classes
    if not len(look.confusion) or k < 2:
        return []
    quality = look.quality
    wrong = (quality["n_labels"] * (1 - quality["skill"].fill_null(1.0))).to_numpy()
    grave = {str(flag.worker) for flag in look.flags if flag.name != "unknown"}
    names = quality["worker"].cast(pl.String).to_list()
    order = sorted(range(len(names)), key=lambda w: (names[w] not in grave, -wrong[w]))
    order = [w for w in order if quality["n_labels"][w] > 0][: MATRICES + MORE]
    cells = {name: look.confusion[name].to_numpy().reshape(-1, k, k) for name in ("p", "low", "high", "n_effective")}
    keep = np.sort(np.argsort(-np.bincount(votes.label, minlength=k), kind="stable")[:CLASSES])
    classes = [shown(c, 24) for c in votes.classes.gather(keep).cast(pl.String).to_list()]
    out = []
    for w in order:
        part = {name: table[w][np.ix_(keep, keep)] for name, table in cells.items()}
        tips = _tips(part, classes) if len(keep) <= 6 else None
        drawing = svg.matrix(part["p"], classes, _spoken(part["p"], names[w], classes), tips)
        caption = f"{quality['n_labels'][w]:,} labels"
        if quality["skill"][w] is not None:
            caption += f", skill {percent(quality['skill'][w])}"
        out.append(Matrix(shown(names[w], 30), caption, drawing))
    return out


def _tips(part: dict[str, Any], classes: list[str]) -> list[list[str]]:
    return [
        [
            f"{said} where {true} is true: {percent(part['p'][i, j])} "
            f"({span(part['low'][i, j], part['high'][i, j])}; n {part['n_effective'][i, j]:.0f})"
            for j, said in enumerate(classes)
        ]
        for i, true in enumerate(classes)
    ]


def _spoken(p: Any, worker: str, classes: list[str]) -> str:
    """The matrix in words: what the worker says most often where each class is true."""
    most = p.argmax(axis=1)
    said = [f"{true}: says {classes[most[i]]} {percent(p[i, most[i]])}" for i, true in enumerate(classes[:8])]
    return f"Confusion matrix of worker {shown(worker, 30)}. " + "; ".join(said)
