"""python -m benchmarks.live.review [--runs 20]: accuracy of all labels after reviews in the order of the queue, by the
entropy of the answers, and at random.

Simulated crowds and two real sets of which each run keeps a random 60 % of the labels. A review reveals the truth of a
task, which is gold in the next fit. The default method is fitted again after every twentieth of the tasks.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.server.live.task_columns import review_order

from .kept import section

SETS = ("web", "dog")
SHARES = (0.05, 0.1, 0.2)
RULES = ("queue", "entropy", "random")


def planted(seed: int) -> tuple[Any, dict[str, str]]:
    """Votes of a simulated crowd with attackers, copiers and hard tasks, and their truth."""
    crowd = cw.simulate.scenario("mixed", tasks=400, workers=40, labels=5, classes=4, seed=seed)
    return crowd.votes, as_dict(crowd.truth_table())


def replayed(name: str, seed: int) -> tuple[Any, dict[str, str]]:
    """A random 60 % of the labels of a real set, and the truth."""
    folder = Path(os.environ["CROWDWISE_DATA"]) / name
    rows = pl.read_csv(next(folder.glob("labels.csv*")), infer_schema=False)
    kept = rows.sample(fraction=0.6, seed=seed)
    truth = as_dict(cw.read_truth(next(folder.glob("truth.csv*"))))
    votes = cw.Annotations.from_frame(kept)
    return votes.select(tasks=[task for task in votes.tasks if task in truth]), truth


def as_dict(table: Any) -> dict[str, str]:
    return dict(zip(table["task"].cast(str).to_list(), table[table.columns[1]].cast(str).to_list(), strict=True))


def statistics(votes: Any) -> tuple[np.ndarray, np.ndarray]:
    """The entropy of the answers to each task, and the share that differs from the commonest one."""
    table = np.zeros((votes.n_tasks, votes.n_classes))
    np.add.at(table, (votes.task, votes.label), 1)
    share = table / table.sum(axis=1, keepdims=True)
    entropy = -(share * np.log(np.where(share > 0, share, 1))).sum(axis=1)
    return entropy, 1 - share.max(axis=1)


def accuracies(votes: Any, truth: dict[str, str], rule: str, seed: int) -> list[float]:
    """The share of right labels, reviewed tasks among them, after each share of reviews."""
    tasks = [str(task) for task in votes.tasks]
    right = np.array([truth[task] for task in tasks])
    entropy, disagreement = statistics(votes)
    chance = np.random.default_rng(seed).random(len(tasks))
    gold: dict[str, str] = {}
    step, out = max(round(len(tasks) / 20), 1), []
    for done in range(round(max(SHARES) * 20) + 1):
        result = cw.fit(votes, gold=gold, sampling="chosen") if gold else cw.fit(votes)
        label = np.array([str(name) for name in result.to_table()["label"].to_list()])
        known = np.array([task in gold for task in tasks])
        if any(np.isclose(done / 20, share) for share in SHARES):
            out.append(float(np.mean(np.where(known, True, label == right))))
        score = {"queue": None, "entropy": entropy, "random": chance}[rule]
        order = review_order(result.confidence, disagreement) if score is None else np.argsort(-score, kind="stable")
        for task in [at for at in order if not known[at]][:step]:
            gold[tasks[task]] = right[task]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    rows = []
    for name in ("simulated mixed", *SETS):
        per_rule: dict[str, Any] = {}
        for rule in RULES:
            per_rule[rule] = np.array([
                accuracies(*(planted(seed) if name not in SETS else replayed(name, seed)), rule, seed)
                for seed in range(runs)
            ])  # fmt: skip
        for at, share in enumerate(SHARES):
            cells = [f"{v[:, at].mean():.3f} ± {v[:, at].std(ddof=1):.3f}" for v in per_rule.values()]
            gaps = [per_rule["queue"][:, at] - per_rule[rule][:, at] for rule in RULES[1:]]
            cells += [f"{gap.mean():+.3f} ± {1.96 * gap.std(ddof=1) / np.sqrt(runs):.3f}" for gap in gaps]
            rows.append([name, f"{share:.0%}", *cells])
            print(rows[-1], flush=True)
    header = ["crowd", "reviewed", *RULES, "queue - entropy", "queue - random"]
    after = (f"Share of right labels over all tasks, mean and standard deviation of {runs} runs; differences with a 95 "
             "% interval over the runs. `entropy` is that of the answers, which needs no model.")  # fmt: skip
    section("review", "Accuracy after reviews", "python -m benchmarks.live.review", header, rows, after)


if __name__ == "__main__":
    main()
