"""Data out of all proportion: a task that everybody labelled, thousands of classes. What can be done is done, in
bounded memory and time; what cannot is said in one line before it is tried."""

from __future__ import annotations

import json
import resource
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core.errors import CostWarning
from crowdwise.kinds.classes.maths import moments
from crowdwise.kinds.classes.maths.moments import pairs, rows_with_overlap, sparse_pairs
from crowdwise.kinds.classes.methods import held_out as selection
from crowdwise.kinds.classes.methods import held_out as thin
from crowdwise.kinds.classes.methods.held_out import held_out
from crowdwise.kinds.classes.workers import pairs as worker_pairs
from crowdwise.kinds.classes.workers.pairs import comparable, label_pairs, pair_table

# The trouble grows with the square: 30,000 workers asked for 7 GB, 100,000 for 75.
EVERYBODY = 30_000
HEAD = "task,worker,label\n"


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes


@pytest.fixture(scope="module")
def everybody(tmp_path_factory):
    """A task with everybody, and 300 tasks with five of thirty."""
    rng = np.random.default_rng(0)
    rows = [f"t0,w{w},{'ab'[int(rng.random() < 0.3)]}\n" for w in range(EVERYBODY)]
    for t in range(1, 301):
        rows += [f"t{t},w{w},{'ab'[(t + (rng.random() < 0.2)) % 2]}\n" for w in rng.choice(30, 5, replace=False)]
    path = tmp_path_factory.mktemp("skewed") / "v.csv"
    path.write_text(HEAD + "".join(rows))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("command", ["workers", "report"])
def test_a_task_that_everybody_labelled(everybody, crowdwise_cli, tmp_path, command):
    before = memory()
    where = ["-o", tmp_path / "out"] if command == "workers" else ["-o", tmp_path / "out.html"]
    code, out, err = crowdwise_cli(command, everybody, "-m", "majority_vote", *where)
    assert code == 0, err
    assert memory() - before < 1_000_000
    if command == "workers":
        assert "Cohen's kappa" in out
        assert (tmp_path / "out" / "pairs.csv").read_text().count("\n") > 100


@pytest.mark.parametrize("method", ["mmsr", "eigen_ratio", "ghosh", "pgd"])
def test_methods_that_compare_all_workers_say_what_it_would_take(everybody, fails, method):
    fails("aggregate", everybody, "-m", method, words="the largest task has 30,000 | such as majority_vote")


def crowd(n_tasks, n_workers, n_classes, each, seed=0):
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), each)
    worker = np.concatenate([rng.permutation(n_workers)[:each] for _ in range(n_tasks)])
    return cw.Annotations.from_arrays(task, worker, rng.integers(n_classes, size=len(task)))


def test_leaving_out_who_cannot_have_met_loses_no_pair():
    votes = crowd(60, 40, 3, 4)
    for fewest in (1, 2, 3, 5):
        brute = {}
        for t in range(votes.n_tasks):
            here = votes.worker[votes.task == t]
            for a in here:
                for b in here[here > a]:
                    brute[a, b] = brute.get((a, b), 0) + 1
        wanted = {pair: n for pair, n in brute.items() if n >= fewest}
        seen = sparse_pairs(votes, fewest)
        found = dict(zip(zip(seen.first.tolist(), seen.second.tolist(), strict=True), seen.n.tolist(), strict=True))
        assert found == wanted
        dense = pairs(votes, fewest)
        assert np.array_equal(dense.n, seen.n)
        blocks = np.concatenate([block.count for block in seen.blocks(cells=20)])
        assert np.array_equal(blocks, dense.count)


def test_too_many_meetings_keep_the_busiest(monkeypatch):
    votes = crowd(200, 50, 2, 20)
    kept, left = rows_with_overlap(votes, 2, 20_000)
    busy = np.bincount(votes.worker[kept], minlength=votes.n_workers)
    in_, out = busy > 0, busy == 0
    assert left == out.sum() > 0
    assert votes.labels_per_worker[in_].min() >= votes.labels_per_worker[out].max()
    assert (np.bincount(votes.task[kept]).astype(float) ** 2).sum() <= 20_000
    monkeypatch.setattr(worker_pairs, "MAX_LABEL_PAIRS", 20_000)
    with pytest.warns(
        CostWarning,
        match=rf"the {in_.sum()} workers with the most labels are compared pair by pair; with the other {left}",
    ):
        table = pair_table(votes)
    assert set(table["first"]) | set(table["second"]) <= set(votes.workers.filter(in_.tolist()))
    monkeypatch.setattr(worker_pairs, "_MOST", 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = next(c for c in cw.workers.agreement(votes) if c.name.startswith("Cohen"))
    assert f"among the {in_.sum()} busiest workers only" in kappa.note
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(comparable(crowd(20, 5, 2, 3), 2)) == 60


def test_pairs_of_labels_of_a_crowded_task(monkeypatch):
    monkeypatch.setattr(worker_pairs, "_CROWD", 10)
    votes = cw.Annotations.from_arrays([0] * 95 + [1, 1, 1], [*range(95), 0, 1, 2], ["x"] * 98)
    first, second = label_pairs(votes, 10_000)
    task = votes.task[first]
    assert np.array_equal(task, votes.task[second])
    assert (task == 1).sum() == 3
    assert (task == 0).sum() == 10 * 9 // 2
    assert (votes.worker[first] < votes.worker[second]).all()
    monkeypatch.undo()
    first, _ = label_pairs(replace(votes), 10_000, fewest=2)
    assert len(first) == 6  # three workers on two tasks


def classes(path, n, each, workers=3):
    rng = np.random.default_rng(1)
    rows = ((i // each, i % workers, i // each if rng.random() < 0.7 else rng.integers(n)) for i in range(n * each))
    path.write_text(HEAD + "".join(f"t{t},w{w},c{c % n:04d}\n" for t, w, c in rows))
    return path


@pytest.mark.slow
@pytest.mark.filterwarnings("always::crowdwise.core.errors.CostWarning")
@pytest.mark.parametrize("method", ["adaptive", "committee", "auto"])
def test_thousands_of_classes_get_what_fits(tmp_path, crowdwise_cli, method):
    path = classes(tmp_path / "v.csv", 1200, 2)
    before = memory()
    code, out, err = crowdwise_cli("aggregate", path, "-m", method)
    assert code == 0, err
    assert "methods that would take too long are left out" in err
    assert out.count("\n") == 1201
    assert memory() - before < 1_000_000


@pytest.mark.slow
def test_five_thousand_classes_with_a_method_that_cannot(tmp_path, fails):
    path = classes(tmp_path / "v.csv", 5000, 2)
    fails(
        "aggregate", path, "-m", "dawid_skene", words="dawid_skene would keep | over the limit of 50,000,000; take maj"
    )
    for command in (["workers"], ["report", "-o", tmp_path / "r.html"]):
        fails(*command, path, "-m", "majority_vote", words="classes are too many to judge 3 workers by 10,000 labels")


def test_ordinary_crowds_get_every_method():
    votes = crowd(300, 30, 5, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CostWarning)
        assert len(cw.classes.Committee().fit(votes).extra["weight"]) == 5


def test_tables_of_pairs_have_a_limit(monkeypatch):
    monkeypatch.setattr(moments, "MOST_CELLS", 100)
    with pytest.raises(cw.DataError, match=r"pairs of workers × 5² classes make .* over the limit of 100"):
        pairs(crowd(60, 10, 5, 4), 2)


# ------------------------------------------------------------------------------------------------ compare, and skills
@pytest.mark.slow
def test_a_comparison_leaves_out_what_thousands_of_classes_make_dear(tmp_path, crowdwise_cli):
    path = classes(tmp_path / "v.csv", 2000, 2)
    before, start = memory(), time.process_time()
    code, out, err = crowdwise_cli("compare", path, "--jobs", 1, "--json")
    assert code == 0, err
    assert time.process_time() - start < 20
    assert memory() - before < 700_000
    found = json.loads(out)
    reasons = {row["method"]: row["reason"] for row in found["methods"]}
    assert {name for name, why in reasons.items() if why is None} == {
        "majority_vote", "wawa", "zero_based_skill", "adaptive", "committee", "auto",
    }  # fmt: skip
    assert reasons["kos"].startswith("left out: every step would go through ")
    assert reasons["kos"].endswith("for 4,000 labels; -m kos runs it")
    assert any(note.startswith("no held-out scores: 1,") for note in found["notes"])
    assert json.loads(crowdwise_cli("compare", path, "-m", "iwmv", "--json")[1])["methods"][0]["reason"] is None


@pytest.mark.parametrize("weighted", [False, True])
def test_readings_without_their_table_are_the_same(monkeypatch, weighted):
    """The rows that are asked for, made one by one, and what follows from them."""
    votes = crowd(60, 12, 7, 4)
    if weighted:
        votes = replace(votes, weight=np.random.default_rng(3).uniform(0.5, 2, len(votes)))
    gold = dict.fromkeys(range(5), 3)

    def found():
        fit = cw.MajorityVote().fit(votes, gold=gold)
        cool = cw.calibrate(cw.MajorityVote().fit(votes), votes)
        return fit.skill, fit.skill_low, held_out(cw.classes.Wawa().fit, votes).log_likelihood, cool.posterior

    with_table = found()
    monkeypatch.setattr(thin, "is_sparse", lambda _: True)
    monkeypatch.setattr(selection, "is_sparse", lambda _: True)
    monkeypatch.setattr(thin, "BLOCK", 40)
    for left, right in zip(with_table, found(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9)
