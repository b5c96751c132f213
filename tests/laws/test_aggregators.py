"""Laws that every registered method obeys; one is left out only by a capability that the method's card declares."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.em import drivers

from ..conftest import build, crowds, planted, ready, suits

every = pytest.mark.parametrize("name", sorted(registry.METHODS))


# Methods that know workers by their votes alone.
ALIKE = ("majority_vote", "family_vote", "subjective", "surprisingly_popular", "truth_serum")


def having(ability):
    return pytest.mark.parametrize("name", sorted(n for n, c in registry.METHODS.items() if ability in c.can))


def fit(name, votes, gold=None, **params):
    """Fit, with gold made up for methods that need it, whatever they warn of."""
    if gold is None and "gold" in registry.card(name).needs:
        first = int(votes.task[0])
        gold = {votes.tasks[first]: votes.classes[int(votes.label[0])]}
    votes = ready(name, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not suits(name, votes):
            with pytest.raises(cw.DataError):
                registry.method(name, **quick(name)).fit(votes, gold=gold)
            reject()
        return registry.method(name, **{**quick(name), **params}).fit(votes, gold=gold)


def quick(name):
    """Parameters that keep small crowds within a method's reach."""
    known = {f.name for f in fields(registry.get(name))}
    return {p: v for p, v in (("max_iter", 60), ("min_overlap", 1), ("n_splits", 1), ("min_gold", 1)) if p in known}


def classes(name):
    """How many classes a planted crowd for this method has."""
    return 2 if "binary" in registry.card(name).needs else 3


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert cls.name == name
    assert getattr(cw.classes, cls.__name__) is cls
    assert registry.card(name).paper
    assert cls.__doc__


@every
@given(crowd=crowds())
def test_posteriors_are_distributions_and_skills_lie_in_their_intervals(name, crowd):
    result = fit(name, build(crowd))
    assert np.isfinite(result.posterior).all()
    assert (result.posterior >= 0).all()
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(result.class_prior.sum(), 1, atol=1e-9)
    assert (result.skill_low >= 0).all()
    assert (result.skill_high <= 1).all()
    assert (result.skill_low <= result.skill + 1e-9).all()
    assert (result.skill <= result.skill_high + 1e-9).all()
    assert (result.skill_low <= result.skill_high).all()
    np.testing.assert_array_less(
        -1e-9, result.posterior[np.arange(len(result.labels)), result.labels] - result.confidence + 1e-8
    )
    if "confusion" in registry.card(name).can:
        assert result.confusion.shape == (len(result.workers), len(result.classes), len(result.classes))
        np.testing.assert_allclose(result.confusion.sum(axis=2), 1, atol=1e-9)


@every
@given(crowd=crowds(), seed=st.integers(0, 9))
def test_row_order_does_not_matter(name, crowd, seed):
    task, worker, label, n, m, k = crowd
    order = np.random.default_rng(seed).permutation(len(task))
    votes = build(crowd)
    gold = {int(votes.tasks[0]): int(votes.classes[0])} if "gold" in registry.card(name).needs and 0 in task else None
    one = fit(name, votes, gold)
    other = fit(name, build((task[order], worker[order], label[order], n, m, k)), gold)
    np.testing.assert_array_equal(one.posterior, other.posterior)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.skill, other.skill)


@every
@given(crowd=crowds(), seed=st.integers(0, 9))
def test_renaming_classes_permutes_the_columns(name, crowd, seed):
    task, worker, label, n, m, k = crowd
    to = np.random.default_rng(seed).permutation(k)
    votes = build(crowd)
    gold = {int(task[0]): int(label[0])}
    renamed = {int(task[0]): int(to[label[0]])}
    one = fit(name, votes, gold)
    other = fit(name, build((task, worker, to[label], n, m, k)), renamed)
    np.testing.assert_allclose(other.posterior[:, to], one.posterior, atol=1e-6)
    np.testing.assert_allclose(other.skill, one.skill, atol=1e-6)


@having("shard")
@given(crowd=crowds(), shards=st.integers(2, 5))
def test_the_number_of_shards_does_not_matter(name, crowd, shards):
    votes = build(crowd)
    gold = {int(crowd[0][0]): int(crowd[2][0])}
    one = fit(name, votes, gold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = registry.method(name, **quick(name)).fit(ready(name, votes), gold=gold, n_shards=shards)
    np.testing.assert_allclose(other.posterior, one.posterior, atol=1e-7)


@having("shard")
def test_who_promises_to_split_really_splits(name, monkeypatch):
    sizes = []
    run = drivers.InProcess.map

    def spy(self, job):
        found = list(run(self, job))
        sizes.append(len(found))
        return iter(found)

    monkeypatch.setattr(drivers.InProcess, "map", spy)
    votes, truth, _ = planted(60, 8, classes(name), seed=1)
    gold = {0: int(truth[0])} if "gold" in registry.card(name).needs else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        registry.method(name, **quick(name)).fit(ready(name, votes), gold=gold, n_shards=3)
    assert max(sizes, default=1) > 1


@every
def test_gold_teaches(name):
    """What is known of some tasks changes what is believed of others, and does not make it worse."""
    votes, truth, _ = planted(150, 10, classes(name), seed=2, low=0.3, high=0.95)
    gold = {int(task): int(truth[task]) for task in range(60)}
    few = dict(list(gold.items())[:1]) if "gold" in registry.card(name).needs else None
    blind, taught = fit(name, votes, few), fit(name, votes, gold)
    moved = np.abs(taught.posterior[60:] - blind.posterior[60:]).max()
    assert moved > 1e-6 or name in ALIKE, "every vote counts the same there, whatever is known"
    right = [float((found.labels[60:] == truth[60:]).mean()) for found in (blind, taught)]
    assert right[1] >= right[0] - 0.05


@every
def test_a_row_of_weight_zero_is_absent(name):
    votes, truth, _ = planted(60, 8, classes(name), seed=3)
    gone = np.zeros(len(votes), dtype=bool)
    gone[:: max(len(votes) // 40, 1)] = True
    weighed = replace(votes, weight=np.where(gone, 0.0, 1.0))
    without = votes.take(~gone)
    gold = {0: int(truth[0])} if "gold" in registry.card(name).needs else None
    one, other = fit(name, weighed, gold), fit(name, replace(without, weight=np.ones(len(without))), gold)
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-7)
    np.testing.assert_allclose(one.skill, other.skill, atol=1e-6)


@every
def test_inferring_a_part_is_a_part_of_inferring(name):
    """Tasks are judged one by one: which others are asked about changes nothing."""
    votes, truth, _ = planted(60, 8, classes(name), seed=4)
    result = fit(name, votes, {0: int(truth[0])} if "gold" in registry.card(name).needs else None)
    if result.model is None:
        with pytest.raises(cw.ParameterError, match="fit it on them instead"):
            result.infer(votes)
        return
    some = list(range(5, 25))
    whole, part = result.infer(votes), result.infer(votes.select(tasks=some), unknown_workers="average")
    np.testing.assert_allclose(part.posterior, whole.posterior[some], atol=1e-9)


@every
def test_the_compiled_kernels_say_the_same(name, monkeypatch):
    """Law crowds are small and never reach them by themselves."""
    votes, truth, _ = planted(40, 6, classes(name), seed=5)
    gold = {0: int(truth[0])} if "gold" in registry.card(name).needs else None
    plain = fit(name, votes, gold)
    monkeypatch.setattr("crowdwise.em.kernels.COMPILED_FROM", 0)
    compiled = fit(name, votes, gold)
    np.testing.assert_allclose(compiled.posterior, plain.posterior, atol=1e-6)


@every
@given(crowd=crowds())
def test_gold_stays_put(name, crowd):
    task, _, _, _, _, k = crowd
    votes = build(crowd)
    gold = {int(task[0]): 0, int(task[-1]): min(1, k - 1) if task[-1] != task[0] else 0}
    result = fit(name, votes, gold)
    for known, label in gold.items():
        row = result.posterior[known]
        assert row[label] == 1
        assert result.labels[known] == label
    assert np.flatnonzero(result.gold).tolist() == sorted(gold)


@every
def test_same_seed_same_bits_and_methods_are_values(name):
    votes = planted(n=40, m=8, k=classes(name))[0]
    cls = registry.get(name)
    one, other = fit(name, votes, seed=3), fit(name, votes, seed=3)
    np.testing.assert_array_equal(one.posterior, other.posterior)
    np.testing.assert_array_equal(one.labels, other.labels)
    assert cls() == cls()
    with pytest.raises(AttributeError):
        cls().seed = 1


@having("monotone")
@given(crowd=crowds(), gold=st.booleans(), accelerate=st.booleans())
def test_the_objective_never_falls_within_a_stage(name, crowd, gold, accelerate):
    known = {f.name for f in fields(registry.get(name))}
    params = {"accelerate": accelerate} if "accelerate" in known else {}
    result = fit(name, build(crowd), {int(crowd[0][0]): 0} if gold else None, **params)
    steps = np.diff(result.trace)[np.diff(result.stage) == 0]
    assert (steps >= -1e-9 * np.maximum(1, np.abs(result.trace[1:][np.diff(result.stage) == 0]))).all()


@having("single")
@pytest.mark.parametrize("seed", range(20))
def test_single_labels_are_kept_by_those_who_promise_it(name, seed):
    rng = np.random.default_rng(seed)
    k = [2, 3, 5, 10][seed % 4]
    n = 50 if seed < 10 else 400
    worker, label = rng.integers(4 if seed % 2 else 40, size=n), np.minimum(rng.geometric(0.3, n) - 1, k - 1)
    votes = cw.Annotations.from_arrays(np.arange(n), worker, label, classes=range(k))
    if "gold" in registry.card(name).needs:
        result = fit(name, votes, {0: int(label[0])})
    else:
        result = registry.get(name)().fit(votes)  # and it does not warn either
    np.testing.assert_array_equal(result.labels, label)


@pytest.mark.parametrize(
    "name", sorted(n for n, c in registry.METHODS.items() if "single" not in c.can and "gold" not in c.needs)
)
def test_those_who_do_not_promise_it_say_so(name):
    label = np.arange(6) % classes(name)
    votes = cw.Annotations.from_arrays(np.arange(6), [0, 1, 0, 1, 0, 1], label)
    refusal = pytest.raises(cw.DataError, match="the same tasks") if not suits(name, votes) else nullcontext()
    with pytest.warns(cw.errors.IdentifiabilityWarning, match="one label"), refusal:
        registry.get(name)().fit(ready(name, votes))


@every
def test_save_and_load_are_the_identity(name, tmp_path):
    result = fit(name, planted(n=30, m=6, k=classes(name))[0])
    result.save(tmp_path / "run")
    again = cw.Result.load(tmp_path / "run")
    assert (again.method, again.params, again.n_iter, again.converged) == (
        result.method,
        result.params,
        result.n_iter,
        result.converged,
    )
    assert again.to_table().equals(result.to_table())
    assert again.worker_table().equals(result.worker_table())
    assert again.confusion_table().equals(result.confusion_table())
    for field in ("posterior", "class_prior", "trace", "stage", "labels_per_task"):
        np.testing.assert_array_equal(getattr(again, field), getattr(result, field))
        assert getattr(again, field).dtype == getattr(result, field).dtype
    assert set(again.extra) == set(result.extra)


@having("infer")
def test_inferring_the_same_tasks_gives_the_same_posterior(name):
    votes = planted(n=60, m=8, k=classes(name))[0]
    result = fit(name, votes, gold={0: 0})
    again = result.infer(votes)
    np.testing.assert_allclose(again.posterior[1:], result.posterior[1:], atol=1e-9)


@every
def test_a_vote_of_weight_two_is_two_votes(name):
    votes, _, _ = planted(n=30, m=6, k=classes(name), labels=3)
    frame = votes.to_frame()
    doubled = cw.Annotations.from_arrays(
        *(np.concatenate([frame[c].to_numpy(), frame[c].to_numpy()[:20]]) for c in ("task", "worker", "label")),
        duplicates="keep",
    )
    weight = np.ones(len(frame))
    weight[:20] = 2
    heavy = cw.Annotations.from_arrays(frame["task"], frame["worker"], frame["label"], weight=weight)
    gold = {0: 0, 1: 1} if "gold" in registry.card(name).needs else None
    np.testing.assert_allclose(fit(name, heavy, gold).posterior, fit(name, doubled, gold).posterior, atol=1e-6)


@every
@pytest.mark.parametrize("more", ["tasks", "workers"])
def test_who_says_nothing_changes_nobody(name, more):
    """Neither open tasks nor workers without labels may move an answer; uneven classes show it best."""
    k = classes(name)
    votes = planted(120, 12, k, 5, seed=3, prior=[0.8, *[0.2 / (k - 1)] * (k - 1)])[0]
    there = getattr(votes, more)
    wide = replace(votes, **{more: pl.concat([there, pl.Series(range(10**6, 10**6 + 3000), dtype=there.dtype)])})
    some, all_of = fit(name, votes), fit(name, wide)
    np.testing.assert_allclose(all_of.posterior[: votes.n_tasks], some.posterior, atol=1e-9)
    np.testing.assert_allclose(all_of.skill[: votes.n_workers], some.skill, atol=1e-9)
    np.testing.assert_allclose(all_of.class_prior, some.class_prior, atol=1e-9)
    if more == "tasks":
        np.testing.assert_allclose(all_of.posterior[votes.n_tasks :], np.tile(some.class_prior, (3000, 1)), atol=1e-9)
