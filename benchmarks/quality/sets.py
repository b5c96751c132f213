"""The data sets, as every contender gets them: codes of tasks, workers and classes in one file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import crowdwise as cw

SUBJECTIVE = tuple(sorted(name for name, card in cw.datasets.CATALOGUE.items() if card.kind == "subjective"))


@dataclass(frozen=True)
class Real:
    """A set with its truth as codes; tasks without a truth have -1."""

    name: str
    annotations: cw.Annotations
    truth: np.ndarray


@lru_cache(maxsize=4)
def load(name: str) -> Real:
    """Classes that only the truth has are left to count as wrong: they have a code beyond the classes."""
    data = cw.datasets.load(name)
    votes = data.annotations
    place = {task: i for i, task in enumerate(votes.tasks.cast(str).to_list())}
    codes = {label: k for k, label in enumerate(votes.classes.cast(str).to_list())}
    truth = np.full(votes.n_tasks, -1)
    for task, label in zip(data.truth["task"].cast(str), data.truth["label"].cast(str), strict=True):
        if task in place:
            truth[place[task]] = codes.get(label, votes.n_classes)
    return Real(name, votes, truth)


def export(name: str, folder: Path) -> Path:
    """The codes for a peer that has no crowdwise: task, worker, label."""
    path = folder / f"{name}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        votes = load(name).annotations
        np.save(path, np.stack([votes.task, votes.worker, votes.label]))
    return path
