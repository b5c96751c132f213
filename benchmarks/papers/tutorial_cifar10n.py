"""Tutorial: CIFAR-10N, three labels an image by people."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl
from torch import nn

import crowdwise as cw
from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import mlp
from crowdwise.learn.nets.images import resnet18

from .cifar import Images, features, raw
from .experiment import Cell, Claim, Experiment, Scale, device, mean_table
from .tutorial_machines import worker_rate
from .verdict import judged, mean_of, percents

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "vanilla": ("vanilla", {}),
    "crowd_layer": ("crowd_layer", {}),
    "max_mig": ("max_mig", {"prior": "uniform"}),
    "conal": ("conal", {}),
    "ccem": ("ccem", {}),
    "geo_crowd_net_f": ("geo_crowd_net_f", {"strength": 0.01}),
    "geo_crowd_net_w": ("geo_crowd_net_w", {"strength": 0.01}),
    "coin_net": ("coin_net", {}),
    "truth": ("vanilla", {}),
}
SIZES: dict[Scale, tuple[int, int]] = {"smoke": (400, 2), "small": (20_000, 20), "paper": (20_000, 150)}


@lru_cache(maxsize=1)
def human_labels() -> cw.Annotations:
    """Three labels of each image; tasks are image numbers."""
    return cw.datasets.load("cifar10n").annotations


def images_and_labels(scale: Scale) -> tuple[Images, cw.Annotations, list[Any]]:
    """Features (images for the paper's scale), the labels of these images, and the tasks in the order of the rows."""
    data = (raw() if scale == "paper" else features()).head(SIZES[scale][0])
    votes = human_labels()
    kind = votes.tasks.dtype
    tasks = pl.Series("task", np.arange(len(data.x))).cast(kind).to_list()
    return data, votes.select(tasks=tasks), tasks


def net_for(scale: Scale) -> Any:
    """A net of 128 ReLUs on features; a ResNet on images."""

    def make(shape: tuple[int, ...], k: int) -> nn.Module:
        return resnet18(shape, k) if scale == "paper" else mlp(shape, k, hidden=(128,), dropout=0.5)

    return make


class People(Experiment):
    """Test accuracy of eight methods."""

    name = "tutorial_cifar10n"
    paper = "Tutorial"
    title = "CIFAR-10N: three labels an image by people"
    about = """
Each image of CIFAR-10 was labelled three times on Mechanical Turk (17.2, 18.1 and 17.6 % wrong); the three label sets
are the three workers. The tutorial shows a bar chart only. Scaled: the first 20,000 of 50,000 training images and 5,000
test images (what is available), a net of 128 ReLUs on features that no label has touched (k-means over patches) instead
of a ResNet-34, 20 epochs, the one kept is chosen by held-out labels; Adam, 1e-3 for nets and 1e-2 for confusions
(coin_net 1e-3, max_mig's aggregator 1e-4, as in their papers). `labels` is the accuracy of the labels inferred
for the training images, from features and labels together."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 3, "paper": 3}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """The methods."""
        for method in ("coin_net", "vanilla") if scale == "smoke" else METHODS:
            yield {"method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Test accuracy of the classifier, accuracy of the inferred labels."""
        data, votes, tasks = images_and_labels(scale)
        method, params = METHODS[cell["method"]]
        if cell["method"] == "truth":
            said = [votes.classes[int(v)] for v in data.y]
            votes = cw.Annotations.from_arrays(tasks, ["truth"] * len(said), said, classes=votes.classes)
        fitted = CrowdClassifier(
            net_for(scale), method, params=params, epochs=SIZES[scale][1], batch_size=128, lr=1e-3,
            worker_lr=worker_rate(method), validation=0.1, seed=cell["seed"], device=device(scale),
        ).fit(data.x, votes, tasks=tasks)  # fmt: skip
        order = fitted.tasks_.arg_sort().to_numpy()
        return {
            "accuracy": float((fitted.predict_proba(data.test_x).argmax(1) == data.test_y).mean()),
            "labels": float((fitted.result_.posterior.argmax(1) == data.y[order]).mean()),
        }

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Both accuracies."""
        long = rows.select("method", "accuracy", "labels").unpivot(index="method", variable_name="what")
        return [("Accuracy in per cent", mean_table(long, ["method"], "what", "value", digits=2))]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """COINNet first; methods that model workers ahead of the vote."""
        at = {m: mean_of(rows, "accuracy", {"method": m}) for m in METHODS}
        rivals = {m: v for m, v in at.items() if m not in ("truth", "coin_net")}
        error = noise(rows)
        gap = at["coin_net"] - max(rivals.values())
        ahead = max(v for m, v in rivals.items() if m != "vanilla") > at["vanilla"] + error
        return [
            judged("COINNet first", "figure only", percents(at), list(at.values()), gap > 0,
                   f"gap to the best rival {100 * gap:+.2f} points, standard error of a mean {100 * error:.2f}"),
            judged("methods that model the workers ahead of training on the vote", "figure only", percents(at),
                   list(at.values()), ahead,
                   f"training on the truth itself is {100 * (at['truth'] - at['vanilla']):.1f} points ahead of the "
                   "vote, which is right in 91 %: the net is the limit here, not the labels"),
        ]  # fmt: skip


def noise(rows: pl.DataFrame) -> float:
    """Standard error of a method's mean over seeds, pooled over methods."""
    by = rows.group_by("method").agg(pl.col("accuracy").std().alias("s"), pl.len().alias("n")).drop_nulls()
    return float(np.sqrt((by["s"].to_numpy() ** 2 / by["n"].to_numpy()).mean())) if len(by) else 0.0
