"""The default with families left out, beside the vote and the best single models: on sets seen early and late."""

from __future__ import annotations

import numpy as np
import polars as pl

import crowdwise as cw

from .. import DOCS
from ..markdown import figures
from . import ours

BESIDE = ("majority_vote", "hierarchical", "mace")
# method, set: accuracy and log-loss
Scores = dict[str, dict[str, tuple[float, float]]]
ROWS = DOCS / "default.parquet"
WORDS = f"""Mean accuracy / log-loss. Every method was written with the first {len(cw.datasets.FIRST)} sets in view; the
others came later, and only the default's members and confidence were settled with them too. Here the default has the
confidence that was learnt without each set's family; the others have their own (one fit, seed 0)."""


def write(own: dict[str, tuple[float, float]]) -> None:
    """Keep the default's accuracy and log-loss with families left out, for the page of all methods."""
    rows = [{"set": name, "accuracy": scores[0], "log_loss": scores[1]} for name, scores in own.items()]
    pl.DataFrame(rows).write_parquet(ROWS)


def read() -> dict[str, tuple[float, float]]:
    """What `write` kept."""
    return {name: (accuracy, loss) for name, accuracy, loss in pl.read_parquet(ROWS).iter_rows()}


def fits() -> Scores:
    """The others' scores, from their cells."""
    found = {m: {name: ours.one(m, name, 0, fresh=False) for name in cw.datasets.INDEPENDENT} for m in BESIDE}
    return {m: {name: (c["accuracy"], c["log_loss"]) for name, c in cells.items()} for m, cells in found.items()}


def beside(own: dict[str, tuple[float, float]], others: Scores) -> str:
    """Means over the first sets, the later ones, and all."""
    first = [name for name in own if name in cw.datasets.FIRST]
    parts = {"the first": first, "the other": [name for name in own if name not in first], "all": list(own)}
    lines = []
    for method, found in {"committee, the default": own, **others}.items():
        means = (np.mean([found[name] for name in names], axis=0) for names in parts.values())
        lines.append([method, *("{:.3f} / {:.3f}".format(*mean) for mean in means)])
    return figures(["method", *(f"{head} {len(names)}" for head, names in parts.items())], lines)
