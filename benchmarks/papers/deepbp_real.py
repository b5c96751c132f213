"""deepBP on real crowds: Figure 10 (the extreme spammers of temp and rte) and a stand-in for Figure 5."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise import datasets

from .deepbp_inference import METHODS as INFERENCE
from .deepbp_inference import infer
from .deepbp_learning import labels_of, train
from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .sentences import sentences
from .verdict import judged, mean_of, percents

TWO = "BP two-coin"
PUBLISHED = {"temp": ((442, 452, 462), (0.50, 0.44, 0.44)), "rte": ((540, 700, 760, 800), (0.50, 0.58, 0.49, 0.50))}


@lru_cache(maxsize=2)
def _crowd(name: str) -> tuple[cw.Annotations, Any]:
    """Votes, and the truth as class codes in the order of the tasks."""
    found = datasets.load(name)
    votes = found.annotations
    assert found.truth is not None
    code = {str(c): i for i, c in enumerate(votes.classes.to_list())}
    said = dict(zip(found.truth["task"].cast(pl.String), found.truth["label"].cast(pl.String), strict=True))
    return votes, np.array([code[said[str(t)]] for t in votes.tasks.to_list()])


def spammers(name: str) -> pl.DataFrame:
    """Workers who labelled at least half of the tasks and were right on at most 60 % of them."""
    votes, truth = _crowd(name)
    right = pl.DataFrame({"worker": votes.worker, "label": votes.label, "right": votes.label == truth[votes.task]})
    found = right.group_by("worker").agg(
        pl.len().alias("labels"),
        pl.col("right").mean().alias("accuracy"),
        pl.max_horizontal(pl.col("label").mean(), 1 - pl.col("label").mean()).alias("share of their usual answer"),
    )
    return found.filter((pl.col("labels") >= votes.n_tasks / 2) & (pl.col("accuracy") <= 0.6)).sort("labels")


class Extreme(Experiment):
    """Figure 10, and what the spammers do to inference."""

    name = "deepbp_fig10"
    paper = "deepBP"
    title = "Figure 10: the extreme spammers of temp and rte"
    about = """
Workers who label at least half of the tasks at chance, found by truth as in the paper, and what they do to inference.
*thin*: all other workers keep four labels each, drawn by the seed (the regime of the paper's simulations; tasks without
a label left are out); *whole*: the data as they are. Each with and without the spammers, under the models Beta(2, α2).
The paper shows only that such workers exist; what they do is our addition, and so is the two-coin BP, a matrix per
worker integrated out."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 20, "paper": 50}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Set × graph × with and without × model."""
        sets, alphas = (("temp",), (1.4,)) if scale == "smoke" else (("temp", "rte"), (1.0, 1.4, 1.8))
        for name in sets:
            for graph in ("thin", "whole"):
                for there in (True, False):
                    for a in alphas:
                        more = (TWO,) if graph == "thin" and a == 1.4 else ()  # 256 nodes: only where it is asked for
                        for method in (*INFERENCE, *more):
                            yield {"set": name, "graph": graph, "spammers": there, "alpha2": a, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:  # noqa: ARG002
        """Accuracy over tasks that have a label of somebody who is no spammer."""
        votes, truth = _crowd(cell["set"])
        out = np.isin(votes.worker, spammers(cell["set"])["worker"].to_numpy())
        order = np.random.default_rng([cell["seed"], 5]).permutation(len(out))
        order = order[np.argsort(np.asarray(votes.worker)[order], kind="stable")]
        worker = np.asarray(votes.worker)[order]
        first = np.searchsorted(worker, worker)
        few = np.zeros(len(out), dtype=bool)
        few[order] = np.arange(len(out)) - first < 4
        kept = ~out & few if cell["graph"] == "thin" else ~out
        seen = np.unique(votes.task[kept])
        use = (kept | out if cell["spammers"] else kept) & np.isin(votes.task, seen)
        parts = (np.searchsorted(seen, votes.task[use]), votes.worker[use], votes.label[use])
        said = cw.Annotations.from_arrays(*parts, classes=[0, 1])
        if cell["method"] == TWO:
            model = cw.classes.BeliefPropagation(prior="two_coin", prior_right=2.0, prior_wrong=cell["alpha2"])
            labels = model.fit(said).labels
        else:
            labels = infer(cell["method"], said, (2.0, cell["alpha2"])).labels
        return {"accuracy": float((labels == truth[seen]).mean())}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """The spammers, then the accuracies."""
        out = []
        for name in rows["set"].unique(maintain_order=True):
            found = spammers(name).with_columns(pl.col(pl.Float64).round(3)).drop("worker")
            out.append((f"Extreme spammers of {name}", found))
        down = ["set", "graph", "spammers", "alpha2"]
        return [*out, ("Accuracy in per cent", mean_table(rows, down, "method", "accuracy"))]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """They exist; and with them BP is no worse than MF."""
        out = []
        for name in rows["set"].unique(maintain_order=True):
            found, (counts, rates) = spammers(name), PUBLISHED[name]
            said = ", ".join(f"{n} at {a:.2f}" for n, a in zip(found["labels"], found["accuracy"], strict=True))
            theirs = ", ".join(f"{n} at {a:.2f}" for n, a in zip(counts, rates, strict=True))
            more = len(found) > len(counts)
            out.append(Claim(f"{name}: workers who label most tasks at chance", theirs, said,
                             "reproduced" if set(counts) <= set(found["labels"]) else "not reproduced",
                             "and one more, whom the paper leaves out" if more else ""))  # fmt: skip
            hard = {"set": name, "graph": "thin", "spammers": True, "alpha2": 1.4}
            mean = {m: mean_of(rows, "accuracy", {**hard, "method": m}) for m in (*INFERENCE, TWO)}
            why = ("no coins: they give one answer nearly always and so agree with each other, which a one-coin model "
                   "takes for skill")  # fmt: skip
            out.append(judged(f"{name}, thin, Beta(2, 1.4): the spammers do less harm to one-coin BP than to either MF",
                              "not shown", percents({m: mean[m] for m in INFERENCE}), list(mean.values()),
                              mean["BP one-coin"] > max(mean["MF two-coin"], mean["MF one-coin"]), why))  # fmt: skip
            out.append(judged(f"{name}, thin, Beta(2, 1.4): less to two-coin BP than to two-coin MF (asked afterwards)",
                              "not shown", percents({m: mean[m] for m in ("MF two-coin", TWO)}), list(mean.values()),
                              mean[TWO] > mean["MF two-coin"]))  # fmt: skip
        return out


class Real(Experiment):
    """Figure 5's stand-in."""

    name = "deepbp_fig5"
    paper = "deepBP"
    title = "Figure 5: a real crowd with features (stand-in: film-review sentences)"
    about = """
The faces of the paper are missing. Stand-in: sentences of film reviews with real votes (sentpol_text), described by
100 directions of their TF-IDF (no label touches them). Per seed 500 sentences for training; every worker keeps four of
their labels on them at most, as in the paper; 1,000 other sentences test the classifier. Panel noise: features under
Gaussian noise of so many of their own deviations, in place of a blur, models believe in Beta(1, .5). Panel spammers:
so many who label all 500 by a coin, models believe in Beta(2, 1.3). A layer of 128 ReLUs, full batches, 100 rounds at
3e-4; *labels* of tasks that have one."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}
    learners = ("crowd_layer", "bayes_dgc", "deep_mf", "deep_bp")
    methods = ("MV", "MF one-coin", "MF two-coin", "BP one-coin", *learners)

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Both panels; inference without features does not see the noise."""
        noises, numbers = ((0.0,), ()) if scale == "smoke" else ((0.0, 1.0, 3.0), (0, 1, 2, 4))
        for panel, x in [*(("noise", x) for x in noises), *(("spammers", float(s)) for s in numbers)]:
            for method in self.methods:
                yield {"panel": panel, "x": x, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One method."""
        found, rng = sentences(), np.random.default_rng([cell["seed"], 6])
        tasks = rng.permutation(len(found.truth))[:1500]
        train_tasks, test = np.sort(tasks[:500]), tasks[500:]
        votes = _sparse(train_tasks, rng, int(cell["x"]) if cell["panel"] == "spammers" else 0)
        noise = cell["x"] if cell["panel"] == "noise" else 0.0
        x, test_x = (found.x[t] + noise * rng.standard_normal(found.x[t].shape).astype(np.float32)
                     for t in (train_tasks, test))  # fmt: skip
        model = (1.0, 0.5) if cell["panel"] == "noise" else (2.0, 1.3)
        truth, labelled = found.truth[train_tasks], np.bincount(votes.task, minlength=500) > 0
        if cell["method"] not in self.learners and cell["method"] != "MV":
            said = infer(cell["method"], votes, model).labels
            return {"labels": float((said == truth)[labelled].mean())}
        fitted = train(cell["method"], model, x, votes, scale, cell["seed"], lr=3e-4)
        hit = fitted.predict_proba(test_x).argmax(1) == found.truth[test]
        return {"labels": float((labels_of(fitted, votes) == truth)[labelled].mean()), "classifier": float(hit.mean())}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Both accuracies."""
        return [(f"Accuracy of the {what} in per cent", mean_table(rows, ["panel", "x"], "method", what))
                for what in ("labels", "classifier")]  # fmt: skip

    def plots(self) -> list[Plot]:
        """The figure's four parts."""
        return [Plot(f"{y}, {p}", "x", y, level=0.99, where={"panel": p})
                for p in ("noise", "spammers") for y in ("labels", "classifier")]  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """deepBP ahead on clear features, and steadier under spammers."""
        out = []
        for panel, x, text in (("noise", 0.0, "clear features: deepBP learns best"),
                               ("spammers", 4.0, "four extreme spammers: deepBP learns best")):  # fmt: skip
            there = {"panel": panel, "x": x}
            scores = {w: mean_of(rows, "classifier", {**there, "method": w}) for w in ("MV", *self.learners)}
            lead = scores["deep_bp"] - max(v for w, v in scores.items() if w != "deep_bp")
            near = "" if abs(lead) > 0.01 else f"{100 * lead:+.1f} points to the next, which is noise"
            out.append(judged(f"{text} (classifier)", "figure only", percents(scores), list(scores.values()), lead > 0,
                              remark=near, only=lead < 0.01))  # fmt: skip
        ends = {w: [100 * mean_of(rows, "labels", {"panel": "spammers", "x": x, "method": w}) for x in (0.0, 4.0)]
                for w in ("deep_mf", "deep_bp")}  # fmt: skip
        lost = {w: a - b for w, (a, b) in ends.items()}
        said = ", ".join(f"{w} {a:.1f} → {b:.1f}" for w, (a, b) in ends.items())
        out.append(judged("no spammer → four: deepBP loses less than deepMF (labels)", "figure only", said,
                          list(lost.values()), lost["deep_bp"] < lost["deep_mf"]))  # fmt: skip
        return out


def _sparse(tasks: Any, rng: np.random.Generator, n_spammers: int) -> cw.Annotations:
    """Four labels a worker on these tasks, drawn again for each seed, and spammers who label all of them."""
    found = sentences()
    inside = np.flatnonzero(np.isin(found.task, tasks))
    inside = rng.permutation(inside)
    inside = inside[np.argsort(found.worker[inside], kind="stable")]
    worker = found.worker[inside]
    kept = inside[np.arange(len(inside)) - np.searchsorted(worker, worker) < 4]
    n = len(tasks)
    everything = np.tile(np.arange(n), n_spammers)
    spammer = np.repeat(10_000 + np.arange(n_spammers), n)
    return cw.Annotations.from_arrays(
        np.concatenate([np.searchsorted(tasks, found.task[kept]), everything]),
        np.concatenate([found.worker[kept], spammer]),
        np.concatenate([found.label[kept], rng.integers(0, 2, len(everything))]),
        tasks=range(n), classes=[0, 1],
    )  # fmt: skip
