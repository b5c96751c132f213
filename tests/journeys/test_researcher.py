"""A researcher has a new method: one file and one command give the comparison for the paper."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw

FILE = '''
from dataclasses import dataclass
import numpy as np
import crowdwise as cw

@dataclass(frozen=True, kw_only=True)
class Confirmed(cw.classes.Aggregator):
    """Votes weighted by the squared agreement with the majority beyond chance."""

    name = "confirmed"
    power: float = 2.0

    def solve(self, votes, gold, options):
        shares = cw.MajorityVote().fit(votes).posterior
        agreement = np.bincount(votes.worker, shares[votes.task, votes.label], votes.n_workers)
        weight = np.maximum(agreement / votes.labels_per_worker - 1 / votes.n_classes, 1e-6) ** self.power
        score = np.zeros((votes.n_tasks, votes.n_classes))
        np.add.at(score, (votes.task, votes.label), weight[votes.worker])
        posterior = score / score.sum(axis=1, keepdims=True)
        return cw.classes.Solution(posterior=posterior, class_prior=posterior.mean(axis=0))
'''
# Crowds with workers who guess, lie or collude, where a weighted vote is known to be better than a plain one.
KINDS = ("adversaries", "colluders", "hammer_spammer", "mixed")


@pytest.fixture
def sets(tmp_path):
    """Eight sets as folders with labels.csv and truth.csv."""
    for kind in KINDS:
        for seed in (1, 2):
            folder = tmp_path / "sets" / f"{kind}{seed}"
            folder.mkdir(parents=True)
            crowd = cw.simulate.scenario(kind, tasks=150, workers=30, labels=5, seed=seed)
            crowd.annotations.to_frame().write_csv(folder / "labels.csv")
            crowd.truth_table().write_csv(folder / "truth.csv")
    return sorted((tmp_path / "sets").iterdir())


def test_one_file_and_one_command(sets, tmp_path, monkeypatch, crowdwise_cli):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "confirmed_votes.py").write_text(FILE)
    command = ("compare", *sets, "-m", "confirmed_votes:Confirmed", "-m", "majority_vote", "-m", "dawid_skene",
               "--against", "confirmed_votes:Confirmed", "-o", "study", "--latex", "table.tex")  # fmt: skip
    code, out, err = crowdwise_cli(*command)
    assert code == 0, err
    assert "p (Holm)" in out
    # The known truth: the weighted vote is better on every set, which is significant with eight sets.
    from confirmed_votes import Confirmed

    better = pl.read_csv("study/differences.csv").row(by_predicate=pl.col("second") == "majority_vote", named=True)
    accuracy = [
        [cw.evaluate(method.fit(cw.read(folder / "labels.csv")), cw.read_truth(folder / "truth.csv")).accuracy
         for method in (Confirmed(), cw.MajorityVote())]
        for folder in sets
    ]  # fmt: skip
    gain = [ours - vote for ours, vote in accuracy]
    assert better["first"] == "confirmed"
    assert better["difference"] == pytest.approx(sum(gain) / 8)
    assert 0 < better["low"] < better["difference"] < better["high"]
    assert better["p_holm"] < 0.05
    assert "<svg" in (tmp_path / "study" / "ranks.svg").read_text()
    assert r"confirmed & " in (tmp_path / "table.tex").read_text()
    # Interrupted and started again with a fourth method: only its runs are new.
    before = (tmp_path / "study" / "runs.jsonl").read_text().splitlines()
    code, _, err = crowdwise_cli(*command[:-2], "-m", "wawa")
    assert code == 0, err
    after = (tmp_path / "study" / "runs.jsonl").read_text().splitlines()
    assert after[: len(before)] == before
    assert {json.loads(line)["method"] for line in after[len(before) :]} == {"wawa"}
