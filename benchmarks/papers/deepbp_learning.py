"""deepBP, Figures 2 and 3 with features: crowd layer, BayesDGC, deepMF, deepBP on the regular graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
from torch import nn

from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import cnn, mlp

from .cifar import Images, features, raw
from .deepbp_inference import ahead
from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .regular import regular_crowd

METHODS = ("crowd_layer", "bayes_dgc", "deep_mf", "deep_bp")
SCALED = """
Scaled: Dogs vs. Cats is not at hand; CIFAR-10's cats and dogs stand in, described by features that no label has touched
(k-means over patches), with a layer of 128 ReLUs; full batches, 60 rounds of Adam at 3e-3 (the paper: 200 at 1e-4 on a
convolutional net). *labels*: accuracy of the posterior of the 1,000 training tasks; *classifier*: on test images."""


@lru_cache(maxsize=1)
def _pets(scale: Scale) -> Images:
    return (raw() if scale == "paper" else features()).only((3, 5))


def learn(cell: Cell, scale: Scale, n: int = 1000) -> dict[str, float]:
    """Train one method on one crowd; accuracy of the labels and of the classifier."""
    data = _pets(scale)
    n = 200 if scale == "smoke" else n
    pick = np.random.default_rng([cell["seed"], 9]).permutation(len(data.y))[:n]
    votes, truth = regular_crowd(
        cell["seed"], tuple(cell["truth"]), spammers=cell["spammers"], n=n, truth=data.y[pick],
        labels=cell.get("labels", 3),
    )  # fmt: skip
    a, b = cell["model"]
    params: dict[str, Any] = {
        "deep_bp": {"prior": "one_coin", "prior_right": a, "prior_wrong": b, "clip": cell.get("clip", 0.9)},
        "deep_mf": {"prior_diagonal": a, "prior_off": b, "clip": cell.get("clip", 0.9)},
        "bayes_dgc": {"prior_diagonal": a, "prior_off": b},
    }.get(cell["method"], {})
    rounds = {"smoke": 3, "small": 60, "paper": 200}[scale]
    fitted = CrowdClassifier(
        _net(scale), cell["method"], params=params, epochs=rounds, batch_size=n, lr=1e-4 if scale == "paper" else 3e-3,
        validation=0, seed=cell["seed"],
    ).fit(data.x[pick], votes)  # fmt: skip
    test = fitted.predict_proba(data.test_x).argmax(1)
    return {
        "labels": float((fitted.result_.posterior.argmax(1) == truth).mean()),
        "classifier": float((test == data.test_y).mean()),
    }


def _net(scale: Scale) -> Any:
    def make(shape: tuple[int, ...], k: int) -> nn.Module:
        return cnn(shape, k) if scale == "paper" else mlp(shape, k, hidden=(128,), dropout=0.5)

    return make


class _Learning(Experiment):
    paper = "deepBP"
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}
    x: ClassVar[str]

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training."""
        return learn(cell, scale)

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Labels and classifier."""
        return [
            ("Accuracy of the labels in per cent", mean_table(rows, [self.x], "method", "labels")),
            ("Accuracy of the classifier in per cent", mean_table(rows, [self.x], "method", "classifier")),
        ]

    def plots(self) -> list[Plot]:
        """Both curves."""
        return [Plot("Labels", self.x, "labels", level=0.99), Plot("Classifier", self.x, "classifier", level=0.99)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """deepBP ahead of deepMF."""
        return [ahead(rows.with_columns(accuracy="labels"), self.x, "deep_mf", "deep_bp"),
                ahead(rows.with_columns(accuracy="classifier"), self.x, "deep_mf", "deep_bp")]  # fmt: skip


class TruePrior(_Learning):
    """Figure 2."""

    name = "deepbp_fig2"
    title = "Figure 2, learning: the true prior from extreme to mild"
    about = "Workers ~ Beta(α1, α1/2) on the (3, 4)-regular graph; the models know the prior." + SCALED
    x = "alpha1"

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """α1 from .2 to 2."""
        for a in (0.5,) if scale == "smoke" else (0.2, 0.5, 1.0, 1.5, 2.0):
            for method in METHODS:
                yield {"alpha1": a, "truth": [a, a / 2], "model": [a, a / 2], "spammers": 0, "method": method}


class Mismatch(_Learning):
    """Figure 3 a, b."""

    name = "deepbp_fig3"
    title = "Figure 3, learning: one extreme spammer, mismatched prior"
    about = "Workers ~ Beta(2, 1) and one spammer who labels everything; the models believe in Beta(2, α2)." + SCALED
    x = "alpha2"

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """α2 from .8 to 1.6."""
        for a in (1.4,) if scale == "smoke" else (0.8, 1.0, 1.2, 1.4, 1.6):
            for method in METHODS:
                yield {"alpha2": a, "truth": [2.0, 1.0], "model": [2.0, a], "spammers": 1, "method": method}

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Collapse of mean field under the mismatched prior."""
        hard = rows.filter(pl.col("alpha2") == 1.4).group_by("method").mean()
        mean = {r["method"]: r for r in hard.iter_rows(named=True)}
        said = ", ".join(
            f"{m} {100 * mean[m]['labels']:.1f} / {100 * mean[m]['classifier']:.1f}" for m in METHODS if m in mean
        )
        holds = bool(mean) and mean["deep_mf"]["labels"] < 0.6 < 0.68 < mean["deep_bp"]["labels"]
        return [
            *super().claims(rows),
            Claim("α2 = 1.4: mean-field methods collapse, deepBP does not (labels / classifier)", "figure only", said,
                  "reproduced" if holds else "not reproduced"),
        ]  # fmt: skip
