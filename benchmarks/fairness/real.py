"""Real groups: fair_recid (defendants and respondents, black and white), and fake groups of popquorn's raters."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.fairness.group_counts import confidence_cells, count_groups
from crowdwise.evaluation.fairness.labels import draw_labels
from crowdwise.evaluation.fairness.maths import fair_labels, rater_p
from crowdwise.evaluation.guarantee.gold import hashed, place
from crowdwise.evaluation.guarantee.verdicts import as_verdicts

from .. import data_folder

METHODS = {"majority_vote": cw.MajorityVote, "dawid_skene": cw.DawidSkene}
SPLITS = 400


@cache
def recid() -> tuple[Any, pl.DataFrame]:
    folder = data_folder() / "fair_recid"
    votes = cw.read(folder / "labels.csv", duplicates="last", about_tasks=folder / "tasks.csv",
                    about_workers=folder / "workers.csv")  # fmt: skip
    return votes, pl.read_csv(folder / "truth.csv")


def gap_rows() -> list[list[str]]:
    """Gaps of the labels of two methods, black less white, all truth as gold, for tasks of this kind."""
    votes, truth = recid()
    out = []
    for name, method in METHODS.items():
        found = cw.fairness(method().fit(votes), votes=votes, gold=truth, groups="race").gaps
        for measure, label in (("positive", "1"), ("recall", "1"), ("false", "1"), ("accuracy", None)):
            same = (pl.col("class") == label) if label else pl.col("class").is_null()
            row = found.filter((pl.col("measure") == measure) & same).row(0, named=True)
            ends = [f"{row[f'low{one}']:+.3f} to {row[f'high{one}']:+.3f}" for one in ("_alone", "")]
            out.append([f"{name}: {measure}", f"{row['gap']:+.3f}", *ends])
            print(*out[-1], flush=True)
    return out


def rater_rows() -> list[list[str]]:
    votes, truth = recid()
    found = cw.fairness(
        cw.MajorityVote().fit(votes), votes=votes, gold=truth, groups="race", worker_groups="race"
    ).raters
    keep = found.filter(pl.col("question").is_in(["says 1", "says 1 more often about black", "is right"]))
    return [[r["question"], r["group"], str(r["raters"]), f"{r['mean']:+.3f}", f"{r['p']:.4f}"]
            for r in keep.iter_rows(named=True)]  # fmt: skip


def held_out_rows(splits: int = SPLITS) -> list[list[str]]:
    """Learnt on half of the truth, judged on the other half: absolute gaps and accuracy, before and after."""
    votes, truth = recid()
    known = dict(truth.rows())
    result = cw.DawidSkene().fit(votes)
    found = as_verdicts(result, votes)
    y = np.array([known[t] for t in found.tasks.to_list()])
    group, _ = found.groups("race")
    out = []
    for target in ("parity", "opportunity", "odds"):
        rows = []
        for split in range(splits):
            order = np.random.default_rng([61, split]).permutation(len(y))
            learn, test = order[: len(y) // 2], order[len(y) // 2 :]
            gold, mine = place({found.tasks[int(t)]: int(y[t]) for t in learn}, found)
            of = count_groups(mine, "race", gold)
            cell, size, chances, owner = confidence_cells(of)
            code = draw_labels(
                fair_labels(size, chances, owner, target, 0.02).x[cell], hashed(of.verdicts.tasks, split)
            )
            rows.append([*figures(found.label, y, group, test), *figures(code, y, group, test)])
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)
        change = np.array(rows)[:, 7] - np.array(rows)[:, 3]
        out.append([target, *(f"{mean[i]:.3f} → {mean[i + 4]:.3f} ± {spread[i + 4]:.3f}" for i in range(4)),
                    f"{change.mean():+.4f} ± {change.std():.3f}"])  # fmt: skip
        print(*out[-1], flush=True)
    return out


def figures(label: np.ndarray, y: np.ndarray, group: np.ndarray, where: np.ndarray) -> list[float]:
    """Absolute gaps of positive rate, recall and false rate of class 1, and the accuracy."""
    label, y, group = label[where], y[where], group[where]

    def gap(mask: np.ndarray) -> float:
        return float(abs(label[mask & (group == 0)].mean() - label[mask & (group == 1)].mean()))

    return [gap(np.ones(len(y), dtype=bool)), gap(y == 1), gap(y == 0), float((label == y).mean())]


def fake_rows(runs: int = 300) -> list[list[str]]:
    """Raters of popquorn put into two groups by lot: how often a test at 5 % finds a difference between them."""
    votes = cw.read(data_folder() / "popquorn_offensive" / "labels.csv", kind="classes", duplicates="last")
    value = votes.classes.cast(pl.Float64, strict=False).to_numpy()[votes.label]
    mean = np.bincount(votes.task, weights=value, minlength=votes.n_tasks) / np.maximum(votes.labels_per_task, 1)
    left = value - mean[votes.task]
    total = np.bincount(votes.worker, weights=left, minlength=votes.n_workers)
    n = votes.labels_per_worker.astype(float)
    rng, by_rater, by_row = np.random.default_rng(67), 0, 0
    for _ in range(runs):
        lot = rng.permutation(votes.n_workers) % 2
        by_rater += rater_p(total, n, lot, rng, draws=199)[1] <= 0.05
        mine = lot[votes.worker]
        seen = left[mine == 0].mean() - left[mine == 1].mean()
        error = left.std() * np.sqrt(1 / (mine == 0).sum() + 1 / (mine == 1).sum())
        by_row += abs(seen / error) > 1.96
    rows = [["raters permuted", f"{by_rater / runs:.3f}"], ["rows as the unit", f"{by_row / runs:.3f}"]]
    print(*rows, flush=True)
    return rows
