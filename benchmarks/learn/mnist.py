"""MNIST, five pairwise flippers at p = .35, one label per image: trace against vanilla, ccem, deep EM.

python -m benchmarks.learn.mnist [--seeds 3] [--epochs 25]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from benchmarks.papers.flippers import confusion_error, flippers, say
from crowdwise.learn import CrowdClassifier
from crowdwise.learn.nets import cnn

from .mnist_data import mnist
from .page import table, write_section

METHODS = {"vanilla": {}, "ccem": {}, "trace": {"strength": 0.01}, "agg_net": {}}


def one(method: str, seed: int, images: int, epochs: int) -> tuple[float, float, float, float]:
    """Test accuracy, CM error, the largest error of a single worker, CPU seconds."""
    started = time.process_time()
    x, y, test_x, test_y = mnist(images, 10_000)
    true = flippers(0.35, seed)
    votes = say(true, y, seed, dense=False)
    fitted = CrowdClassifier(
        lambda shape, k: cnn(shape, k, pools=2, hidden=(), average=True), method, params=METHODS[method],
        epochs=epochs, batch_size=50, lr=1e-3, validation=0.1, seed=seed,
    ).fit(x, votes)  # fmt: skip
    hit = float((fitted.predict_proba(test_x).argmax(1) == test_y).mean())
    found = np.asarray(fitted.confusion_)
    each = [confusion_error(found[[w]], true[[w]]) for w in range(len(true))]
    return hit, confusion_error(found, true), max(each), time.process_time() - started


def main() -> None:
    """Run and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=25)
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    for method in METHODS:
        rows = np.array([one(method, seed, args.images, args.epochs) for seed in range(args.seeds)])
        mean, spread = rows.mean(0), rows.std(0, ddof=1) if args.seeds > 1 else rows.std(0)
        shown = [f"{100 * m:.{d}f} ± {100 * e:.{d}f}" for m, e, d in zip(mean[:2], spread[:2], (1, 2), strict=True)]
        lines.append([method, *shown, f"{100 * mean[2]:.2f}", f"{mean[3]:.0f}"])
        print(*lines[-1], flush=True)
    body = (
        f"{args.images:,} training images, Tanno et al.'s convolutional net, at most {args.epochs} epochs, the epoch "
        f"chosen by the labels of 10 % of the tasks, {args.seeds} seeds. The mean confusion is diagonally dominant "
        "(flips are drawn again until it is). CM error × 100.\n\n"
        + table(["method", "test accuracy", "CM error", "worst worker's", "CPU s"], lines)
    )
    write_section(
        "mnist", "MNIST with pairwise flippers, one label per image", "python -m benchmarks.learn.mnist", body
    )


if __name__ == "__main__":
    main()
