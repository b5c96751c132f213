"""Laws that every registered method for label sets obeys."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.kinds.sets.cards import METHODS as SETS
from crowdwise.kinds.sets.simulate import set_crowd

every = pytest.mark.parametrize("name", sorted(SETS))


def having(ability):
    return pytest.mark.parametrize("name", sorted(n for n, c in SETS.items() if ability in c.can))


def crowd(n=60, m=9, k=6, seed=0, **more):
    """task, worker, lists of classes, truth[task, class]."""
    drawn = set_crowd(n, m, k, per_task=4, size=2.0, hit=0.7, alarm=0.05, seed=seed, **more)
    return drawn.task, drawn.worker, lists(drawn.labels), drawn.truth


def lists(member):
    return [[f"c{j}" for j in np.flatnonzero(row)] for row in member]


def fit(name, votes, gold=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name).fit(votes, gold=gold, **how)


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "sets")
    assert getattr(cw.sets, cls.__name__) is cls
    assert cls.__doc__


@every
def test_row_order_does_not_matter(name):
    task, worker, said, _ = crowd()
    order = np.random.default_rng(1).permutation(len(task))
    one = fit(name, cw.sets.set_votes(task, worker, said))
    other = fit(name, cw.sets.set_votes(task[order], worker[order], [said[i][::-1] for i in order]))
    assert np.array_equal(one.posterior, other.posterior)


@every
def test_names_of_classes_do_not_matter(name):
    task, worker, said, _ = crowd()
    one = fit(name, cw.sets.set_votes(task, worker, said))
    new = {f"c{j}": f"d{5 - j}" for j in range(6)}
    other = fit(name, cw.sets.set_votes(task, worker, [[new[c] for c in each] for each in said]))
    np.testing.assert_allclose(other.posterior[:, ::-1], one.posterior, atol=1e-9)


@every
def test_who_says_nothing_changes_nobody(name):
    task, worker, said, _ = crowd()
    one = fit(name, cw.sets.set_votes(task, worker, said, tasks=range(60), workers=range(9)))
    other = fit(name, cw.sets.set_votes(task, worker, said, tasks=range(500), workers=range(100)))
    np.testing.assert_allclose(other.posterior[:60], one.posterior, atol=1e-9)
    np.testing.assert_allclose(other.worker_summary.recall[:9], one.worker_summary.recall, atol=1e-9)
    assert np.isfinite(other.posterior).all()


@every
def test_a_row_of_weight_zero_is_absent(name):
    task, worker, said, _ = crowd()
    weight = np.ones(len(task))
    weight[::7] = 0.0
    keep = weight > 0
    one = fit(name, cw.sets.set_votes(task, worker, said, weight=weight, tasks=range(60), workers=range(9)))
    some = [each for each, stays in zip(said, keep, strict=True) if stays]
    classes = [f"c{j}" for j in range(6)]
    other = fit(
        name, cw.sets.set_votes(task[keep], worker[keep], some, tasks=range(60), workers=range(9), classes=classes)
    )
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-7)


@every
def test_gold_stays_put_and_teaches(name):
    task, worker, said, truth = crowd(seed=3)
    votes = cw.sets.set_votes(task, worker, said)
    gold = dict(zip(range(25), lists(truth[:25]), strict=True))
    blind, taught = fit(name, votes), fit(name, votes, gold)
    assert np.array_equal(taught.member[:25], truth[:25])
    assert np.flatnonzero(taught.gold).tolist() == list(range(25))
    if name != "set_majority":  # it knows nothing of workers
        assert np.abs(taught.posterior[25:] - blind.posterior[25:]).max() > 1e-6
    wrong = [(found.member[25:] != truth[25:]).mean() for found in (blind, taught)]
    assert wrong[1] <= wrong[0] + 0.02


@every
def test_gold_of_single_classes_leaves_the_others_open(name):
    task, worker, said, truth = crowd(seed=3)
    votes = cw.sets.set_votes(task, worker, said)
    gold = pl.DataFrame({"task": np.arange(25), "label": ["c0"] * 25, "value": truth[:25, 0].astype(int)})
    taught = fit(name, votes, gold)
    assert np.array_equal(taught.posterior[:25, 0], truth[:25, 0])
    assert not np.isin(taught.posterior[:25, 1:], [0.0, 1.0]).all()


@every
def test_a_class_that_was_not_offered_is_not_denied(name):
    task, worker, said, _ = crowd(n=80)
    last = task >= 40
    some = [[c for c in each if c != "c5"] if gone else each for each, gone in zip(said, last, strict=True)]
    menu = [f"c{j}" for j in range(5)]
    votes = cw.sets.set_votes(task, worker, some, offered={int(i): menu for i in range(40, 80)})
    found = fit(name, votes)
    np.testing.assert_allclose(found.posterior[40:, 5], found.rate[5], atol=1e-9)
    assert not found.member[40:, 5].any()
    first = cw.sets.set_votes(task[~last], worker[~last], some[: int((~last).sum())])
    if name in ("set_majority", "binary_relevance"):  # the others let every class speak of the workers
        np.testing.assert_allclose(fit(name, first).posterior[:, 5], found.posterior[:40, 5], atol=1e-2)


@every
def test_save_and_load_are_the_identity(name, tmp_path):
    task, worker, said, _ = crowd()
    for folder, menus in (("a", None), ("b", {3: ["c0", "c1", "c2", "c3", "c4", "c5"]})):
        votes = cw.sets.set_votes(task, worker, said, offered=menus)
        result = fit(name, votes)
        cw.Run(result, votes).save(tmp_path / folder)
        again = cw.Run.load(tmp_path / folder)
        assert again.result.to_table().equals(result.to_table())
        assert again.result.worker_table().equals(result.worker_table())
        assert again.votes.to_frame().equals(votes.to_frame())
        assert np.array_equal(result.infer(votes).posterior, again.result.infer(votes).posterior)


@having("infer")
def test_inferring_the_same_tasks_gives_the_same_estimates(name):
    task, worker, said, _ = crowd()
    votes = cw.sets.set_votes(task, worker, said)
    result = fit(name, votes)
    np.testing.assert_allclose(result.infer(votes).posterior, result.posterior, atol=1e-9)


@every
def test_inferring_a_part_and_strangers(name):
    task, worker, said, _ = crowd()
    votes = cw.sets.set_votes(task, worker, said)
    result = fit(name, votes)
    part = votes.select(tasks=range(10, 20))
    np.testing.assert_allclose(result.infer(part).posterior, result.infer(votes).posterior[10:20], atol=1e-9)
    strange = cw.sets.set_votes([0, 0], ["new", "newer"], [["c1"], ["c1", "c2"]])
    with pytest.raises(cw.CrowdwiseError):
        result.infer(strange)
    assert np.isfinite(result.infer(strange, unknown_workers="average").posterior).all()
    with pytest.raises(cw.DataError, match="fitted without the classes 'other'"):
        result.infer(cw.sets.set_votes([0], [0], [["other"]]))


@every
def test_without_own_leaves_one_answer_out(name):
    task, worker, said, _ = crowd(n=20)
    votes = cw.sets.set_votes(task, worker, said, classes=[f"c{j}" for j in range(6)])
    model = fit(name, votes).model
    found = model.without_own(votes)
    for row in (0, 17, 42):
        rest = votes.take(np.arange(len(votes)) != row)
        np.testing.assert_allclose(found[row], model.posterior(rest)[votes.task[row]], atol=1e-9)


@having("monotone")
def test_the_objective_never_falls_within_a_stage(name):
    task, worker, said, _ = crowd(n=200, m=20)
    result = fit(name, cw.sets.set_votes(task, worker, said))
    steps = np.diff(result.trace)[np.diff(result.stage) == 0]
    assert len(steps)
    assert (steps >= -1e-7 * np.abs(result.trace).max()).all()


@every
@pytest.mark.parametrize(
    "rows",
    [
        ([1], [1], [["x"]]),
        ([1], [1], [[]]),
        ([1, 1], [1, 2], [[], []]),
        ([1, 1, 1], [1, 2, 3], [["x"], ["y"], ["z"]]),
        ([1, 2, 3], [1, 1, 1], [["x"], ["x", "y"], []]),
        ([1, 1, 2, 2], [1, 2, 1, 2], [["x", "y"]] * 4),
    ],
)
def test_degenerate_sizes(name, rows):
    result = fit(name, cw.sets.set_votes(*rows))
    assert np.isfinite(result.posterior).all()
    assert ((result.posterior >= 0) & (result.posterior <= 1)).all()
    assert len(result.to_table()) == len(set(rows[0]))


@every
def test_nothing_offered_is_nothing_known(name):
    found = fit(name, cw.sets.set_votes([1, 1, 2], [1, 2, 1], [["x"], ["x"], []], offered={2: []}))
    assert found.sets == [["x"], []]
    assert found.confidence[1] == 1.0
    assert np.isfinite(found.posterior).all()
