"""Every training method on LabelMe and Music, with the epoch and the method chosen without truth.

python -m benchmarks.learn.real [--seeds 5] [--sets labelme music] [--methods NAME ...] [--refit]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import nn

import crowdwise as cw
from crowdwise import datasets
from crowdwise.learn import CrowdClassifier
from crowdwise.registry import LEARNERS

from ..markdown import table, write_section
from .cache import Runs
from .page import PAGE

SKIP = {"known_confusion"}  # needs the confusions, which nobody knows here
PUBLISHED = {"labelme": {"max_mig": 86.42, "agg_net": 85.20, "crowd_layer": 83.65, "vanilla": 79.83, "conal": 87.12}}


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
    if method == "truth":
        votes = cw.Annotations.from_arrays(
            data.tasks, ["truth"] * len(data.tasks), [votes.classes[int(v)] for v in data.truth], classes=votes.classes
        )
    if method in ("deep_mf", "deep_bp"):  # all tasks at once: many more rounds are needed
        settings |= {"batch_size": None, "epochs": 4 * epochs, "lr": 5e-3, "worker_lr": 5e-3}
    fitted = CrowdClassifier(net_for(data.name), "vanilla" if method == "truth" else method, **settings)
    fitted.fit(data.x, votes, tasks=data.tasks)
    order = data.tasks.arg_sort().to_numpy()
    return {
        "set": data.name, "method": method, "seed": seed, "epoch": fitted.history_.best_epoch,
        "accuracy": float((fitted.predict_proba(data.test_x).argmax(1) == data.test_y).mean()),
        "train": float((fitted.result_.posterior.argmax(1) == data.truth[order]).mean()),
        "score": None if refit else max(fitted.history_["score"]), "seconds": time.process_time() - started,
    }  # fmt: skip


def main() -> None:
    """Run what is not in the cache, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--sets", nargs="+", default=["labelme", "music"])
    parser.add_argument("--methods", nargs="+", default=["truth", *(m for m in LEARNERS if m not in SKIP)])
    parser.add_argument("--refit", action="store_true", help="train again on all tasks for the chosen number of epochs")
    args = parser.parse_args()
    torch.set_num_threads(1)
    key = ("set", "method", "seed")
    runs, again = Runs("learn-real", key), Runs("learn-real-refit", key)
    for name in args.sets:
        data = load(name)
        for method in args.methods:
            for seed in range(args.seeds):
                if not runs.has(name, method, seed):
                    runs.add(one(data, method, seed, args.epochs))
                if args.refit and not again.has(name, method, seed):
                    again.add(one(data, method, seed, args.epochs, refit=True))
            mine = [r["accuracy"] for r in runs.rows if r["set"] == name and r["method"] == method]
            print(f"{name:8s} {method:20s} {100 * np.mean(mine):6.2f} ± {100 * np.std(mine):.2f}", flush=True)
    rows, refitted = (
        [r for r in some.rows if r["set"] in args.sets and r["method"] in args.methods and r["seed"] < args.seeds]
        for some in (runs, again)
    )
    write_section(
        PAGE, "real", "LabelMe and Music", "python -m benchmarks.learn.real --refit",
        body(rows, refitted, args.seeds, args.epochs),
    )  # fmt: skip


def shown(refitted: list[dict[str, Any]], name: str, method: str, seeds: int) -> str:
    """Accuracy after training again on all tasks, where every seed has been run."""
    values = [100 * r["accuracy"] for r in refitted if r["set"] == name and r["method"] == method]
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=min(1, seeds - 1)):.1f}" if len(values) == seeds else ""


def body(rows: list[dict[str, Any]], refitted: list[dict[str, Any]], seeds: int, epochs: int) -> str:
    """The tables of both sets."""
    out = [
        f"Test accuracy in per cent over {seeds} seeds, at most {epochs} epochs of Adam (1e-3 for net and "
        "workers, batch 64), MLP of 128 with dropout .5. 15 % of the labelled tasks are kept aside; the epoch "
        "kept is the one that best foretells their labels. *refit*: trained again on all tasks for as many epochs "
        "(`refit=True`); an empty cell was not run. *train*: accuracy of the posterior of the training "
        "tasks (features and labels together). *score*: mean log-likelihood of the held-out labels. *chosen*: "
        "the method with the best score, over all seeds (each keeps other tasks aside) or for each seed by its "
        "own split, too little to tell them apart.",
    ]
    for name in dict.fromkeys(r["set"] for r in rows):
        mine = pl.DataFrame([r for r in rows if r["set"] == name])
        means = mine.group_by("method").agg(
            pl.col("accuracy").mean().alias("a"), pl.col("accuracy").std().alias("s"), pl.col("train").mean(),
            pl.col("score").mean(), pl.col("epoch").mean(), pl.col("seconds").mean(),
        ).sort("a", descending=True)  # fmt: skip
        crowd_only = mine.filter(pl.col("method") != "truth")
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
        out.append(f"### {name}\n\n{table(head, lines)}")
    return "\n\n".join(out)


if __name__ == "__main__":
    main()
