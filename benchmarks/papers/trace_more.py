"""Trace, Figures 4, 5 and 7: dominance broken, sensitivity to λ, T and G, skill of real workers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl

from benchmarks.learn.mnist_data import mnist
from benchmarks.learn.real import Set, load, net_for
from crowdwise.learn import CrowdClassifier

from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .flippers import flippers, say
from .trace_mnist import METHODS, SIZES, chosen, train_one
from .verdict import clear, judged, mean_of

# What is moved for each method.
GRID: dict[str, tuple[str, tuple[float, ...]]] = {
    "trace": ("strength", (0.0, 0.001, 0.01, 0.1, 1.0)),
    "generalised EM": ("inner", (1, 2, 5, 10)),
    "MBEM": ("rounds", (2, 4, 10)),
}


class Settings(Experiment):
    """Figure 5."""

    name = "trace_settings"
    paper = "Trace"
    title = "Figure 5: sensitivity to λ, T and G"
    about = """
MNIST, five pairwise flippers of skill .35, one label an image, as in the paper. trace: the strength λ. Generalised EM:
G epochs between two E-steps; MBEM: T rounds; the epochs in all are held (15; the paper holds 100,000 steps). Data and
net as for Figures 6 and 10."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 5, "paper": 3}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """One setting each."""
        for method, (setting, values) in GRID.items():
            for value in values[:1] if scale == "smoke" else values:
                yield {"method": method, "setting": setting, "value": value}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training."""
        _, y, _, _ = mnist(*SIZES[scale][:2])
        true = flippers(0.35, cell["seed"])
        votes = say(true, y, cell["seed"], dense=False)
        return train_one(METHODS[cell["method"]][0], {cell["setting"]: cell["value"]}, votes, true, cell["seed"], scale)

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """A line for each setting."""
        shown = rows.group_by("method", "setting", "value", maintain_order=True).agg(
            pl.format("{} ± {}", (100 * pl.col("accuracy").mean()).round(1), (100 * pl.col("accuracy").std()).round(1))
            .alias("accuracy in per cent"),
            pl.format("{} ± {}", (100 * pl.col("cm_error").mean()).round(2), (100 * pl.col("cm_error").std()).round(2))
            .alias("CM error × 100"),
        )  # fmt: skip
        return [("Test accuracy and CM error", shown)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """λ hardly matters between .001 and .1; T and G do."""
        by = {w: {v: 100 * mean_of(rows, "accuracy", {"method": w, "value": v}) for v in values}
              for w, (_, values) in GRID.items()}  # fmt: skip
        said = {w: ", ".join(f"{v:g}: {a:.1f}" for v, a in found.items()) for w, found in by.items()}
        spread = {w: max(found.values()) - min(found.values()) for w, found in by.items()}
        stable, every = (
            [by["trace"][v] for v in (0.001, 0.01, 0.1)],
            [a for found in by.values() for a in found.values()],
        )
        span, large = max(stable) - min(stable), by["trace"][1.0]
        calm = [w for w in ("generalised EM", "MBEM") if round(spread[w] - span, 1) <= 0]
        why = f"{span:.1f} points apart, less than single runs scatter at .001 and at .1; best at .01"
        return [
            judged("trace is stable for λ from .001 to .1 (accuracy)", "figure only", said["trace"], stable, span < 2,
                   why),
            judged("a λ that outweighs the cross-entropy does harm", "text only", f"λ = 1: {large:.1f}",
                   [large, *stable], large < min(stable) - 2),
            judged("EM and MBEM hang on T and G by more (spread in points)", "figure only",
                   f"trace {span:.1f}; EM (G) {spread['generalised EM']:.1f}: {said['generalised EM']}; "
                   f"MBEM (T) {spread['MBEM']:.1f}: {said['MBEM']}", every,
                   not calm, f"{' and '.join(calm)} by no more than trace on λ"),
        ]  # fmt: skip


class Broken(Experiment):
    """Figure 4."""

    name = "trace_broken"
    paper = "Trace"
    title = "Figure 4: diagonal dominance holds, or is broken"
    about = """
Skill .3, five flippers, one label an image. Their targets are drawn until the mean confusion is diagonally dominant by
column (*holds*), or until it is not (*broken*: three flippers share a target somewhere); the skill is the same. The
paper lets the skill fall to .25 instead, where dominance is lost and the labels are worse as well. Data and net as for
Figures 6 and 10."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 5, "paper": 5}
    methods = ("trace", "no trace", "generalised EM", "MBEM", "oracle", "vanilla")

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Both kinds of crowd."""
        for dominance in ("broken",) if scale == "smoke" else ("holds", "broken"):
            for method in self.methods[:2] if scale == "smoke" else self.methods:
                yield {"dominance": dominance, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One training."""
        _, y, _, _ = mnist(*SIZES[scale][:2])
        true = flippers(0.3, cell["seed"], dominant=cell["dominance"] == "holds")
        votes = say(true, y, cell["seed"], dense=False)
        mean = true.mean(0)
        off = (mean - np.diag(np.diag(mean))).max(axis=0)
        found = chosen(cell["method"], votes, true, cell["seed"], scale)
        return {**found, "classes_lost": float((np.diag(mean) <= off).sum())}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Accuracy, CM error, and how many classes are not dominant."""
        return [
            ("Test accuracy in per cent", mean_table(rows, ["method"], "dominance", "accuracy")),
            ("CM error × 100", mean_table(rows, ["method"], "dominance", "cm_error", digits=2)),
            ("Classes without dominance", mean_table(rows, ["method"], "dominance", "classes_lost", percent=False)),
        ]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Trace falls where dominance is broken; the oracle does not."""
        both = ("holds", "broken")
        hit = {w: [100 * mean_of(rows, "accuracy", {"method": w, "dominance": d}) for d in both]
               for w in ("trace", "oracle")}  # fmt: skip
        error = [100 * mean_of(rows, "cm_error", {"method": "trace", "dominance": d}) for d in both]
        lost = {w: a - b for w, (a, b) in hit.items()}
        said = ", ".join(f"{w} {a:.1f} → {b:.1f}" for w, (a, b) in hit.items())
        faint = {value: not clear(rows.filter(pl.col("method") == "trace"), value, "dominance")
                 for value in ("accuracy", "cm_error")}  # fmt: skip
        return [
            judged("without dominance trace falls, more than the oracle does (accuracy)", "figure only", said,
                   list(lost.values()), lost["trace"] > max(lost["oracle"], 0) + 2, faint=faint["accuracy"]),
            judged("without dominance trace's CM error rises (× 100)", "figure only",
                   f"{error[0]:.2f} → {error[1]:.2f}", error, error[1] > error[0], faint=faint["cm_error"]),
        ]  # fmt: skip


class RealSkill(Experiment):
    """The analogue of Figure 7 b."""

    name = "trace_real_skill"
    paper = "Trace"
    title = "Figure 7: estimated against true skill of real workers (stand-in: LabelMe, Music)"
    about = """
The cardiac views are private. Stand-in: the workers of LabelMe and Music with at least 20 labels. Estimated skill: the
mean diagonal of the worker's learnt confusion matrix, as in the paper; true skill: the share of their labels that are
right. *r* is their correlation, *rank* that of the ranks, *gap* the mean absolute difference. 40 epochs at 1e-3, the
confusions at 1e-2, the epoch kept is chosen by held-out labels."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 10}
    methods = ("trace", "no trace", "generalised EM", "MBEM")

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Two sets, four methods."""
        for name in ("music",) if scale == "smoke" else ("labelme", "music"):
            for method in self.methods[:1] if scale == "smoke" else self.methods:
                yield {"set": name, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Correlations and test accuracy."""
        from scipy.stats import pearsonr, spearmanr

        data, params = _real(cell["set"]), METHODS[cell["method"]][1]
        fitted = CrowdClassifier(
            net_for(cell["set"]), METHODS[cell["method"]][0], params=params, epochs=2 if scale == "smoke" else 40,
            batch_size=64, lr=1e-3, worker_lr=1e-2, seed=cell["seed"],
        ).fit(data.x, data.votes, tasks=data.tasks)  # fmt: skip
        true, many = _skill(cell["set"])
        found = np.asarray(fitted.confusion_)[many].diagonal(axis1=1, axis2=2).mean(1)
        hit = fitted.predict_proba(data.test_x).argmax(1) == data.test_y
        return {
            "r": float(pearsonr(found, true[many])[0]), "rank": float(spearmanr(found, true[many])[0]),
            "gap": float(np.abs(found - true[many]).mean()), "accuracy": float(hit.mean()),
            "workers": float(many.sum()),
        }  # fmt: skip

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """One table for each figure."""
        return [
            ("Correlation of estimated and true skill", _plain(rows, "r")),
            ("Correlation of the ranks", _plain(rows, "rank")),
            ("Mean absolute difference, in points", mean_table(rows, ["method"], "set", "gap")),
            ("Test accuracy in per cent", mean_table(rows, ["method"], "set", "accuracy")),
            ("Workers", rows.group_by("set", maintain_order=True).agg(pl.col("workers").first().cast(pl.Int64))),
        ]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Good workers can be told from bad ones."""
        out = []
        for name in rows["set"].unique(maintain_order=True):
            r = {w: mean_of(rows, "r", {"set": name, "method": w}) for w in self.methods}
            said = ", ".join(f"{w} {v:.2f}" for w, v in r.items())
            why = f"true skills are known from few labels: even the real ones would have about {_ceiling(name):.2f}"
            out.append(judged(f"{name}: trace's skills follow the true ones (correlation above .7)", "figure only",
                              said, list(r.values()), r["trace"] > 0.7, why))  # fmt: skip
        return out

    def plots(self) -> list[Plot]:
        """Correlation by method."""
        return [Plot("Correlation of skills", "method", "r", line="set")]


def _plain(rows: pl.DataFrame, value: str) -> pl.DataFrame:
    return mean_table(rows, ["method"], "set", value, percent=False, digits=2)


@lru_cache(maxsize=2)
def _real(name: str) -> Set:
    return load(name)


@lru_cache(maxsize=2)
def _skill(name: str) -> tuple[Any, Any]:
    """Share of right labels of every worker, and who has at least 20."""
    data = _real(name)
    truth = np.full(data.votes.n_tasks, -1)
    at = {str(t): int(y) for t, y in zip(data.tasks.to_list(), data.truth, strict=True)}
    truth[:] = [at[str(t)] for t in data.votes.tasks.to_list()]
    right = data.votes.label == truth[data.votes.task]
    count = np.bincount(data.votes.worker, minlength=data.votes.n_workers)
    return np.bincount(data.votes.worker, weights=right, minlength=len(count)) / np.maximum(count, 1), count >= 20


def _ceiling(name: str) -> float:
    """The correlation of the workers' real skills with their shares of right labels, which a sample blurs."""
    share, many = _skill(name)
    count = np.bincount(_real(name).votes.worker, minlength=len(share))[many]
    blur = float((share[many] * (1 - share[many]) / count).mean() / share[many].var())
    return float(np.sqrt(max(0.0, 1 - blur)))
