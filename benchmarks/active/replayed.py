"""python -m benchmarks.active replay: labels needed to come within a point of the accuracy of all labels."""

from __future__ import annotations

import json
import sys

import numpy as np

import crowdwise as cw
from crowdwise.active import OnlineModel, replay
from crowdwise.active.trials import accuracy, known_codes

from .. import ROOT

SETS, POLICIES, RUNS = ("dog", "rte", "web", "sp", "trec"), ("random", "uncertainty", "information"), 20
# How often the accuracy is taken, as a share of the labels; how close to that of all labels it must come.
EVERY, WITHIN = 0.02, 0.01
STORE = ROOT / "build" / "active-replay.json"


def bar_of(name: str) -> tuple[cw.Annotations, object, float]:
    """Votes, truth, and the accuracy of all labels by the live model."""
    data = cw.datasets.load(name)
    votes = data.annotations
    model = OnlineModel.of(votes)
    model.settle(max_rounds=2)
    return votes, data.truth, accuracy(model, known_codes(data.truth, votes))


def needed(name: str, policy: str, runs: int = RUNS) -> list[float]:
    """The share of the labels that each run took; finished runs are kept between calls."""
    done = json.loads(STORE.read_text()) if STORE.is_file() else {}
    have = done.setdefault(f"{name} {policy}", [])
    if len(have) < runs:
        votes, truth, full = bar_of(name)
        every = max(int(EVERY * len(votes)), 1)
        for seed in range(len(have), runs):
            trial = replay(votes, truth, policy, every=every, until=full - WITHIN, seed=seed)
            have.append(min(trial.needed(full - WITHIN), len(votes)) / len(votes))
            STORE.parent.mkdir(exist_ok=True)
            STORE.write_text(json.dumps(done))
    return have[:runs]


def finished(name: str) -> int:
    """Runs that all policies have finished."""
    done = json.loads(STORE.read_text()) if STORE.is_file() else {}
    return min(len(done.get(f"{name} {policy}", [])) for policy in POLICIES)


def rows(only_finished: bool = False) -> list[list[str]]:
    """A row a set: all labels, their accuracy, runs, and the mean share with its 95 % interval for each policy."""
    out = []
    for name in SETS:
        runs = finished(name) if only_finished else RUNS
        if not runs:
            continue
        votes, _, full = bar_of(name)
        line = [name, f"{len(votes):,}", f"{full:.3f}", str(runs)]
        for policy in POLICIES:
            share = np.array(needed(name, policy, runs))
            half = f" ± {1.96 * share.std(ddof=1) / np.sqrt(len(share)):.2f}" if len(share) > 1 else ""
            line.append(f"{share.mean():.2f}{half}")
        out.append(line)
    return out


if __name__ == "__main__":
    for each in sys.argv[1:] or SETS:
        for runs in range(1, RUNS + 1):  # all policies have as many runs whenever it is stopped
            print(each, runs, [round(float(np.mean(needed(each, policy, runs))), 3) for policy in POLICIES], flush=True)
