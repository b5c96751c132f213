"""Every training method on LabelMe and Music, with the epoch and the method chosen without truth.

python -m benchmarks.learn.real [--seeds 5] [--sets labelme music] [--methods NAME ...]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import nn

import crowdwise as cw
from crowdwise import datasets
from crowdwise.kinds.classes.learn.cards import LEARNERS
from crowdwise.learn import CrowdClassifier

from ..markdown import table, write_section
from .cache import Runs
from .page import PAGE

SKIP = {"known_confusion"}  # needs the confusions, which nobody knows: `oracle` counts them under the truth
TOLD = ("truth", "said", "oracle")  # what sees the truth of the training tasks
EPOCHS = {"labelme": 40, "music": 120}  # 700 clips make few steps an epoch
PUBLISHED = {"labelme": {"max_mig": 86.42, "agg_net": 85.20, "crowd_layer": 83.65, "vanilla": 79.83, "conal": 87.12}}


ABOUT = """Test accuracy in per cent over {seeds} seeds. MLP of 128 with dropout .5, Adam 1e-3 for net and workers,
batches of 64, at most 40 epochs, on Music 120. 15 % of the labelled tasks are kept aside; the epoch kept is the one
that best predicts their labels. *refit*: trained again on all tasks for as many epochs (`refit=True`). *truth*:
trained on the truth; *said*: on the truth where somebody said it and on hierarchical's label where nobody did, so the
best that choosing among labels could do; *oracle*: on the labels with the workers' true confusions, counted under the
truth (`known_confusion`). *train*: accuracy of the posterior of the training tasks (features and labels together).
*score*: mean log-likelihood of the held-out labels. *chosen*: the method with the best score, over all seeds (each
keeps other tasks aside) or for each seed by its own split, too little to tell them apart."""


@dataclass(frozen=True)
class Set:
    """A data set with features: training tasks, their votes, and a test part with truth."""

    name: str
    votes: Any
    tasks: pl.Series
    x: Any
    truth: Any
    test_x: Any
    test_y: Any

    @cached_property
    def true(self) -> np.ndarray:
        """The truth in the order of the votes' tasks."""
        found: np.ndarray = self.truth[self.tasks.arg_sort().to_numpy()]
        return found


def load(name: str) -> Set:
    """A set whose features.npz has a training and a test part."""
    found = datasets.load(name)
    parts, votes = found.features, found.annotations
    if parts is None:
        raise SystemExit(f"{name} has no features")
    kind = votes.tasks.dtype
    tasks = pl.Series("task", parts["train_task"].tolist()).cast(kind, strict=False)
    classes = {str(c): code for code, c in enumerate(votes.classes.to_list())}
    x, test_x = (parts[p].astype(np.float32) for p in ("train_x", "test_x"))
    mean, spread = x.mean(0), x.std(0) + 1e-6
    if name == "music":  # Marsyas features have very different scales
        x, test_x = (x - mean) / spread, (test_x - mean) / spread
    y, test_y = (np.array([classes[str(v)] for v in parts[p].tolist()]) for p in ("train_y", "test_y"))
    return Set(name, votes, tasks, x, y, test_x, test_y)


def net_for(name: str) -> Any:
    """MLP of 128 with dropout .5; for Music with batch normalisation, as in the papers."""

    def make(shape: tuple[int, ...], k: int) -> nn.Module:
        d = shape[0]
        if name == "music":
            return nn.Sequential(
                nn.BatchNorm1d(d), nn.Linear(d, 128), nn.ReLU(), nn.Dropout(0.5), nn.BatchNorm1d(128), nn.Linear(128, k)
            )
        return nn.Sequential(nn.Linear(d, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, k))

    return make


def one(data: Set, method: str, seed: int, epochs: int, *, refit: bool = False) -> dict[str, Any]:
    """Train once; test accuracy of the classifier, accuracy of the forecaster on the training tasks, the score."""
    started = time.process_time()
    settings: dict[str, Any] = {"epochs": epochs, "batch_size": 64, "lr": 1e-3, "worker_lr": 1e-3, "seed": seed}
    settings |= {"refit": refit}
    votes = data.votes
    if method in ("truth", "said"):
        votes = one_label(data, only_said=method == "said")
    if method == "oracle":
        settings |= {"params": {"confusion": counted(data)}}
    if method in ("deep_mf", "deep_bp"):  # all tasks at once: many more rounds are needed
        settings |= {"batch_size": None, "epochs": 4 * epochs, "lr": 5e-3, "worker_lr": 5e-3}
    learner = {"truth": "vanilla", "said": "vanilla", "oracle": "known_confusion"}.get(method, method)
    fitted = CrowdClassifier(net_for(data.name), learner, **settings)
    fitted.fit(data.x, votes, tasks=data.tasks)
    hits = fitted.predict_proba(data.test_x).argmax(1) == data.test_y
    return {
        "set": data.name, "method": method, "seed": seed, "epoch": fitted.history_.best_epoch,
        "accuracy": float(hits.mean()), "hits": "".join("1" if hit else "0" for hit in hits),
        "train": float((fitted.result_.posterior.argmax(1) == data.true).mean()),
        "score": None if refit else max(fitted.history_["score"]), "seconds": time.process_time() - started,
    }  # fmt: skip


def one_label(data: Set, *, only_said: bool) -> cw.Annotations:
    """The truth of every training task; with `only_said`, where nobody said it, what the crowd says instead."""
    votes, true = data.votes, data.true
    if only_said:
        named = np.bincount(votes.task, weights=votes.label == true[votes.task], minlength=votes.n_tasks) > 0
        true = np.where(named, true, cw.classes.Hierarchical().fit(votes).posterior.argmax(1))
    labels = [votes.classes[int(code)] for code in true]
    return cw.Annotations.from_arrays(votes.tasks, ["truth"] * len(labels), labels, classes=votes.classes)


def counted(data: Set) -> np.ndarray:
    """Every worker's confusion as the truth of the training tasks shows it, with two pseudo-counts of the crowd's."""
    votes, true = data.votes, data.true
    counts = np.zeros((votes.n_workers, votes.n_classes, votes.n_classes))
    np.add.at(counts, (votes.worker, true[votes.task], votes.label), 1)
    pooled = counts.sum(0) + 0.1
    counts += 2 * pooled / pooled.sum(1, keepdims=True)
    return counts / counts.sum(2, keepdims=True)


def main() -> None:
    """Run what is not in the cache, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=["labelme", "music"])
    parser.add_argument(
        "--methods",
        nargs="+",
        default=[*TOLD, *(m for m, card in LEARNERS.items() if card.takes == "classes" and m not in SKIP)],
    )
    args = parser.parse_args()
    whole = (args.sets, args.methods) == (parser.get_default("sets"), parser.get_default("methods"))
    torch.set_num_threads(1)
    key = ("set", "method", "seed")
    runs, again = Runs("learn-real", key), Runs("learn-real-refit", key)
    for name in args.sets:
        data = load(name)
        for method in args.methods:
            for seed in range(args.seeds):
                if not runs.has(name, method, seed):
                    runs.add(one(data, method, seed, EPOCHS[name]))
                if not again.has(name, method, seed):
                    again.add(one(data, method, seed, EPOCHS[name], refit=True))
            mine = [r["accuracy"] for r in runs.rows if r["set"] == name and r["method"] == method]
            print(f"{name:8s} {method:20s} {100 * np.mean(mine):6.2f} ± {100 * np.std(mine):.2f}", flush=True)
    if whole:  # a part of it would drop the rest from the page
        rows, refitted = ([r for r in some.rows if r["seed"] < args.seeds] for some in (runs, again))
        text = body(rows, refitted, args.seeds)
        write_section(PAGE, "real", "LabelMe and Music", "python -m benchmarks.learn.real", text)


def shown(refitted: list[dict[str, Any]], name: str, method: str, seeds: int) -> str:
    """Accuracy after training again on all tasks."""
    values = [100 * r["accuracy"] for r in refitted if r["set"] == name and r["method"] == method]
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=min(1, seeds - 1)):.1f}"


def body(rows: list[dict[str, Any]], refitted: list[dict[str, Any]], seeds: int) -> str:
    """The tables of both sets."""
    out = [ABOUT.format(seeds=seeds)]
    for name in dict.fromkeys(r["set"] for r in rows):
        mine = pl.DataFrame([r for r in rows if r["set"] == name])
        means = mine.group_by("method").agg(
            pl.col("accuracy").mean().alias("a"), pl.col("accuracy").std().alias("s"), pl.col("train").mean(),
            pl.col("score").mean(), pl.col("epoch").mean(), pl.col("seconds").mean(),
        ).sort("a", descending=True)  # fmt: skip
        crowd_only = mine.filter(~pl.col("method").is_in(TOLD))
        once = crowd_only.sort("score").group_by("seed").last()
        best = crowd_only.group_by("method").agg(pl.col("score").mean()).sort("score")["method"][-1]
        often = crowd_only.filter(pl.col("method") == best)
        lines = [
            [r["method"], f"{100 * r['a']:.1f} ± {100 * (r['s'] or 0):.1f}",
             shown(refitted, name, r["method"], seeds), f"{100 * r['train']:.1f}",
             f"{r['score']:.3f}", f"{r['epoch']:.0f}", f"{r['seconds']:.0f}",
             str(PUBLISHED.get(name, {}).get(r["method"], ""))]
            for r in means.iter_rows(named=True)
        ]  # fmt: skip
        for what, picked in ((f"*chosen* by {seeds} splits ({best})", often), ("*chosen* by one split", once)):
            values = 100 * picked["accuracy"].to_numpy()
            lines.append([what, f"{values.mean():.1f} ± {values.std(ddof=min(1, len(values) - 1)):.1f}", *[""] * 6])
        head = ["method", "test accuracy", "refit", "train", "score", "epoch", "CPU s", "published"]
        out.append(f"### {name}\n\n{table(head, lines)}\n\n{remarks(refitted, name)}")
    return "\n\n".join(out)


def remarks(rows: list[dict[str, Any]], name: str) -> str:
    """How far the best learner is from training on the truth, and who is not ahead of training on the vote."""
    hits = {}
    for method in dict.fromkeys(r["method"] for r in rows):
        mine = [[float(c) for c in r["hits"]] for r in rows if r["set"] == name and r["method"] == method]
        hits[method] = np.mean(mine, axis=0)  # of every test task, over the seeds
    learners = [m for m in hits if m not in TOLD]
    best = max(learners, key=lambda m: hits[m].mean())
    low, high = between(hits["truth"] - hits[best])
    behind = {m: hits[m] - hits["vanilla"] for m in learners if hits[m].mean() < hits["vanilla"].mean()}
    said = ", ".join(f"{m} ({100 * d.mean():+.1f}; {' to '.join(between(d))})" for m, d in behind.items())
    return (
        f"After the refit the best learner, {best}, is {100 * (hits['truth'] - hits[best]).mean():.1f} points below "
        f"training on the truth (95 % interval over {len(hits['truth']):,} test tasks: {low} to {high}); training on "
        f"the best label that somebody said loses {100 * (hits['truth'] - hits['said']).mean():.1f} points, knowing "
        f"the workers' confusions {100 * (hits['truth'] - hits['oracle']).mean():.1f}. Behind training on the vote "
        f"(the difference and its interval): {said or 'nobody'}."
    )


def between(values: np.ndarray) -> tuple[str, str]:
    """A 95 % bootstrap interval of the mean, in points."""
    rng = np.random.default_rng(0)
    means = [values[rng.integers(len(values), size=len(values))].mean() for _ in range(2000)]
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{100 * low:.1f}", f"{100 * high:.1f}"


if __name__ == "__main__":
    main()
