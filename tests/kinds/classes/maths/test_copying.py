"""Groups of workers who repeat each other's labels: sums against plain loops, and what is found in planted crowds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.cli.demo import LABELLED, _crowd, load_digits
from crowdwise.kinds.classes.maths.copying import STRENGTH, PairSums, compared_workers, groups_of, pair_sums
from crowdwise.kinds.classes.maths.leave_out import FLOOR
from crowdwise.kinds.classes.methods.ensemble.copy_groups import GroupWeights, find_groups, group_codes
from crowdwise.kinds.classes.methods.partitioned import PartitionedVotes, Solution, SolutionPredictor

from .test_leave_out import inputs, small_crowd


def by_loops(votes, q, place, gold=None, step=1):
    """table[sum, worker, worker] of the compared workers, counted again for every label."""
    k = votes.n_classes
    rows = list(zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), strict=True))
    weight = [1.0] * len(rows) if votes.weight is None else votes.weight.tolist()
    pooled = [[0.5 + sum(x * q[t][j] for (t, _, c), x in zip(rows, weight, strict=True) if c == o) for j in range(k)]
              for o in range(k)]  # fmt: skip
    pooled = [[pooled[o][j] / sum(pooled[c][j] for c in range(k)) for j in range(k)] for o in range(k)]
    prior = [(sum(q[t][j] for t in range(votes.n_tasks)) + 1) / (votes.n_tasks + k) for j in range(k)]

    def theta(worker, label, task, true):
        """Probability of a label by the worker's labels of other tasks."""
        others = [(t, c, x) for (t, w, c), x in zip(rows, weight, strict=True) if w == worker and t != task]
        said = sum(x * q[t][true] for t, c, x in others if c == label)
        return (said + STRENGTH * pooled[label][true]) / (sum(x * q[t][true] for t, _, x in others) + STRENGTH)

    size = max(place) + 1
    out = np.zeros((4, size, size))
    for b, (task, w, given) in enumerate(rows):
        if task % step:
            continue
        log = [math.log(p) for p in prior]
        for e, (t, v, c) in enumerate(rows):
            if t == task and e != b:
                log = [log[j] + weight[e] * math.log(max(theta(v, c, task, j), FLOOR)) for j in range(k)]
        p = [math.exp(x - max(log)) for x in log]
        p = [x / sum(p) for x in p]
        if gold is not None and gold[task] < k:
            p = [float(j == gold[task]) for j in range(k)]
        for a, (t, v, c) in enumerate(rows):
            if t != task or v == w or place[v] < 0 or place[w] < 0:
                continue
            expected = sum(p[j] * theta(w, c, task, j) for j in range(k))
            doubt, pair = 1 - p[c], weight[a] * weight[b] / 2
            sums = (doubt * ((c == given) - expected), doubt**2 * expected * (1 - expected), doubt * (1 - expected), 1)
            for s in range(4):
                out[s, place[v], place[w]] += pair * sums[s]
                out[s, place[w], place[v]] += pair * sums[s]
    return out


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_equal_to_plain_loops_over_a_tiny_crowd(compiled, known, step):
    votes = small_crowd(repeats=False)
    space, q, tables, _ = inputs(votes, compiled, known)
    place = np.array([0, 1, -1, 2, 3], dtype=np.int32)
    expected = by_loops(votes, q, place.tolist(), space.gold, step)
    np.testing.assert_allclose(pair_sums(space, q, tables, place, step).table, expected, atol=1e-9)
    assert expected[3].sum() > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("step", [1, 3])
def test_compiled_and_plain_agree(weighted, repeats, known, step):
    votes = small_crowd(4, 60, 9, repeats, weighted, seed=2)
    place = np.array([0, 1, 2, -1, 3, 4, 5, 6, 7], dtype=np.int32)
    plain, compiled = (pair_sums(*inputs(votes, compiled, known)[:3], place, step).table for compiled in (False, True))
    np.testing.assert_allclose(plain, compiled, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plain, plain.transpose(0, 2, 1))
    assert plain[3].sum() > 0


def test_the_busiest_workers_are_compared():
    labels = np.array([5.0, 1.0, 3.0, 3.0, 9.0, 2.0])
    assert compared_workers(labels).tolist() == [0, -1, 1, 2, 3, 4]
    assert compared_workers(labels, 2).tolist() == [0, -1, -1, -1, 1, -1]
    # two workers with three labels each compete for the third place: neither is compared
    assert compared_workers(labels, 3).tolist() == [0, -1, -1, -1, 1, -1]


def table_of(n, group, excess, shared=50.0):
    """Sums of n workers whose pairs inside a group agree more than expected by a share of the room."""
    table = np.zeros((4, n, n))
    table[1], table[2], table[3] = 2.0, 10.0, shared
    table[0][np.ix_(group, group)] = excess * 10.0
    return PairSums(table)


def test_groups_need_significance_room_and_a_minority():
    labels = np.full(12, 100.0)
    group = [2, 5, 7]
    assert [g.tolist() for g in groups_of(table_of(12, group, 0.9), labels)] == [group]
    assert groups_of(table_of(12, group, 0.4), labels) == []
    assert groups_of(table_of(12, group, 0.9, shared=1.0), labels) == []
    busy = labels.copy()
    busy[group] = 400.0
    assert groups_of(table_of(12, group, 0.9), busy) == []


def groups_in(crowd):
    """Indices of workers in each group of copies."""
    votes = crowd.annotations
    fit = cw.classes.Hierarchical().fit(votes)
    judge = SolutionPredictor(Solution(fit.posterior, fit.class_prior))
    return [sorted(group.tolist()) for group in find_groups(PartitionedVotes.of(votes, None), judge)]


@pytest.mark.slow
def test_two_rare_agreements_are_no_group():
    """Among many workers who share few tasks some pair agrees twice by chance: many standard deviations, two labels."""
    size = 300
    table = np.zeros((4, size, size))
    for a in range(0, size, 2):
        for sums, value in zip(table, (-0.02, 0.02, 0.96, 2.0), strict=True):
            sums[a, a + 1] = sums[a + 1, a] = value
    table[0, 0, 1] = table[0, 1, 0] = 0.94
    labels = np.full(size, 500.0)
    assert groups_of(PairSums(table), labels) == []
    table[:, :2, :2] *= 30  # sixty shared labels say more
    [group] = groups_of(PairSums(table), labels)
    assert group.tolist() == [0, 1]


@pytest.mark.slow
def test_large_crowds_of_independent_workers_are_no_group():
    """Of 2,000 workers the busiest are compared, who share a few tasks each; 40 classes make agreement rare."""
    crowd = simulate.scenario("one_coin", tasks=40_000, workers=2_000, classes=40, labels=5, seed=0)
    vote = cw.MajorityVote().fit(crowd.annotations)
    judge = SolutionPredictor(Solution(vote.posterior, vote.class_prior))
    assert find_groups(PartitionedVotes.of(crowd.annotations, None), judge) == []


@pytest.mark.parametrize("seed", range(3))
def test_most_copiers_are_one_group_without_honest_workers(seed):
    crowd = simulate.scenario("copiers", tasks=1000, workers=60, classes=4, labels=5, seed=seed)
    copiers = {w for w, kind in enumerate(crowd.kind) if kind == "copier"}
    [group] = groups_in(crowd)
    source = {crowd.annotations.workers.to_list().index(name) for name in crowd.copies if name is not None}
    assert len(copiers & set(group)) > 0.5 * len(copiers)
    assert set(group) - copiers <= source


def test_copiers_of_the_demo_are_one_group():
    digits = load_digits()
    crowd = _crowd(digits.target[:LABELLED], digits.data[:LABELLED], 1)
    [group] = groups_in(crowd)
    assert {w for w, kind in enumerate(crowd.kind) if kind == "copier"} <= set(group)
    assert len(group) <= 7  # the source may be among them


@pytest.mark.parametrize("seed", range(3))
def test_colluders_are_one_group(seed):
    crowd = simulate.scenario("colluders", tasks=1000, workers=60, classes=4, labels=5, seed=seed)
    ring = {w for w, kind in enumerate(crowd.kind) if kind == "colluder"}
    [group] = groups_in(crowd)
    assert len(ring & set(group)) >= 0.9 * len(ring)
    assert set(group) <= ring


@pytest.mark.slow
def test_most_small_groups_of_colluders_are_found():
    """Few labels a worker: a bound that asks for a dozen agreements on doubtful labels misses most of these groups."""
    n_found = 0
    for seed in range(8):
        crowd = simulate.scenario("colluders", tasks=200, workers=20, classes=3, labels=4, seed=seed)
        ring = {w for w, kind in enumerate(crowd.kind) if kind == "colluder"}
        groups = groups_in(crowd)
        assert all(set(group) <= ring for group in groups)
        n_found += bool(groups)
    assert n_found >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one_coin", "dirichlet", "hammer_spammer", "adversaries", "class_constant"])
@pytest.mark.parametrize("size", [(1000, 60, 4, 5), (200, 20, 3, 4)])
def test_independent_workers_are_no_group(name, size):
    tasks, workers, classes, labels = size
    for seed in range(3):
        crowd = simulate.scenario(name, tasks=tasks, workers=workers, classes=classes, labels=labels, seed=seed)
        assert groups_in(crowd) == []


def test_the_votes_of_a_group_on_a_task_weigh_as_much_as_the_largest():
    votes = cw.Annotations.from_arrays(
        [0, 0, 0, 1, 1, 2], list("abcabc"), ["x", "x", "y", "x", "y", "y"], weight=[1.0, 3.0, 2.0, 1.0, 1.0, 5.0]
    )
    change = GroupWeights(group_codes([np.array([0, 1])], 3))
    weight = change(votes, None)[0].weight
    np.testing.assert_allclose(weight, [0.75, 2.25, 2.0, 0.5, 0.5, 5.0])


def test_a_group_of_one_row_each_counts_once():
    votes = cw.Annotations.from_arrays([0, 0, 0, 0], list("abcd"), ["x", "x", "x", "y"])
    weight = GroupWeights(group_codes([np.array([0, 1, 2])], 4))(votes, None)[0].weight
    np.testing.assert_allclose(weight, [1 / 3, 1 / 3, 1 / 3, 1.0])
