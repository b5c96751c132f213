"""CROWDLAB by crowdwise and by cleanlab (in cleanlab's own environment), on the same wide matrix."""

from __future__ import annotations

import importlib
import time

import numpy as np


def quality(module: str, path: str, repeats: int) -> dict:
    """CPU seconds of `get_label_quality_multiannotator` with all its tables, the best of `repeats`; the consensus."""
    task, worker, label = np.load(path)
    n, m, k = (int(codes.max()) + 1 for codes in (task, worker, label))
    wide = np.full((n, m), np.nan)
    wide[task, worker] = label
    # A classifier of middling quality: half the vote shares, half noise.
    shares = np.zeros((n, k))
    np.add.at(shares, (task, label), 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    probs = (shares + np.random.default_rng(0).dirichlet(np.ones(k), n)) / 2
    function = importlib.import_module(module).get_label_quality_multiannotator
    took = []
    for _ in range(repeats):
        start = time.process_time()
        found = function(wide, probs, verbose=False)
        took.append(time.process_time() - start)
    return {"cpu": min(took), "consensus": found["label_quality"]["consensus_label"].tolist()}
