"""CROWDLAB against cleanlab 2.9 itself, on real crowds with cross-validated classifiers, where it is at hand."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.compat.cleanlab.multiannotator import get_label_quality_multiannotator
from tests.data import ROOT, found_data

PEER = ROOT / ".venvs" / "cleanlab" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
JOB = """
import sys, numpy as np
from cleanlab.multiannotator import get_label_quality_multiannotator
z = np.load(sys.argv[1])
found = get_label_quality_multiannotator(z["labels"], z["probs"], verbose=False)["label_quality"]
np.savez(sys.argv[2], label=found["consensus_label"], score=found["consensus_quality_score"])
"""


@pytest.mark.data
@pytest.mark.parametrize("name", ["music", "labelme"])
def test_consensus_and_scores_are_cleanlabs(name, tmp_path):
    if not PEER.exists():
        pytest.skip("cleanlab's environment is not at .venvs/cleanlab (make bench-speed makes it)")
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    votes = cw.read(found_data() / name / "labels.csv")
    stored = np.load(found_data() / name / "features.npz")
    row = {task: i for i, task in enumerate(stored["train_task"].tolist())}
    x = stored["train_x"][[row[task] for task in votes.tasks.to_list()]].astype(float)
    y = cw.MajorityVote().fit(votes).labels
    probs = np.zeros((votes.n_tasks, votes.n_classes))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    probs[:, np.unique(y)] = cross_val_predict(model, x, y, cv=3, method="predict_proba")
    labels = np.full((votes.n_tasks, votes.n_workers), np.nan)
    labels[votes.task, votes.worker] = votes.label
    np.savez(tmp_path / "in.npz", labels=labels, probs=probs)
    command = [str(PEER), "-c", JOB, str(tmp_path / "in.npz"), str(tmp_path / "out.npz")]
    subprocess.run(command, check=True, capture_output=True)
    theirs = np.load(tmp_path / "out.npz")
    ours = get_label_quality_multiannotator(labels, probs, verbose=False)["label_quality"]
    assert (ours["consensus_label"].to_numpy() == theirs["label"]).mean() >= 0.995
    assert ours["consensus_quality_score"].to_numpy() == pytest.approx(theirs["score"], abs=1e-9)
