"""BayesDGC, Figures 3 and 4: a share of the labels is seen; accuracy and F1, by the paper's rule and the plain one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

import crowdwise as cw
from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import linear, mlp

from .cifar import described
from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .sentences import sentences
from .verdict import judged

AGGREGATORS = {
    "MV": cw.MajorityVote(),
    "DS": cw.DawidSkene(),
    "minimax_entropy": cw.classes.MinimaxEntropy(),
    "bayes_gc": cw.classes.BayesGC(),
}
METHODS = ("MV", "DS", "minimax_entropy", "raykar", "bayes_gc", "bayes_dgc")
I8 = npt.NDArray[np.int64]
F8 = npt.NDArray[np.float64]


def scores(positive: F8, truth: I8, seed: int) -> dict[str, float]:
    """Accuracy and F1: of the k surest, k being the true number of positives (the paper's rule), and above one half."""
    luck = np.random.default_rng([seed, 8]).random(len(truth))  # ties are broken by it
    top = np.zeros(len(truth), dtype=bool)
    top[np.lexsort((luck, positive))[len(truth) - int(truth.sum()) :]] = True
    plain = np.where(np.abs(positive - 0.5) < 1e-9, luck < 0.5, positive > 0.5)
    out = {}
    for name, said in (("top", top), ("plain", plain)):
        hit = int((said & (truth == 1)).sum())
        out[f"{name}_accuracy"] = float((said == truth).mean())
        out[f"{name}_f1"] = 2 * hit / max(int(said.sum() + truth.sum()), 1)
    return out


def positives(method: str, x: Any, votes: cw.Annotations, scale: Scale, seed: int) -> F8:
    """p(class 1) of every task."""
    if method in AGGREGATORS:
        return np.asarray(AGGREGATORS[method].fit(votes).posterior[:, 1])
    net = (lambda shape, k: linear(shape, k)) if method == "raykar" else (lambda shape, k: mlp(shape, k, hidden=(100,)))
    # The paper's class prior stands beside the classifier (`use_pi`).
    params: dict[str, Any] = {"warm_up": 0} if method.startswith("bayes_dgc") else {}
    params |= {"use_pi": True} if method == "bayes_dgc, class prior" else {}
    fitted = CrowdClassifier(
        net, method.split(",")[0], params=params, epochs=2 if scale == "smoke" else 30, batch_size=64, lr=1e-3,
        validation=0, seed=seed,
    ).fit(x, votes)  # fmt: skip
    return np.asarray(fitted.result_.posterior[:, 1])


class _Fractions(Experiment):
    paper = "BayesDGC"
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 10}
    down: ClassVar[list[str]] = ["fraction"]
    why = ""  # where BayesDGC is behind

    @abstractmethod
    def data(self, cell: Cell, scale: Scale) -> tuple[Any, I8, cw.Annotations]:
        """Features, truth, and the share of the votes that is seen."""

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One method on one share of the votes; tasks without a label count too."""
        x, truth, votes = self.data(cell, scale)
        return scores(positives(cell["method"], x, votes, scale, cell["seed"]), truth, cell["seed"])

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Four measures."""
        names = {"top_accuracy": "Accuracy, the paper's rule (as many positives as there are)",
                 "top_f1": "F1, the paper's rule", "plain_accuracy": "Accuracy, plain rule",
                 "plain_f1": "F1, plain rule"}  # fmt: skip
        return [(f"{title}, in per cent", mean_table(rows, self.down, "method", name)) for name, title in names.items()]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """BayesDGC first, most of all with few labels: of all, and of those that see no features."""
        measures = {"top_accuracy": "accuracy", "top_f1": "F1", "plain_accuracy": "accuracy, plain rule",
                    "plain_f1": "F1, plain rule"}  # fmt: skip
        mean = rows.group_by(*self.down, "method").agg(pl.col(*measures).mean())
        if not {"bayes_dgc", *METHODS} <= set(rows["method"]):
            return []
        out = []
        for name, title in measures.items():
            wide = mean.pivot("method", index=self.down, values=name).sort(self.down)
            for whom, others in (("of all others", METHODS[:-1]), ("of those without features", tuple(AGGREGATORS))):
                lead = 100 * (wide["bayes_dgc"] - wide.select(pl.max_horizontal(others)).to_series()).to_numpy()
                first, n = int((lead > 0).sum()), len(lead)
                said = f"first at {first} of {n} points; lead {lead.min():+.1f} to {lead.max():+.1f}"
                holds = first > n / 2
                why = self.why if abs(lead).max() > 1 else "all leads are below a point, which is noise"
                out.append(judged(f"BayesDGC ahead {whom} in {title}", "figure only (most points)", said, lead.tolist(),
                                  holds, why, only=first < n))  # fmt: skip
        return out


class Sentences(_Fractions):
    """A real crowd with text."""

    name = "bayesdgc_sentences"
    title = "Figures 3 and 4, a real crowd (stand-in: film-review sentences)"
    about = """
The paper's images with Fisher vectors are missing. Stand-in: 1,500 sentences of film reviews (as many as its second
set has images), drawn by the seed, with all their votes (sentpol_text, 5.5 a sentence, 203 workers), described by 100
directions of their TF-IDF. Of the votes a share from 10 % to 100 % is seen; sentences without any count too, and there
only the classifier knows anything. Classes are even here, see the other experiment for rare ones. BayesDGC with its own
priors (5, 2; 1.1), 100 ReLUs, Adam at 1e-3, 30 epochs."""

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Fractions × methods."""
        for fraction in (0.5,) if scale == "smoke" else (0.1, 0.2, 0.3, 0.5, 0.7, 1.0):
            for method in METHODS:
                yield {"fraction": fraction, "method": method}

    def data(self, cell: Cell, scale: Scale) -> tuple[Any, I8, cw.Annotations]:
        """Sentences and the votes seen."""
        found, rng = sentences(), np.random.default_rng([cell["seed"], 7])
        tasks = np.sort(rng.permutation(len(found.truth))[: 300 if scale == "smoke" else 1500])
        seen = rng.random(len(found.task)) < cell["fraction"]
        return found.x[tasks], found.truth[tasks], found.votes(seen, tasks)

    def plots(self) -> list[Plot]:
        """Accuracy and F1."""
        return [Plot("The paper's rule", "fraction", "top_accuracy"), Plot("Plain rule", "fraction", "plain_accuracy")]


class Rare(_Fractions):
    """Few positives."""

    name = "bayesdgc_rare"
    title = "Figures 3 and 4, rare positives (stand-in: automobiles among CIFAR-10's images)"
    about = """
The paper's 22 tasks are labels of images, most of them rare. Stand-in: 1,000 images of CIFAR-10, 5 % to 30 % of them
automobiles, described by features that no label has touched; nine two-coin workers, sensitivity and specificity ~
Beta(5, 2), who label everything; a share from 10 % to 100 % of their labels is seen. The method *class prior* is
BayesDGC with the paper's class prior beside the classifier, which is off by default: it counts the classes' frequencies
twice. 100 ReLUs, Adam at 1e-3, 30 epochs."""
    down: ClassVar[list[str]] = ["share", "fraction"]
    why = (
        "who calls nothing positive is right in 95 % where 5 % are, and bayes_gc's class prior learns that soon; the "
        "classifier takes the frequencies of the votes first, which have too many positives"
    )
    positive = 1  # automobile

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Share of positives × fraction × methods."""
        shares, parts = ((0.15,), (0.5,)) if scale == "smoke" else ((0.05, 0.15, 0.3), (0.1, 0.3, 0.6, 1.0))
        for share in shares:
            for fraction in parts:
                for method in (*METHODS, "bayes_dgc, class prior"):
                    yield {"share": share, "fraction": fraction, "method": method}

    def data(self, cell: Cell, scale: Scale) -> tuple[Any, I8, cw.Annotations]:
        """Images and the votes seen."""
        images, rng = described(scale), np.random.default_rng([cell["seed"], 7])
        n = 300 if scale == "smoke" else 1000
        order = rng.permutation(len(images.y))
        is_one = images.y[order] == self.positive
        count = round(cell["share"] * n)
        pick = rng.permutation(np.concatenate([order[is_one][:count], order[~is_one][: n - count]]))
        truth = (images.y[pick] == self.positive).astype(np.int64)
        right = rng.beta(5, 2, (9, 2))  # of workers, by class
        task, worker = np.divmod(np.arange(9 * n), 9)
        label = np.where(rng.random(9 * n) < right[worker, truth[task]], truth[task], 1 - truth[task])
        seen = rng.random(9 * n) < cell["fraction"]
        votes = cw.Annotations.from_arrays(task[seen], worker[seen], label[seen], tasks=range(n), classes=[0, 1])
        return images.x[pick], truth, votes

    def plots(self) -> list[Plot]:
        """F1 by both rules."""
        return [Plot("The paper's rule", "fraction", "top_f1", panel="share"),
                Plot("Plain rule", "fraction", "plain_f1", panel="share")]  # fmt: skip
