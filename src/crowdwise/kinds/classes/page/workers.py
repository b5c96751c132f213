"""Tables, confusion matrices and pairs of workers for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ....core.arrays import F8, I8
from ....core.result import Result
from ....report import svg
from ....report.text import percent, shown, span
from ....report.workers import flags_by_worker, workers_to_show
from ....workers.flags import Flag
from ....workers.studied import best_first
from ..annotations import Annotations
from ..workers.pairs import pair_table
from ..workers.study import Study

# ----------------------------------------------------------------
# Agreement of pairs: a heat map, and the tasks on which they differ.


# Workers on the map; differing tasks per pair in its data; pairs that are listed without scripts, and their tasks.
WORKERS = 40
TASKS = 20
LISTED, EXAMPLES = 10, 8


@dataclass(frozen=True)
class PairSummary:
    """Agreement of two workers, and the tasks on which they differ: (task, first's label, second's, estimate,
    confidence)."""

    first: str
    second: str
    n_common: int
    agreement: float
    kappa: float | None
    tasks: list[tuple[str, str, str, str, str]]


@dataclass(frozen=True)
class PairMap:
    """The map, the pairs that agree least, the underlying table, and the data used by the page's script."""

    drawing: Markup = svg.NOTHING
    workers: list[str] = field(default_factory=list)
    of: int = 0
    least: list[PairSummary] = field(default_factory=list)
    table: pl.DataFrame = field(default_factory=pl.DataFrame)
    data: dict[str, Any] = field(default_factory=dict)


def pairs(votes: Annotations, result: Result, flags: Sequence[Flag]) -> PairMap:
    """Compute the map of the flagged and the busiest workers; empty if no two of them share five tasks."""
    chosen = _chosen(votes, flags)
    chosen_votes = votes.take(np.isin(votes.worker, chosen))
    table = pair_table(chosen_votes)
    n_workers = int((votes.labels_per_worker > 0).sum())
    if not len(table):
        return PairMap(of=n_workers, table=table)
    worker_index = {name: i for i, name in enumerate(votes.workers.to_list())}
    ends = np.array([[worker_index[a], worker_index[b]] for a, b in table.select("first", "second").iter_rows()])
    order = _order(np.intersect1d(chosen, ends), ends, table["agreement"].to_numpy())
    at = {int(w): i for i, w in enumerate(order)}
    names = [shown(votes.workers[int(w)], 40) for w in order]
    m = len(order)
    values, tips, differences = np.full((m, m), np.nan), [[""] * m for _ in range(m)], {}
    answers = {int(w): _answers(votes, int(w)) for w in order}
    for (a, b), row in zip(ends.tolist(), table.to_dicts(), strict=True):
        i, j = sorted((at[a], at[b]), reverse=True)
        values[i, j] = row["agreement"]
        tips[i][j] = f"{names[i]} and {names[j]}: agree on {row['n_agree']:,} of {row['n_common']:,} common tasks"
        differences[i, j] = (_differing(answers[int(order[i])], answers[int(order[j])], result), row)
    label = f"Heat map of how often {m} workers agree with each other; the stronger the colour, the more often"
    data = _data(votes, result, names, differences)
    return PairMap(
        svg.heat(values, names, tips, label), names, n_workers, _least(votes, result, names, differences), table, data
    )


def _chosen(votes: Annotations, flags: Sequence[Flag]) -> I8:
    """Codes of the workers on the map: flagged ones with their partners (at most half), then the busiest."""
    worker_index = {name: i for i, name in enumerate(votes.workers.to_list())}
    serious = [w for flag in flags if flag.name != "unknown" for w in (flag.worker, *flag.partners)]
    first = [worker_index[w] for w in dict.fromkeys(serious) if w in worker_index][: WORKERS // 2]
    busy = np.argsort(-votes.labels_per_worker, kind="stable").tolist()
    chosen = [w for w in dict.fromkeys([*first, *busy]) if votes.labels_per_worker[w] > 0]
    return np.array(chosen[:WORKERS], dtype=np.int64)


def _order(workers: I8, ends: I8, agreement: F8) -> I8:
    """Order workers so that those who agree are adjacent: leaves of an average-linkage tree of their disagreement."""
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
    """Tasks and labels of one worker, with the first label of each task."""
    rows = votes.worker_order[votes.worker_offsets[worker] : votes.worker_offsets[worker + 1]]
    task, first = np.unique(votes.task[rows], return_index=True)
    return task.astype(np.int64), votes.label[rows][first].astype(np.int64)


def _differing(a: tuple[I8, I8], b: tuple[I8, I8], result: Result) -> I8:
    """Rows (task, a's label, b's label) where the two differ, tasks with the highest confidence first."""
    task, at_a, at_b = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
    labels_a, labels_b = a[1][at_a], b[1][at_b]
    differing = np.flatnonzero(labels_a != labels_b)
    differing = differing[np.argsort(-result.confidence[task[differing]], kind="stable")][:TASKS]
    return np.stack([task[differing], labels_a[differing], labels_b[differing]], axis=1)


def _data(votes: Annotations, result: Result, names: list[str], differences: dict[Any, Any]) -> dict[str, Any]:
    """Data for the page's script: lists of names, and pairs as indices into them."""
    used = np.unique(np.concatenate([rows[:, 0] for rows, _ in differences.values()] or [np.empty(0, dtype=np.int64)]))
    at = {int(t): i for i, t in enumerate(used)}
    return {
        "workers": names,
        "classes": [shown(c, 40) for c in votes.classes.to_list()],
        "tasks": [
            [shown(votes.tasks[int(t)]), int(result.labels[t]), percent(float(result.confidence[t]))] for t in used
        ],
        "pairs": {
            f"{i},{j}": [row["n_common"], row["n_agree"], [[at[t], a, b] for t, a, b in rows.tolist()]]
            for (i, j), (rows, row) in differences.items()
        },
    }


def _least(votes: Annotations, result: Result, names: list[str], differences: dict[Any, Any]) -> list[PairSummary]:
    """Pairs with the lowest upper end of a rough interval of their agreement."""

    def bound(row: dict[str, Any]) -> float:
        n, p = row["n_common"], (row["n_agree"] + 2) / (row["n_common"] + 4)
        return float(p + 2 * np.sqrt(p * (1 - p) / (n + 4)))

    classes = [shown(c, 40) for c in votes.classes.to_list()]
    worst = sorted(differences.items(), key=lambda item: bound(item[1][1]))[:LISTED]
    return [
        PairSummary(
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
class WorkerTableRow:
    """Row of the worker table: numbers (`of`, by the column names of the quality table), bar and flags."""

    worker: str
    of: dict[str, Any]
    bar: Markup
    flags: list[str]


@dataclass(frozen=True)
class Matrix:
    """Drawing of a worker's confusion matrix with its caption."""

    worker: str
    caption: str
    drawing: Markup


def rows(study: Study) -> list[WorkerTableRow]:
    """Return workers with labels, best first; if there are too many, the flagged and the busiest."""
    flagged = flags_by_worker(study)
    out = []
    for row in best_first(workers_to_show(study, flagged)).to_dicts():
        bar = svg.interval(row["skill"], row["skill_low"], row["skill_high"], mark=row["gold_accuracy"])
        out.append(WorkerTableRow(shown(row["worker"]), row, bar, flagged.get(str(row["worker"]), [])))
    return out


def matrices(votes: Annotations, study: Study) -> list[Matrix]:
    """Return confusion matrices of the flagged workers first, then of those with the most wrong labels."""
    k = votes.n_classes
    if not len(study.confusion) or k < 2:
        return []
    quality = study.quality
    wrong = (quality["n_labels"] * (1 - quality["skill"].fill_null(1.0))).to_numpy()
    serious = {str(flag.worker) for flag in study.flags if flag.name != "unknown"}
    names = quality["worker"].cast(pl.String).to_list()
    order = sorted(range(len(names)), key=lambda w: (names[w] not in serious, -wrong[w]))
    order = [w for w in order if quality["n_labels"][w] > 0][: MATRICES + MORE]
    cells = {name: study.confusion[name].to_numpy().reshape(-1, k, k) for name in ("p", "low", "high", "n_effective")}
    keep = np.sort(np.argsort(-np.bincount(votes.label, minlength=k), kind="stable")[:CLASSES])
    classes = [shown(c, 24) for c in votes.classes.gather(keep).cast(pl.String).to_list()]
    out = []
    for w in order:
        worker_cells = {name: table[w][np.ix_(keep, keep)] for name, table in cells.items()}
        tips = _tips(worker_cells, classes) if len(keep) <= 6 else None
        drawing = svg.matrix(worker_cells["p"], classes, _description(worker_cells["p"], names[w], classes), tips)
        caption = f"{quality['n_labels'][w]:,} labels"
        if quality["skill"][w] is not None:
            caption += f", skill {percent(quality['skill'][w])}"
        out.append(Matrix(shown(names[w], 30), caption, drawing))
    return out


def _tips(cells: dict[str, Any], classes: list[str]) -> list[list[str]]:
    return [
        [
            f"{observed} if {true} is true: {percent(cells['p'][i, j])} "
            f"({span(cells['low'][i, j], cells['high'][i, j])}; n {cells['n_effective'][i, j]:.0f})"
            for j, observed in enumerate(classes)
        ]
        for i, true in enumerate(classes)
    ]


def _description(p: Any, worker: str, classes: list[str]) -> str:
    """Description of the matrix: the worker's most frequent label for each true class."""
    top = p.argmax(axis=1)
    descriptions = [f"{true}: labelled {classes[top[i]]} {percent(p[i, top[i]])}" for i, true in enumerate(classes[:8])]
    return f"Confusion matrix of worker {shown(worker, 30)}. " + "; ".join(descriptions)
