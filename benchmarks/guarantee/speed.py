"""A million verdicts, a thousand gold labels: CPU seconds of estimate, accept and label sets."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.guarantee.verdicts import Verdicts

TASKS, GOLD = 1_000_000, 1_000


def million() -> tuple[Verdicts, dict[int, str]]:
    rng = np.random.default_rng(0)
    truth = (rng.random(TASKS) < 0.3).astype(np.int64)
    sure = rng.beta(6, 1, TASKS)
    right = rng.random(TASKS) < 0.5 + 0.5 * sure
    label = np.where(right, truth, 1 - truth)
    p = 0.5 + 0.5 * sure
    posterior = np.where(np.arange(2)[None] == label[:, None], p[:, None], 1 - p[:, None])
    found = Verdicts(
        pl.Series("task", np.arange(TASKS)), "judge", label, pl.Series("label", ["fine", "toxic"]), p,
        np.ones(TASKS, dtype=np.int64), posterior=posterior,
    )  # fmt: skip
    picked = rng.permutation(TASKS)[:GOLD]
    return found, {int(t): ("fine", "toxic")[truth[t]] for t in picked}


def speed_rows() -> list[list[str]]:
    found, gold = million()
    jobs = {
        "estimate a share": lambda: cw.estimate(found, gold=gold, metric="share:toxic", sampling="random"),
        "accept, error 5 %": lambda: cw.accept(found, gold=gold),
        "accept per class": lambda: cw.accept(found, gold=gold, per="class"),
        "label sets": lambda: cw.label_sets(found, gold=gold),
    }
    out = []
    for name, job in jobs.items():
        job()
        best = []
        for _ in range(3):
            began = time.process_time()
            job()
            best.append(time.process_time() - began)
        out.append([name, f"{min(best):.3f}"])
        print(*out[-1], flush=True)
    return out
