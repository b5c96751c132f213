"""LabelMe and Music with links between tasks whose features are alike."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from tests.data import data_folder

SETS = ("labelme", "music")
NEIGHBOURS = 10
METHODS = {
    "dawid_skene": ("dawid_skene", {}),
    "hierarchical": ("hierarchical", {}),
    "committee (default without links)": ("committee", {}),
    "graph_field, strength 0.2": ("graph_field", {"strength": 0.2}),
    "graph_field (strength 0.5)": ("graph_field", {}),
    "graph_field, strength 1": ("graph_field", {"strength": 1.0}),
    "graph_field, strength chosen": ("graph_field", {"choose": True}),
}


@cache
def load(name: str) -> tuple[cw.Annotations, pl.DataFrame]:
    """Annotations with links to the ten tasks most like each, and the truth."""
    folder = data_folder() / name
    rows = pl.read_csv(folder / "labels.csv").with_columns(pl.col("label").cast(pl.String))
    votes = cw.Annotations.from_frame(rows.select("task", "worker", "label"), duplicates="first")
    features = np.load(folder / "features.npz")
    links = cw.classes.neighbour_links(features["train_task"].tolist(), features["train_x"], k=NEIGHBOURS)
    truth = pl.read_csv(folder / "truth.csv").select("task", pl.col("label").cast(pl.String))
    return votes.linked(links), truth


@cache
def scores(method: str, name: str) -> cw.Result:
    """The evaluation of a method on a set."""
    votes, truth = load(name)
    known, params = METHODS[method]
    return cw.evaluate(cw.method(known, **params).fit(votes), truth)


def inside(name: str) -> float:
    """The share of links that join tasks of one class."""
    votes, truth = load(name)
    label = dict(truth.iter_rows())
    return float(np.mean([label[a] == label[b] for a, b in votes.links.select("task", "other").iter_rows()]))


def rows() -> list[list[str]]:
    """Accuracy / log-loss by set."""
    out = [["links within a class", *(f"{inside(name):.3f}" for name in SETS)]]
    for method in METHODS:
        found = [scores(method, name) for name in SETS]
        out.append([method, *(f"{s.accuracy:.3f} / {s.log_loss:.2f}" for s in found)])
        print(*out[-1], flush=True)
    return out
