"""What one epoch costs as the crowd grows: python -m benchmarks.learn.cost [--write]

CPU seconds of one thread, the least of several epochs, E-steps included. Beside it the loop over annotators of the
published codes: every annotator's confusion matrix is applied to every batch and the missing labels are masked out.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import crowdwise as cw
from crowdwise.learn import Crowd, CrowdData, CrowdModel, train
from crowdwise.learn.fitting import method_class
from crowdwise.learn.nets import make_net

from ..markdown import table, write_section
from .page import PAGE

N, K, LABELS, D, SIZE = 50_000, 10, 5, 64, 128
WORKERS = (10, 100, 1_000, 10_000)
METHODS = ("ccem", "crowd_layer", "max_mig", "agg_net", "bayes_dgc", "doctor_net")
ROUNDS, REPEATS = 3, 2


def crowd_of(m: int) -> tuple[np.ndarray, Crowd]:
    """Features in clusters and five labels a task, by workers who are right seven times out of ten."""
    rng = np.random.default_rng(m)
    truth = rng.integers(K, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(K, D)[truth]).astype(np.float32)
    task = np.repeat(np.arange(N), LABELS)
    # Five different workers a task: a random first, then strides that never meet again.
    first, stride = rng.integers(m, size=N), rng.integers(1, max(m // LABELS, 2), size=N)
    worker = (first[:, None] + stride[:, None] * np.arange(LABELS)).ravel() % m
    label = np.where(rng.random(N * LABELS) < 0.7, truth[task], rng.integers(K, size=N * LABELS))
    votes = cw.Annotations.from_arrays(task, worker, label, tasks=range(N), workers=range(m), classes=range(K))
    return x, Crowd.of(votes)


def epoch_of(name: str, x: np.ndarray, crowd: Crowd) -> float:
    """Least CPU seconds of an epoch after the first."""
    torch.manual_seed(0)
    learner = method_class(name)
    extra = {"n_features": 128} if learner.needs_features else {}
    model = CrowdModel(make_net("mlp", (D,), K), learner(crowd, **extra))
    clock = Clock()
    train(model, CrowdData(x, crowd), epochs=REPEATS + 1, batch_size=SIZE, callbacks=[clock])
    return min(b - a for a, b in zip(clock.times, clock.times[1:], strict=False))


class Clock:
    """CPU time at the end of every epoch."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def epoch(self, history: object) -> None:
        del history
        self.times.append(time.process_time())

    def close(self) -> None:
        pass


def published_loop(x: np.ndarray, crowd: Crowd) -> float:
    """CPU seconds of an epoch of the loop over annotators, from some steps of it."""
    torch.manual_seed(0)
    m = crowd.n_workers
    net = make_net("mlp", (D,), K)
    confusion = nn.ParameterList([nn.Parameter(6.0 * torch.eye(K) - 5.0) for _ in range(m)])
    optimizer = torch.optim.Adam([*net.parameters(), *confusion], lr=1e-3)
    data = torch.from_numpy(x)
    steps = 3 if m >= 1_000 else 20
    order = torch.from_numpy(np.random.default_rng(0).permutation(N))
    spent = []
    for step in range(steps + 1):
        tasks = order[step * SIZE : (step + 1) * SIZE]
        places, row = crowd.rows_of(tasks)
        said = torch.full((SIZE, m), -1)  # batch × annotators, as these codes keep it
        said[row, crowd.worker[places]] = crowd.label[places]
        start = time.process_time()
        proba = torch.softmax(net(data[tasks]), dim=1)
        loss = torch.zeros(())
        for w in range(m):
            matrix = F.softplus(confusion[w])
            matrix = matrix / matrix.sum(1, keepdim=True)
            loss = loss + F.nll_loss(torch.log(proba @ matrix), said[:, w], ignore_index=-1, reduction="sum")
        optimizer.zero_grad()
        (loss / len(row)).backward()
        optimizer.step()
        spent.append(time.process_time() - start)
    return min(spent[1:]) * (-(-N // SIZE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks/learn.md")
    parser.add_argument("-m", "--method", action="append", help="only these methods")
    given = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, dict[int, float]] = {name: {} for name in given.method or METHODS}
    loop: dict[int, float] = {}
    for number, m in product(range(ROUNDS), WORKERS):  # all sizes again, so that a slow minute spoils none of them
        x, crowd = crowd_of(m)
        for name, times in found.items():
            times[m] = min(times.get(m, np.inf), epoch_of(name, x, crowd))
            print(f"{name:12} {m:6,} workers  {times[m]:6.2f} s", flush=True)
        if m <= 1_000 and not number:
            loop[m] = published_loop(x, crowd)
            print(f"{'loop':12} {m:6,} workers  {loop[m]:6.2f} s", flush=True)
    header = ["method", *(f"{m:,} workers" for m in WORKERS), "1,000 / 10", "10,000 / 10"]
    rows = [
        [f"`{name}`", *(f"{t[m]:.2f}" for m in WORKERS), f"{t[1_000] / t[10]:.2f}", f"{t[10_000] / t[10]:.2f}"]
        for name, t in found.items()
    ]
    rows.append(["loop over annotators", *(f"{loop[m]:.2f}" for m in loop), "", f"{loop[1_000] / loop[10]:.1f}", ""])
    body = (
        f"CPU seconds of one epoch on one thread, the least of {ROUNDS * REPEATS} in {ROUNDS} rounds: {N:,} tasks, "
        f"{K} classes, {LABELS} labels a "
        f"task, {D} features, `mlp` with 128 hidden units, batches of {SIZE}. Bars: at most 1.6 from 10 to 1,000 "
        "workers, at most 2 at 10,000. The loop over annotators is ccem's loss as published codes write it. "
        "`doctor_net` keeps a head of 1,290 numbers for each worker, where a confusion has 100.\n\n"
        + table(header, rows)
    )
    print(body)
    if given.write:
        write_section(
            PAGE, "cost", "What an epoch costs as the crowd grows", "python -m benchmarks.learn.cost --write", body
        )


if __name__ == "__main__":
    main()
