"""ml_medrel: relations between medical terms, several allowed, with experts' truth for two of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from tests.data import data_folder

METHODS = {
    "set_majority": ("set_majority", {}),
    "set_majority, cut 1/4": ("set_majority", {"cut": 0.25}),
    "binary_relevance, dawid_skene": ("binary_relevance", {"by": "dawid_skene"}),
    "binary_relevance, hierarchical": ("binary_relevance", {}),
    "set_coin": ("set_coin", {}),
    "joint_sets without shifts": ("joint_sets", {"shifts": False}),
    "joint_sets (default)": ("joint_sets", {}),
}
CLASSES = ("CAUSES", "TREATS")
DRAWS = 1000


@cache
def votes() -> cw.Votes:
    """The answers; of two different ones of a worker to a task the first."""
    return cw.read(data_folder() / "ml_medrel" / "labels.csv.gz", duplicates="first")


@cache
def truth() -> pl.DataFrame:
    """task, label, value."""
    return pl.read_csv(data_folder() / "ml_medrel" / "truth.csv", schema_overrides={"task": pl.String})


@cache
def fit(name: str) -> cw.Result:
    """Each fit once."""
    method, params = METHODS[name]
    return cw.method(method, **params).fit(votes())


def known(label: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Codes of the tasks whose truth is known, whether the class is in their set, and its code."""
    table = truth().filter(pl.col("label") == label)
    place = {task: i for i, task in enumerate(votes().tasks.to_list())}
    rows = np.array([place[task] for task in table["task"].to_list()])
    return rows, table["value"].to_numpy() == 1, votes().answers.classes.to_list().index(label)


def f1(said: np.ndarray, true: np.ndarray) -> float:
    """F1 of one class."""
    return float(2 * (said & true).sum() / (said.sum() + true.sum()))


def rows() -> list[list[str]]:
    """F1 of both classes, and its difference from the default's with the standard error by resampling tasks."""
    out = []
    for name in METHODS:
        cells = []
        for label in CLASSES:
            at, true, j = known(label)
            own, base = (fit(each).member[at, j] for each in (name, "joint_sets (default)"))
            rng = np.random.default_rng(0)
            drawn = rng.integers(len(at), size=(DRAWS, len(at)))
            gaps = [f1(own[d], true[d]) - f1(base[d], true[d]) for d in drawn]
            gap = f1(own, true) - f1(base, true)
            same = name == "joint_sets (default)"
            cells += [f"{f1(own, true):.3f}", "–" if same else f"{gap:+.3f} ± {np.std(gaps):.3f}"]
        out.append([name, *cells])
        print(*out[-1], flush=True)
    return out
