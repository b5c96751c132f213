"""Memory is O(labels + workers · K²): no array of tasks × workers anywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

# 100,000 tasks × 10,000 workers would be 4 GB for one byte a cell and four for one float.
SCRIPT = """
import resource, sys
import numpy as np, torch
torch.set_num_threads(1)
import crowdwise as cw
from crowdwise.learn import Crowd, CrowdData, CrowdModel, train
from crowdwise.learn.fitting import method_class
from crowdwise.learn.probe import last_linear
from crowdwise.learn.nets import make_net
from crowdwise.kinds.classes.learn.selection import HeldOutCriterion
from crowdwise.learn.training.hold_out import hold_out

n, m, k = 100_000, 10_000, 10
rng = np.random.default_rng(0)
truth = rng.integers(k, size=n)
x = (rng.normal(size=(n, 16)) + np.eye(k, 16)[truth]).astype(np.float32)
task = np.repeat(np.arange(n), 3)
worker = (rng.integers(m, size=n)[:, None] + np.arange(3) * rng.integers(1, m // 3, size=n)[:, None]).ravel() % m
label = np.where(rng.random(3 * n) < 0.7, truth[task], rng.integers(k, size=3 * n))
votes = cw.Annotations.from_arrays(task, worker, label, tasks=range(n), workers=range(m), classes=range(k))
kept, held = hold_out(Crowd.of(votes), 0.1)
few = torch.zeros(n, dtype=torch.bool)
few[:2_000] = True
steps = kept.keep(few[kept.task])  # a few steps, with every worker and every task known

for name, params in [("ccem", {}), ("crowd_layer", {}), ("agg_net", {}), ("max_mig", {}), ("union_net", {}),
                     ("union_net", {"form": "a"}), ("doctor_net", {}), ("bayes_dgc", {}), ("conal", {})]:
    net = make_net("mlp", (16,), k, hidden=(32,))
    cls = method_class(name)
    if cls.needs_features:
        params = {"n_features": last_linear(net).in_features, **params}
    data = CrowdData(x, steps)
    model = CrowdModel(net, cls(steps, **params))
    criterion = HeldOutCriterion(data, held) if name in ("ccem", "agg_net") else None
    train(model, data, epochs=2, batch_size=500, criterion=criterion)
    print(name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)
"""


def test_ten_thousand_workers_and_a_hundred_thousand_tasks_stay_under_two_gigabytes():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    peaks = [(name, int(megabytes)) for name, megabytes in (line.split() for line in done.stdout.splitlines())]
    assert len(peaks) == 9
    assert max(megabytes for _, megabytes in peaks) < 2_000, peaks
