"""The open sets whose classes have an order, and their scores."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from tests.data import data_folder

SETS = ("web", "relevance4", "moviereviews")
BINS = 5
METHODS = {
    "majority_vote": ("majority_vote", {}),
    "dawid_skene": ("dawid_skene", {}),
    "hierarchical": ("hierarchical", {}),
    "hierarchical, classes even": ("hierarchical", {"prior_class": 1e9}),
    "committee (default without an order)": ("committee", {}),
    "ordinal_split": ("ordinal_split", {}),
    "ordinal_types": ("ordinal_types", {}),
    "ordinal_prior": ("ordinal_prior", {}),
    "ordinal_committee (default)": ("ordinal_committee", {}),
}


@cache
def load(name: str) -> tuple[cw.Annotations, pl.DataFrame]:
    """Annotations with their order, and the truth; numbers are put into five bins with equally many truths."""
    folder = data_folder() / name
    rows = pl.read_csv(folder / "labels.csv", infer_schema_length=None)
    truth = pl.read_csv(folder / "truth.csv", infer_schema_length=None)
    if rows["label"].dtype.is_float():
        edges = np.quantile(truth["label"].to_numpy(), np.arange(1, BINS) / BINS)
        rows, truth = (
            each.with_columns(pl.Series("label", np.searchsorted(edges, each["label"].to_numpy())))
            for each in (rows, truth)
        )
    votes = cw.Annotations.from_arrays(
        rows["task"], rows["worker"], rows["label"], classes=truth["label"], order="numbers", duplicates="first"
    )
    return votes, truth.select("task", "label")


@cache
def scores(method: str, name: str) -> cw.Result:
    """The evaluation of a method on a set."""
    votes, truth = load(name)
    known, params = METHODS[method]
    return cw.evaluate(cw.method(known, **params).fit(votes), truth)


def rows() -> list[list[str]]:
    """Accuracy / MAE / quadratic kappa / log-loss by set."""
    out = []
    for method in METHODS:
        found = [scores(method, name) for name in SETS]
        out.append([method, *(f"{s.accuracy:.3f} / {s.mae:.3f} / {s.kappa:.3f} / {s.log_loss:.2f}" for s in found)])
        print(*out[-1], flush=True)
    return out
