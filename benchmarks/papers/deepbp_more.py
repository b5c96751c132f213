"""deepBP, Figures 1, 6 and 7: blurred images and clipping, a fixed budget, and how much trace hangs on its settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import polars as pl

from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import mlp

from .cifar import Images, blurred
from .deepbp_learning import METHODS, SCALED, SLOW, labels_of, learn, pets
from .experiment import Cell, Claim, Experiment, Plot, Scale, device, mean_table
from .regular import regular_crowd
from .verdict import clear, judged, mean_of


class Blur(Experiment):
    """Figure 1."""

    name = "deepbp_fig1"
    paper = "deepBP"
    title = "Figure 1: blurred images and the clipping of the classifier"
    about = (
        """
Workers ~ Beta(1, .5), known to the models. Images blurred before anything else sees them; the paper's radii 0, 8 and 32
of 150 pixels are 0, 1.7 and 6.8 of CIFAR-10's 32. The classifier's say in the inference is cut at c; at c = .5 it has
none, which is inference without features, and the classifier learns from that."""
        + SCALED
    )
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}
    radii: ClassVar[dict[int, float]] = {0: 0.0, 8: 1.7, 32: 6.8}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Radius × clip × the two methods that clip."""
        radii, clips = ((0,), (0.9,)) if scale == "smoke" else (tuple(self.radii), (0.5, 0.7, 0.9, 1.0))
        for radius in radii:
            for clip in clips:
                for method in ("deep_mf", "deep_bp"):
                    yield {"radius": radius, "clip": clip, "method": method, "truth": [1.0, 0.5], "model": [1.0, 0.5],
                           "spammers": 0}  # fmt: skip

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training on blurred images."""
        return learn(cell, scale, _blurred(cell["radius"], self.radii[cell["radius"]], scale))

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """By method and radius."""
        return [(f"Accuracy of the {what} in per cent", mean_table(rows, ["method", "radius"], "clip", what))
                for what in ("labels", "classifier")]  # fmt: skip

    def plots(self) -> list[Plot]:
        """Both halves of the figure, a line per radius."""
        named = [("labels", "Labels"), ("classifier", "Classifier")]
        return [Plot(title, "clip", y, line="radius", panel="method", level=0.99) for y, title in named]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Features help when sharp, harm little when cut."""
        out = []
        for method in ("deep_mf", "deep_bp"):
            part = rows.filter(pl.col("method") == method)
            points = ((0, 0.5), (0, 0.9), (32, 1.0), (32, 0.7))
            found = [100 * mean_of(part, "labels", {"radius": r, "clip": c}) for r, c in points]
            alone, sharp, worst, cut = found
            out += [
                judged(f"{method}: sharp images lift the labels above inference without features", "figure only",
                       f"{alone:.1f} → {sharp:.1f} (c = .9)", [alone, sharp], sharp > alone),
                judged(f"{method}: with blurred images a low clip stays near inference without features", "figure only",
                       f"without {alone:.1f}; radius 32: c = .7 {cut:.1f}, 1 {worst:.1f}",
                       [alone, worst, cut], cut > alone - 1),
            ]  # fmt: skip
        return out


def _blurred(radius: int, pixels: float, scale: Scale) -> Images:
    if not radius:
        return pets(scale)
    if scale == "paper":
        from scipy.ndimage import gaussian_filter

        sharp = pets("paper")
        x, test = (gaussian_filter(p, (0, 0, pixels, pixels)) for p in (sharp.x, sharp.test_x))
        return Images(x, sharp.y, test, sharp.test_y)
    return blurred(pixels, (3, 5))


class Budget(Experiment):
    """Figure 6 a."""

    name = "deepbp_fig6"
    paper = "deepBP"
    title = "Figure 6: a fixed budget, many tasks or many labels"
    about = (
        """
2,000 labels in all: N = 2,000 / l tasks with l labels each, workers ~ Beta(2, 1) with four labels each, known to the
models. The figure's second half, on faces, is not repeated: that set is missing."""
        + SCALED
    )
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Labels per task."""
        for count in (4,) if scale == "smoke" else (1, 2, 4, 8, 10):
            for method in METHODS:
                yield {"labels_per_task": count, "method": method, "truth": [2.0, 1.0], "model": [2.0, 1.0],
                       "spammers": 0}  # fmt: skip

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training."""
        return learn(cell, scale, n=2000 // cell["labels_per_task"])

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Classifier and labels."""
        return [(f"Accuracy of the {what} in per cent", mean_table(rows, ["labels_per_task"], "method", what))
                for what in ("classifier", "labels")]  # fmt: skip

    def plots(self) -> list[Plot]:
        """The figure."""
        return [Plot("Classifier", "labels_per_task", "classifier", level=0.99)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """The classifier is best with many tasks of few labels, whatever the method."""
        out = []
        for method in METHODS:
            part = rows.filter(pl.col("method") == method)
            found = {c: 100 * mean_of(part, "classifier", {"labels_per_task": c}) for c in (1, 2, 4, 8, 10)}
            said = ", ".join(f"{c}: {v:.1f}" for c, v in found.items())
            text = f"{method}: many tasks of one or two labels beat few tasks of eight or ten"
            few, many = max((1, 2), key=found.__getitem__), max((8, 10), key=found.__getitem__)
            faint = not clear(
                part.filter(pl.col("labels_per_task").is_in([few, many])), "classifier", "labels_per_task"
            )
            more = found[few] > found[many]
            out.append(judged(text, "figure only", said, list(found.values()), more, faint=faint))
        return out


class Sensitivity(Experiment):
    """Figure 7."""

    name = "deepbp_fig7"
    paper = "deepBP"
    title = "Figure 7: the sensitivity of trace to strength, start and learning rate"
    about = (
        """
Workers ~ Beta(3, 1). Confusions begin at the softmax of δ · identity. *log_trace* is the paper's own form of the prior
(eq. 35), *trace* Tanno's (mean over workers), *crowd_layer* has no prior. Panel λ: δ = 2; panel δ: λ = .5; panel
worker_lr: both held. The learning rate of the confusions is 1e-2 (where it is not moved), as in the paper."""
        + SCALED
    )
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 7, "paper": 7}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """One setting is moved, the others held."""
        held = {"λ": 0.5, "δ": 2.0, "worker_lr": 1e-2}
        moved = {"λ": (0.0, 0.01, 0.1, 0.5, 1.0, 2.0), "δ": (1.0, 2.0, 4.0, 6.0), "worker_lr": (1e-3, 3e-3, 1e-2)}
        for panel, values in {"δ": (2.0,)}.items() if scale == "smoke" else moved.items():
            for value in values:
                for method in ("crowd_layer", "trace", "log_trace"):
                    if panel == "λ" and method == "crowd_layer":
                        continue
                    yield {"panel": panel, "x": value, **held, panel: value, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training."""
        data, n = pets(scale), 200 if scale == "smoke" else 1000
        pick = np.random.default_rng([cell["seed"], 9]).permutation(len(data.y))[:n]
        votes, truth = regular_crowd(cell["seed"], (3.0, 1.0), n=n, truth=data.y[pick])
        params: dict[str, Any] = {"start": "eye", "scale": cell["δ"]}
        if cell["method"] != "crowd_layer":
            params |= {"strength": cell["λ"], "form": "softmax"}
        fitted = CrowdClassifier(
            lambda shape, k: mlp(shape, k, hidden=(128,), dropout=0.5), cell["method"], params=params, batch_size=n,
            epochs={"smoke": 3, "small": 100, "paper": 200}[scale], lr=1e-3 if scale == "paper" else SLOW,
            worker_lr=cell["worker_lr"], validation=0, seed=cell["seed"], device=device(scale),
        ).fit(data.x[pick], votes)  # fmt: skip
        test = fitted.predict_proba(data.test_x).argmax(1)
        return {"labels": float((labels_of(fitted, votes) == truth).mean()),
                "classifier": float((test == data.test_y).mean())}  # fmt: skip

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Both accuracies."""
        return [(f"Accuracy of the {what} in per cent", mean_table(rows, ["panel", "x"], "method", what))
                for what in ("labels", "classifier")]  # fmt: skip

    def plots(self) -> list[Plot]:
        """The figure; a panel each."""
        return [Plot(f"{y}, {p} moved", "x", y, level=0.99, where={"panel": p})
                for p in ("λ", "δ") for y in ("labels", "classifier")]  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Worse with λ, and much hanging on δ."""
        moved = {"λ": (0.0, 0.01, 0.1, 0.5, 1.0, 2.0), "δ": (1.0, 2.0, 4.0, 6.0)}
        out = []
        for method in ("trace", "log_trace"):
            part = rows.filter(pl.col("method") == method)
            by = {p: {x: 100 * mean_of(part, "labels", {"panel": p, "x": x}) for x in xs} for p, xs in moved.items()}
            said = {p: ", ".join(f"{x:g}: {v:.1f}" for x, v in found.items()) for p, found in by.items()}
            lam, delta = by["λ"], by["δ"].values()
            out += [
                judged(f"{method}: labels get worse as λ grows from .5 to 2", "figure only", said["λ"],
                       list(lam.values()), lam[2.0] < lam[0.5]),
                judged(f"{method}: labels hang on the start δ by more than 2 points", "figure only", said["δ"],
                       list(delta), max(delta) - min(delta) > 2),
            ]  # fmt: skip
        return out
