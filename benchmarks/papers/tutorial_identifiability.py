"""Tutorial: when are classifier and confusions identifiable? With and without anchor points and class experts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import softmax

from crowdwise import Annotations
from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import mlp

from .dependent import draw
from .experiment import Cell, Claim, Experiment, Scale, mean_table
from .tutorial_workers import aligned_error
from .verdict import judged, mean_of

F8 = npt.NDArray[np.float64]
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "ccem": ("ccem", {"start": "eye", "form": "softmax"}),
    "geo_crowd_net_f": ("geo_crowd_net_f", {"strength": 0.01}),
    "geo_crowd_net_w": ("geo_crowd_net_w", {"strength": 0.01}),
    "trace": ("trace", {}),
}
WORLDS = ("anchors and experts", "anchors only", "experts only", "neither")
K, M, D = 3, 6, 5


@dataclass(frozen=True)
class Truth:
    """Features, the true p(class | x) and confusions, and the labels."""

    x: F8
    proba: F8
    confusion: F8
    votes: Annotations


def world(kind: str, seed: int, n: int) -> Truth:
    """Tasks near the corners or never beyond .7; two experts for each class or six mediocre workers."""
    rng = np.random.default_rng([seed, 43])
    x = rng.normal(size=(n, D))
    score = x @ rng.normal(size=(D, K))
    anchors = "anchors" in kind
    proba = softmax(4.0 * score, axis=1) if anchors else 0.55 * softmax(4.0 * score, axis=1) + 0.45 / K
    truth = (proba.cumsum(1) < rng.random(n)[:, None]).sum(1).clip(0, K - 1)
    confusion = experts(rng) if "experts" in kind else mediocre(rng)
    said = np.stack([draw(confusion[w], truth, rng) for w in range(M)], axis=1)
    task, worker = np.nonzero(rng.random(said.shape) < 0.5)
    votes = Annotations.from_arrays(
        task, worker, said[task, worker], tasks=range(n), workers=range(M), classes=range(K)
    )
    return Truth(x, proba, confusion, votes)


def experts(rng: np.random.Generator) -> F8:
    """Worker w knows class w mod K: they name it exactly when it is there, and guess among the others."""
    out = np.empty((M, K, K))
    for w in range(M):
        mine = w % K
        others = [k for k in range(K) if k != mine]
        out[w, mine] = np.where(np.arange(K) == mine, 0.98, 0.01)
        for k in others:
            out[w, k, mine] = 0.01
            share = rng.uniform(0.3, 0.7)
            out[w, k, others] = 0.99 * np.array([share, 1 - share])
    return out


def mediocre(rng: np.random.Generator) -> F8:
    """Right with probability .5 to .7 in each class, the mistakes split at random."""
    out = np.empty((M, K, K))
    for w, k in np.ndindex(M, K):
        right = rng.uniform(0.5, 0.7)
        out[w, k, [j for j in range(K) if j != k]] = (1 - right) * rng.dirichlet(np.ones(K - 1))
        out[w, k, k] = right
    return out


class Identifiable(Experiment):
    """CM error with and without the conditions."""

    name = "tutorial_identifiability"
    paper = "Tutorial"
    title = "Identifiability with anchor points and class experts"
    about = """
Three classes, six workers who each label half of 5,000 tasks; p(class | x) is a softmax of a linear map of five
features. *Anchors*: some tasks have p near 1 for every class; without them p never exceeds .7. *Experts*: for each
class two workers name it exactly when it is there and guess among the others; without them all six are right with
probability .5 to .7, with mistakes of their own. CM error: squared error of a row, averaged, after the best renaming of
classes; *f error*: squared error of p(class | x). 64 ReLUs, 40 epochs, all from the same start (softmax of the
identity, but trace's own), λ = .01 for both volumes, the last epoch. The tutorial states theorems, no figures: ccem
needs both conditions, GeoCrowdNet (F) only the anchors, (W) only the experts. In a first try the workers without
expertise had even mistakes; from the identity ccem then came near the truth with neither condition (CM error × 100 of
.5, one seed), for which symmetry and not a theorem is to thank; so their mistakes are now uneven."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 5, "paper": 20}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """World × method."""
        for kind in WORLDS[:1] if scale == "smoke" else WORLDS:
            for method in METHODS:
                yield {"world": kind, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """CM error and error of the classifier's probabilities."""
        made = world(cell["world"], cell["seed"], 300 if scale == "smoke" else 5000)
        method, params = METHODS[cell["method"]]
        fitted = CrowdClassifier(
            lambda shape, k: mlp(shape, k, hidden=(64,), dropout=0.0), method, params=params,
            epochs=2 if scale == "smoke" else 40, batch_size=100, lr=1e-3, worker_lr=1e-2, validation=0,
            seed=cell["seed"],
        ).fit(made.x, made.votes)  # fmt: skip
        found = np.asarray(fitted.confusion_)
        gap = ((fitted.predict_proba(made.x) - made.proba) ** 2).sum(1).mean()
        return {"cm_error": aligned_error(found, made.confusion), "f_error": float(gap)}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Both errors by world."""
        return [("CM error × 100", mean_table(rows, ["method"], "world", "cm_error", digits=2)),
                ("f error × 100", mean_table(rows, ["method"], "world", "f_error", digits=2))]  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Each theorem where its conditions hold and where they do not."""
        e = {(kind, m): 100 * mean_of(rows, "cm_error", {"world": kind, "method": m})
             for kind in WORLDS for m in METHODS}  # fmt: skip
        all_of = list(e.values())

        def said(kind: str) -> str:
            return f"{kind}: " + ", ".join(f"{m} {e[kind, m]:.2f}" for m in METHODS)

        ccem = [e[kind, "ccem"] for kind in WORLDS]
        return [
            judged("with anchors and experts ccem recovers the confusions (CM error × 100 below 1)", "theorem",
                   said(WORLDS[0]), all_of, ccem[0] < 1),
            judged("ccem is worst off with neither", "theorem", "; ".join(
                   f"{kind} {v:.2f}" for kind, v in zip(WORLDS, ccem, strict=True)), all_of, ccem[3] > max(ccem[:3]),
                   "the theorems say where ccem recovers, not where it is worst: without anchors the experts' guesses "
                   "among the other classes mislead it more than mediocre workers do"),
            judged("anchors only: GeoCrowdNet (F) recovers, at least as well as ccem", "theorem", said(WORLDS[1]),
                   all_of, e[WORLDS[1], "geo_crowd_net_f"] <= 1.05 * e[WORLDS[1], "ccem"]),
            judged("experts only: GeoCrowdNet (W) recovers better than ccem and (F)", "theorem", said(WORLDS[2]),
                   all_of, e[WORLDS[2], "geo_crowd_net_w"] < min(e[WORLDS[2], "ccem"],
                                                               e[WORLDS[2], "geo_crowd_net_f"])),
        ]  # fmt: skip
