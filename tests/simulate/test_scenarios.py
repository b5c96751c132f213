"""Planted crowds hold what they promise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate as sim
from crowdwise.core.errors import DataError, ParameterError
from crowdwise.kinds.classes.simulate.assignment import distinct_rows

PRIOR = {2: [0.4, 0.6], 3: [0.2, 0.5, 0.3]}
MATRIX = [[[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]]]
GROUPS = [
    (sim.OneCoin(3, low=0.4, high=0.9), 3),
    (sim.OneCoin(3, low=0.4, high=0.9, beta=(2, 1)), 3),
    (sim.TwoCoin(3, sensitivity=(0.8, 0.9), specificity=(0.5, 0.6)), 2),
    (sim.ClassCoins(3, low=0.3, high=0.9), 3),
    (sim.DirichletConfusion(3, diagonal=4, off=1), 3),
    (sim.HammerSpammer(4, hammer_share=0.5, accuracy=0.9), 3),
    (sim.PairwiseFlipper(3, p=0.7), 3),
    (sim.Constant(3), 3),
    (sim.Constant(3, label=2), 3),
    (sim.Guesser(2), 3),
    (sim.Guesser(2, by="prior"), 3),
    (sim.Adversary(3, p=0.2), 3),
    (sim.Given(1, MATRIX), 3),
    (sim.Colluder(3, p_corr=0.6, accuracy=0.8), 3),
]
ASSIGNMENTS = [
    sim.PerTask(5),
    sim.PerTask(28),
    sim.Regular(3, 30),
    sim.Regular(29, 300),
    sim.HeavyTailed(5, 1.5),
    sim.HeavyTailed(25, 3.0),
    sim.MissingAtRandom(0.05),
    sim.Dense(),
]


def empirical(crowd: sim.Crowd) -> np.ndarray:
    votes, k = crowd.annotations, crowd.annotations.n_classes
    counts = np.zeros((votes.n_workers, k, k))
    np.add.at(counts, (votes.worker, crowd.truth[votes.task], votes.label), 1)
    return counts / counts.sum(axis=2, keepdims=True)


def same(a: sim.Crowd, b: sim.Crowd) -> bool:
    return a.annotations.to_frame().equals(b.annotations.to_frame()) and np.array_equal(a.truth, b.truth)


# ---------------------------------------------------------------- groups
@pytest.mark.parametrize(("group", "k"), GROUPS, ids=lambda v: type(v).__name__ if isinstance(v, sim.Group) else str(v))
def test_what_workers_say_approaches_their_planted_confusion(group: sim.Group, k: int) -> None:
    crowd = sim.crowd(20_000, k, [group], sim.Dense(), class_prior=PRIOR[k], seed=3)
    assert crowd.confusion is not None
    np.testing.assert_allclose(crowd.confusion.sum(axis=2), 1)
    np.testing.assert_allclose(empirical(crowd), crowd.confusion, atol=0.04)
    votes = crowd.annotations
    hits = np.bincount(votes.worker, weights=votes.label == crowd.truth[votes.task]) / votes.n_tasks
    np.testing.assert_allclose(crowd.worker_table()["accuracy"].to_numpy(), hits, atol=0.02)


def test_the_shapes_of_the_matrices() -> None:
    def matrices(group: sim.Group, k: int = 4) -> np.ndarray:
        return group.confusion(sim.Setting(k, np.full(k, 1 / k), np.random.default_rng(0)))

    diagonal = np.arange(4)
    flip = matrices(sim.PairwiseFlipper(9, p=0.7))
    assert ((flip > 0).sum(axis=2) == 2).all()
    assert np.allclose(flip[:, diagonal, diagonal], 0.7)
    adversary = matrices(sim.Adversary(9, p=0.0))
    assert (adversary[:, diagonal, diagonal] == 0).all()
    assert (adversary.sum(axis=1) == 1).all()  # a permutation
    coin = matrices(sim.OneCoin(200, low=0.6, high=0.7))[:, 0, 0]
    assert 0.6 <= coin.min() < 0.61
    assert 0.69 < coin.max() <= 0.7
    assert (matrices(sim.Constant(5, label=3))[:, :, 3] == 1).all()
    assert sim.HammerSpammer(5, hammer_share=0.4).kinds() == ["hammer"] * 2 + ["spammer"] * 3


def test_copiers_agree_with_their_source() -> None:
    groups = [sim.OneCoin(4), sim.Copier(3, of=0, member=2, fidelity=0.9), sim.Copier(2, of=0, fidelity=1.0)]
    crowd = sim.crowd(5000, 3, groups, sim.Dense(), seed=1)
    said = crowd.annotations.label.reshape(5000, 9)
    for worker in (4, 5, 6):
        assert crowd.copies[worker] == "w2"
        assert np.mean(said[:, worker] == said[:, 2]) == pytest.approx(0.9 + 0.1 / 3, abs=0.02)
    source = crowd.annotations.workers.to_list().index(crowd.copies[7])
    assert (said[:, 7] == said[:, source]).all()
    assert crowd.copies[:4] == [None] * 4
    np.testing.assert_allclose(empirical(crowd), crowd.confusion, atol=0.05)


def test_copiers_agree_where_their_source_was_not_asked() -> None:
    crowd = sim.crowd(3000, 4, [sim.OneCoin(30), sim.Copier(10, fidelity=1.0)], sim.PerTask(12), seed=2)
    frame = crowd.annotations.to_frame().filter(pl.col("worker") >= "w30")
    assert frame.group_by("task").agg(pl.col("label").n_unique())["label"].max() == 1


def test_colluders_share_wrong_labels() -> None:
    crowd = sim.crowd(4000, 4, [sim.OneCoin(5), sim.Colluder(6, p_corr=0.9)], sim.Dense(), seed=4)
    said = crowd.annotations.label.reshape(4000, 11)[:, 5:]
    wrong = said != crowd.truth[:, None]
    assert wrong.mean() == pytest.approx(0.9, abs=0.01)
    lowest = np.where(wrong, said, 9).min(axis=1)
    highest = np.where(wrong, said, -1).max(axis=1)
    some = wrong.any(axis=1)
    assert (lowest[some] == highest[some]).all()
    assert len(np.unique((lowest - crowd.truth)[some] % 4)) == 3  # another wrong class on another task


# ---------------------------------------------------------------- assignments
@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=str)
def test_no_pair_comes_twice_and_rows_are_sorted(assignment: sim.Assignment) -> None:
    task, worker = assignment.draw(300, 30, np.random.default_rng(5))
    key = task.astype(np.int64) * 30 + worker
    assert (np.diff(key) > 0).all()
    assert (np.bincount(task, minlength=300) > 0).all()
    assert 0 <= worker.min() <= worker.max() < 30


@pytest.mark.parametrize("assignment", [sim.PerTask(5), sim.PerTask(28), sim.HeavyTailed(5), sim.HeavyTailed(29, 2.0)])
def test_every_task_gets_its_labels(assignment: sim.PerTask | sim.HeavyTailed) -> None:
    task, _ = assignment.draw(300, 30, np.random.default_rng(5))
    assert (np.bincount(task) == assignment.labels).all()


@pytest.mark.parametrize(
    ("n_tasks", "n_workers", "left", "right"),
    [(1000, 750, 3, 4), (4, 4, 4, 4), (4, 4, 3, 3), (5000, 10, 2, 1000), (60, 5, 4, 48), (9, 9, 1, 1), (2, 2, 1, 1)],
)
def test_regular_degrees(n_tasks: int, n_workers: int, left: int, right: int) -> None:
    task, worker = sim.Regular(left, right).draw(n_tasks, n_workers, np.random.default_rng(6))
    assert (np.bincount(task) == left).all()
    assert (np.bincount(worker, minlength=n_workers) == right).all()
    assert len(np.unique(task.astype(np.int64) * n_workers + worker)) == n_tasks * left


def test_a_regular_graph_with_room_leaves_the_last_workers_idle() -> None:
    _, worker = sim.Regular(3, 4).draw(10, 12, np.random.default_rng(0))
    assert np.bincount(worker, minlength=12).tolist() == [4] * 7 + [2] + [0] * 4


def test_heavy_tails_are_heavy_and_plain_ones_are_not() -> None:
    def share_of_the_busiest(assignment: sim.Assignment) -> float:
        _, worker = assignment.draw(4000, 100, np.random.default_rng(7))
        load = np.sort(np.bincount(worker, minlength=100))[::-1]
        return float(load[:10].sum() / load.sum())

    assert share_of_the_busiest(sim.HeavyTailed(3, 1.5)) > 0.6
    assert share_of_the_busiest(sim.PerTask(3)) < 0.13


def test_missing_at_random() -> None:
    task, _ = sim.MissingAtRandom(0.3).draw(3000, 40, np.random.default_rng(8))
    assert len(task) / 120_000 == pytest.approx(0.3, abs=0.01)
    bare, _ = sim.MissingAtRandom(0.01, keep_one=False).draw(1000, 5, np.random.default_rng(8))
    assert (np.bincount(bare, minlength=1000) == 0).any()
    full, _ = sim.MissingAtRandom(1.0).draw(20, 5, np.random.default_rng(8))
    assert len(full) == 100


def test_redrawing_and_racing_draw_alike() -> None:
    chance = np.array([8.0, 4, 2, 1, 1, 1, 1, 1])
    redrawn = distinct_rows(40_000, 2, chance, np.random.default_rng(9))
    raced = distinct_rows(40_000, 3, chance, np.random.default_rng(9))
    total = chance.sum()
    first = chance / total
    second = sum(first[i] * np.where(np.arange(8) == i, 0, chance) / (total - chance[i]) for i in range(8))
    np.testing.assert_allclose(np.bincount(redrawn.ravel()) / 40_000, first + second, atol=0.01)
    exact = np.random.default_rng(1).exponential(size=(40_000, 8)) / chance
    np.testing.assert_allclose(
        np.bincount(raced.ravel()) / 40_000, np.bincount(exact.argsort(axis=1)[:, :3].ravel()) / 40_000, atol=0.015
    )


@pytest.mark.slow
def test_a_million_labels_are_drawn_at_once() -> None:
    task, worker = sim.PerTask(5).draw(200_000, 10_000, np.random.default_rng(0))
    assert len(np.unique(task.astype(np.int64) * 10_000 + worker)) == 1_000_000


# ---------------------------------------------------------------- tasks
def test_hard_tasks_mislead_everybody_the_same_way() -> None:
    groups = [sim.OneCoin(20, low=0.9, high=0.9)]
    crowd = sim.crowd(2000, 4, groups, sim.Dense(), hard_share=0.25, hard_pull=0.8, seed=1)
    assert crowd.hard.sum() == 500
    top = crowd.annotations.votes.argmax(axis=1)
    assert (top[crowd.hard] != crowd.truth[crowd.hard]).mean() > 0.98
    assert (top[~crowd.hard] == crowd.truth[~crowd.hard]).all()
    assert crowd.annotations.votes.max(axis=1)[crowd.hard].mean() / 20 == pytest.approx(0.8 + 0.2 / 30, abs=0.02)


def test_features_lie_in_clusters() -> None:
    for d in (1, 2, 8):
        crowd = sim.crowd(6000, 4, [sim.OneCoin(5)], sim.PerTask(1), n_features=d, separation=6.0, seed=2)
        assert crowd.features is not None
        assert crowd.features.shape == (6000, d)
        centre = np.stack([crowd.features[crowd.truth == k].mean(axis=0) for k in range(4)])
        apart = np.linalg.norm(centre[:, None] - centre[None], axis=2)[np.triu_indices(4, 1)]
        assert apart.min() == pytest.approx(6.0, abs=0.2)
        nearest = np.linalg.norm(crowd.features[:, None] - centre[None], axis=2).argmin(axis=1)
        assert (nearest == crowd.truth).mean() > 0.97


def test_given_truth_features_and_classes() -> None:
    truth, x = [2, 0, 1, 1], np.arange(8).reshape(4, 2)
    names = ["ant", "bee", "cow"]
    one = [sim.OneCoin(3, low=1, high=1)]
    crowd = sim.crowd(4, 3, one, sim.Dense(), truth=truth, features=x, classes=names)
    assert crowd.truth_table()["label"].to_list() == ["cow", "ant", "bee", "bee"]
    assert crowd.class_prior.tolist() == [0.25, 0.5, 0.25]
    assert crowd.annotations.to_frame()["label"].to_list() == ["cow"] * 3 + ["ant"] * 3 + ["bee"] * 6
    np.testing.assert_array_equal(crowd.features, x)


def test_names_sort_as_numbers_do() -> None:
    crowd = sim.crowd(1001, 12, [sim.OneCoin(101)], sim.PerTask(1))
    votes = crowd.annotations
    assert votes.tasks[7] == "t0007"
    assert votes.workers[12] == "w012"
    assert votes.classes[3] == "03"
    for names in (votes.tasks, votes.workers, votes.classes):
        assert names.to_list() == sorted(names.to_list())
    again = cw.Annotations.from_frame(votes.to_frame())
    assert again.to_frame().equals(votes.to_frame())


def test_same_seed_same_crowd() -> None:
    for name in sim.SCENARIOS:
        a, b, c = (sim.scenario(name, tasks=80, workers=20, features=3, seed=s) for s in (1, 1, 2))
        assert same(a, b)
        assert not same(a, c)
        np.testing.assert_array_equal(a.features, b.features)


# ---------------------------------------------------------------- scenarios and files
@pytest.mark.parametrize("name", sim.SCENARIOS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("tasks", "workers", "labels"), [(60, 30, 4), (1, 1, 1), (3, 2, 2), (7, 4, 3), (5, 40, 2)])
def test_every_scenario_runs_at_every_size(name: str, classes: int, tasks: int, workers: int, labels: int) -> None:
    crowd = sim.scenario(name, tasks=tasks, workers=workers, classes=classes, labels=labels, features=2, seed=3)
    votes = crowd.annotations
    assert (votes.n_tasks, votes.n_workers, votes.n_classes) == (tasks, workers, classes)
    assert len(crowd.kind) == len(crowd.copies) == workers
    assert crowd.features is not None
    assert crowd.features.shape == (tasks, 2)
    if name != "missing":
        assert (votes.labels_per_task == labels).all()
    assert sim.SCENARIOS[name].description


def test_the_attacks_are_worth_their_names() -> None:
    kinds = {name: set(sim.scenario(name, tasks=10).kind) for name in sim.SCENARIOS}
    assert kinds["copiers"] == {"one_coin", "copier"}
    assert kinds["class_constant"] == {"one_coin", "constant"}
    assert kinds["hammer_spammer"] == {"hammer", "spammer"}
    assert len(kinds["mixed"]) == 7


def test_save_and_read_back(tmp_path) -> None:
    crowd = sim.scenario("copiers", tasks=30, workers=9, features=2)
    assert crowd.save(tmp_path / "run") == ["labels.csv", "truth.csv", "workers.csv", "features.npz"]
    back = cw.read(tmp_path / "run" / "labels.csv")
    assert back.to_frame().equals(crowd.annotations.to_frame())
    assert cw.read_truth(tmp_path / "run" / "truth.csv").equals(crowd.truth_table())
    workers = pl.read_csv(tmp_path / "run" / "workers.csv")
    assert workers.columns == ["worker", "kind", "copies", "accuracy"]
    assert workers["copies"].null_count() == 6
    with np.load(tmp_path / "run" / "features.npz", allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["x"], crowd.features)
        assert stored["task"].tolist() == crowd.annotations.tasks.to_list()
    with pytest.raises(DataError, match=r"labels\.csv"):
        crowd.save(tmp_path / "run")
    assert "features.npz" not in sim.scenario("one_coin", tasks=5).save(tmp_path / "run", force=True)
    assert not (tmp_path / "run" / "features.npz").exists()


def test_a_crowd_is_frozen() -> None:
    crowd = sim.scenario("one_coin", tasks=5)
    with pytest.raises(ValueError, match="read-only"):
        crowd.truth[0] = 1
    assert repr(crowd).startswith("Crowd(one_coin: Annotations(25 annotations")


# ---------------------------------------------------------------- errors
ONE = [sim.OneCoin(5)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sim.scenario("one_coim"), "one_coin"),
        (lambda: sim.scenario("zzz"), "pairwise_flipper"),
        (lambda: sim.scenario("one_coin", workers=3, labels=5), "workers=3"),
        (lambda: sim.scenario("one_coin", classes=1), "classes"),
        (lambda: sim.scenario("one_coin", tasks=0), "tasks"),
        (lambda: sim.scenario("one_coin", labels=0), "labels"),
        (lambda: sim.scenario("one_coin", features=-1), "features"),
        (lambda: sim.scenario("one_coin", seed=-1), "seed"),
        (lambda: sim.OneCoin(0), "got 0"),
        (lambda: sim.OneCoin(2, low=0.9, high=0.5), "low to high"),
        (lambda: sim.OneCoin(2, beta=(0, 1)), "beta"),
        (lambda: sim.TwoCoin(2, sensitivity=0.5), "sensitivity"),
        (lambda: sim.crowd(5, 3, [sim.TwoCoin(2)], sim.Dense()), "ClassCoins"),
        (lambda: sim.DirichletConfusion(2, off=0), "off"),
        (lambda: sim.PairwiseFlipper(2, p=1.5), "1.5"),
        (lambda: sim.crowd(5, 3, [sim.Constant(2, label=3)], sim.Dense()), "from 0 to 2"),
        (lambda: sim.Guesser(2, by="x"), "'x'"),
        (lambda: sim.Given(2, MATRIX), "shape"),
        (lambda: sim.Given(1, [[[0.5, 0.4], [0, 1]]]), "sum to 1"),
        (lambda: sim.crowd(5, 4, [sim.Given(1, MATRIX)], sim.Dense()), "3 classes"),
        (lambda: sim.crowd(5, 3, [*ONE, sim.Copier(2, of=2)], sim.Dense()), "of=2"),
        (lambda: sim.crowd(5, 3, [*ONE, sim.Copier(2, of=1)], sim.Dense()), "for themselves"),
        (lambda: sim.crowd(5, 3, [*ONE, sim.Copier(2, member=5)], sim.Dense()), "member=5"),
        (lambda: sim.crowd(5, 3, [], sim.Dense()), "empty"),
        (lambda: sim.crowd(5, 3, ["x"], sim.Dense()), "'x'"),
        (lambda: sim.crowd(5, 3, ONE, sim.PerTask(6)), "labels=6"),
        (lambda: sim.crowd(5, 3, ONE, sim.Regular(3, 2)), "r=3"),
        (lambda: sim.crowd(5, 3, ONE, sim.Regular(1, 6)), "r=6"),
        (lambda: sim.MissingAtRandom(0), "above 0"),
        (lambda: sim.crowd(5, 3, ONE, sim.Dense(), truth=[0, 1, 2]), "5 whole numbers"),
        (lambda: sim.crowd(3, 3, ONE, sim.Dense(), truth=[0, 1, 3]), "0 to 3"),
        (lambda: sim.crowd(5, 3, ONE, sim.Dense(), class_prior=[0.5, 0.5]), "3 numbers"),
        (lambda: sim.crowd(5, 2, ONE, sim.Dense(), class_prior=[0.5, 0.6]), "sum to 1"),
        (lambda: sim.crowd(5, 2, ONE, sim.Dense(), features=np.ones(5)), "shape"),
        (lambda: sim.crowd(5, 2, ONE, sim.Dense(), classes=["b", "a"]), "sorted"),
        (lambda: sim.crowd(5, 2, ONE, sim.Dense(), classes=["a"]), "2 different"),
        (lambda: sim.crowd(5, 2, ONE, sim.Dense(), hard_share=2), "hard_share"),
    ],
)
def test_errors_name_the_value(make, says: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
