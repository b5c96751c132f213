"""Averages of methods with families left out, beside the vote and single models: on sets seen early and late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import crowdwise as cw

from .. import DOCS
from ..markdown import figures
from . import ours

BESIDE = ("majority_vote", "hierarchical", "mace")
# method, set: accuracy and log-loss
Scores = dict[str, dict[str, tuple[float, float]]]
WORDS = f"""Mean accuracy / log-loss. Every method was written with the first {len(cw.datasets.FIRST)} sets in view; the
others came later, and only the committee's members and confidence and the default's constants were settled with them
too. Here both have the confidence that was learnt without each set's family; the others have their own (one fit, seed
0)."""


def rows_of(stem: str) -> Path:
    """Where the scores of a page are kept: `default` or `committee`."""
    return DOCS / f"{stem}.parquet"


def write(stem: str, own: dict[str, tuple[float, float]]) -> None:
    """Keep accuracy and log-loss with families left out, for the page of all methods."""
    rows = [{"set": name, "accuracy": scores[0], "log_loss": scores[1]} for name, scores in own.items()]
    pl.DataFrame(rows).write_parquet(rows_of(stem))


def read(stem: str) -> dict[str, tuple[float, float]]:
    """What `write` kept."""
    return {name: (accuracy, loss) for name, accuracy, loss in pl.read_parquet(rows_of(stem)).iter_rows()}


def fits() -> Scores:
    """The others' scores, from their cells."""
    rows = {m: {name: ours.one(m, name, 0, fresh=False) for name in cw.datasets.INDEPENDENT} for m in BESIDE}
    return {m: {name: (c["accuracy"], c["log_loss"]) for name, c in cells.items()} for m, cells in rows.items()}


def beside(own: Scores, others: Scores) -> str:
    """Means over the first sets, the later ones, and all."""
    names = list(next(iter(own.values())))
    first = [name for name in names if name in cw.datasets.FIRST]
    parts = {"the first": first, "the other": [name for name in names if name not in first], "all": names}
    lines = []
    for method, scores in {**own, **others}.items():
        means = (np.mean([scores[name] for name in some], axis=0) for some in parts.values())
        lines.append([method, *("{:.3f} / {:.3f}".format(*mean) for mean in means)])
    return figures(["method", *(f"{head} {len(some)}" for head, some in parts.items())], lines)
