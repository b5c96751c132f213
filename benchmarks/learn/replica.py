"""python -m benchmarks.learn.replica [--seeds N]: Max-MIG's five cases in ten dimensions, on a CPU.

Two balanced classes, x ~ N(±e1, I) in ten dimensions (a perfect classifier is right in .8413), 4,000 tasks to train and
4,000 to test, all labelled by five experts and by the juniors of a case: none; constant class 0; copies of experts A
(40 %) and C (60 %). A linear net, Adam 1e-2 for net and workers, batches of 64, 60 epochs. Truth scores, never chooses.
Runs are kept in .cache/learn-replica.jsonl and not made again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch

from crowdwise.kinds.classes.annotations import Annotations
from crowdwise.kinds.classes.learn.methods.confusion import CCEM, Trace
from crowdwise.kinds.classes.learn.methods.deep_em import AggNet
from crowdwise.kinds.classes.learn.methods.max_mig import MaxMIG
from crowdwise.kinds.classes.learn.methods.simple import Vanilla
from crowdwise.learn import Crowd, CrowdBatch, CrowdData, CrowdMethod, CrowdModel, Output, train
from crowdwise.learn.nets import make_net
from crowdwise.learn.optimizers import make_optimizers
from crowdwise.learn.training.sweep import sweep_both

from ..markdown import table, write_section
from .cache import Runs
from .page import PAGE

N, EPOCHS, BATCH, RATE = 4000, 60, 64, 1e-2
# P(right | class 0), P(right | class 1) of the experts A to E. The paper prints them as dog/cat and its juniors say
# cat, so cat is class 0. The order matters in case 2 alone: how fast CCEM gets away from the class the juniors name.
EXPERTS = ((0.8, 0.6), (0.6, 0.6), (0.6, 0.9), (0.7, 0.7), (0.7, 0.6))
A, C = 0, 2


@dataclass(frozen=True)
class Case:
    name: str
    constant: int = 0
    copies: int = 0


CASES = (Case("1"), Case("2, 5", constant=5), Case("3, 5", copies=5), Case("2, 30", constant=30),
         Case("3, 30", copies=30))  # fmt: skip
# d: the classifier; dc: the forecaster; aggregator: the labels alone.
COLUMNS = ("MIG-KL d", "chi2 d", "JS d", "MIG dc", "MIG aggregator", "EM d", "EM dc", "CCEM d", "Trace d", "MV d",
           "shared d")  # fmt: skip
REFERENCE = {
    "1": (0.840, 0.839, 0.840, 0.908, 0.820, 0.838, 0.910, 0.839, 0.839, 0.836),
    "2, 5": (0.840, 0.839, 0.840, 0.907, 0.821, 0.839, 0.910, 0.839, 0.840, 0.499),
    "3, 5": (0.840, 0.839, 0.840, 0.908, 0.818, 0.724, 0.750, 0.839, 0.839, 0.835),
    "2, 30": (0.839, 0.839, 0.839, 0.906, 0.819, 0.838, 0.910, 0.813, 0.814, 0.499),
    "3, 30": (0.839, 0.838, 0.838, 0.864, 0.819, 0.724, 0.750, 0.838, 0.838, 0.711),
}
ABOUT = """Two balanced classes, x ~ N(±e1, I) in ten dimensions (a perfect classifier is right in .841), 4,000 tasks to
train and 4,000 to test, each labelled by five experts of accuracies .6 to .9 and by juniors: none (case 1), constant
class 0 (case 2), copies of two experts (case 3). A linear net, Adam 1e-2 for net and workers, batches of 64, 60 epochs;
no epoch is chosen. d: the classifier, dc: the forecaster, which sees the test task's labels too, aggregator: the labels
alone; EM: `agg_net` with an E-step every two epochs. MV: training on the hard majority, where a tie is class 0, as in
the reference; shared: `vanilla`, which halves ties, and which case 3 with its ten voters punishes. Constant juniors
break training on the majority, copies break deep EM, and Max-MIG is the same everywhere."""
METHODS = ("max_mig-kl", "max_mig-chi2", "max_mig-js", "agg_net", "ccem", "trace", "first", "vanilla")


def draw(case: Case, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x[n, 10], truth[n] and labels[n, worker]."""
    truth = rng.permutation(np.arange(n) % 2)
    x = rng.normal(size=(n, 10))
    x[:, 0] += 2.0 * truth - 1.0
    right = np.array(EXPERTS)[:, truth].T
    labels = np.where(rng.random((n, len(EXPERTS))) < right, truth[:, None], 1 - truth[:, None])
    constant = np.zeros((n, case.constant), dtype=labels.dtype)
    of_a = round(0.4 * case.copies)
    copies = labels[:, [A] * of_a + [C] * (case.copies - of_a)]
    return x.astype(np.float32), truth, np.hstack([labels, constant, copies])


def data_of(x: np.ndarray, labels: np.ndarray) -> CrowdData:
    task, worker = (axis.ravel() for axis in np.indices(labels.shape))
    votes = Annotations.from_arrays(task, worker, labels.ravel(), classes=range(2))
    return CrowdData(x, Crowd.of(votes))


class FirstOfTies(Vanilla):
    """Training on the majority, ties being of the first class."""

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, torch.Tensor]:
        """Cross-entropy to the class that leads."""
        leads = batch.votes(self.n_classes).argmax(1, keepdim=True)
        return {"cross_entropy": -batch.mean_over_tasks(out.log_proba.gather(1, leads).squeeze(1))}


def make_method(name: str, crowd: Crowd) -> CrowdMethod:
    if name.startswith("max_mig"):
        return MaxMIG(crowd, prior="uniform", divergence=name.removeprefix("max_mig-"))  # type: ignore[arg-type]
    if name == "agg_net":
        return AggNet(crowd, inner=2)  # thirty rounds of two epochs
    if name == "vanilla":
        return Vanilla(crowd, targets="hard")
    return {"ccem": CCEM, "trace": Trace, "first": FirstOfTies}[name](crowd)


def run(case: Case, name: str, seed: int) -> dict[str, float]:
    """Test accuracy of the classifier (d), the forecaster (dc) and, for Max-MIG, the labels alone."""
    rng = np.random.default_rng([seed, CASES.index(case)])
    x, _, labels = draw(case, rng, N)
    test_x, truth, test_labels = draw(case, rng, N)
    data, test = data_of(x, labels), data_of(test_x, test_labels)
    torch.manual_seed(seed)
    model = CrowdModel(make_net("linear", (10,), 2), make_method(name, data.crowd))
    optimizers = make_optimizers(model, lr=RATE, worker_lr=RATE)
    train(model, data, optimizer=optimizers, epochs=EPOCHS, batch_size=BATCH, seed=seed)
    alone, together = (part.argmax(1).numpy() for part in sweep_both(model, test))
    found = {"d": float((alone == truth).mean()), "dc": float((together == truth).mean())}
    if isinstance(model.method, MaxMIG):
        with torch.no_grad():
            said = model.method.aggregate(test.batch(torch.arange(len(test)))).argmax(1).numpy()
        found["aggregator"] = float((said == truth).mean())
    return found


def columns_of(name: str, found: dict[str, float]) -> dict[str, float]:
    """The table's columns that a run fills."""
    if name == "max_mig-kl":
        return {"MIG-KL d": found["d"], "MIG dc": found["dc"], "MIG aggregator": found["aggregator"]}
    if name == "agg_net":
        return {"EM d": found["d"], "EM dc": found["dc"]}
    title = {"max_mig-chi2": "chi2 d", "max_mig-js": "JS d", "ccem": "CCEM d", "trace": "Trace d",
             "first": "MV d", "vanilla": "shared d"}  # fmt: skip
    return {title[name]: found["d"]}


def by_column(runs: list[dict[str, Any]], seeds: int) -> dict[tuple[str, str], list[float]]:
    """Accuracies of every (case, column) over the seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for column, value in columns_of(run["method"], run).items() if run["seed"] < seeds else ():
            found.setdefault((run["case"], column), []).append(value)
    return found


def table_of(found: dict[tuple[str, str], list[float]]) -> str:
    """Means and standard deviations over seeds, and the reference, as Markdown."""
    rows, gaps = [], []
    for case in CASES:
        values = [found[case.name, column] for column in COLUMNS]
        rows.append([case.name, "here", *(f"{np.mean(v):.3f}" for v in values)])
        rows.append(["", "sd", *(f"{np.std(v):.3f}" for v in values)])
        rows.append(["", "reference", *(f"{r:.3f}" for r in REFERENCE[case.name]), ""])
        for column, v, r in zip(COLUMNS, values, REFERENCE[case.name], strict=False):  # none for shared ties
            gaps.append((abs(float(np.mean(v)) - r), f"{column} in case {case.name}"))
    worst, where = max(gaps)
    beyond = [place for gap, place in gaps if gap > 0.015]
    seeds = len(next(iter(found.values())))
    return (
        f"{table(['case, juniors', '', *COLUMNS], rows)}\n\n{seeds} seeds; the reference is the mean of three of its "
        f"own. Largest difference of a mean: {worst:.3f} ({where}). {len(beyond)} of {len(gaps)} cells "
        f"differ by more than .015: {', '.join(beyond) or 'none'}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no seed after this much CPU time")
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks/learn.md")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    runs = Runs("learn-replica", ("case", "method", "seed"))
    for seed in range(asked.seeds):
        for case, name in product(CASES, METHODS):
            if not runs.has(case.name, name, seed):
                runs.add({"case": case.name, "method": name, "seed": seed, **run(case, name, seed)})
        text = table_of(by_column(runs.rows, seed + 1))
        print(f"seed {seed}: {time.process_time() / 60:.1f} minutes of CPU\n{text}", flush=True)
        if asked.write:
            command = f"python -m benchmarks.learn.replica --seeds {seed + 1}"
            write_section(PAGE, "replica", "Max-MIG's five cases", command, f"{ABOUT}\n\n{text}")
        if time.process_time() > 60 * asked.minutes:
            break


if __name__ == "__main__":
    main()
