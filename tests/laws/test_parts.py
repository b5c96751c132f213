"""Laws of methods that promise to work in parts: the same answer however they are dealt out, and whoever forgets."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from functools import partial

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.em.drivers import InProcess, Threads
from crowdwise.em.sources import InMemory, Sizes
from crowdwise.kinds.classes.methods.ensemble.committee import TrainingRows
from crowdwise.kinds.classes.methods.gold import as_gold
from crowdwise.kinds.classes.methods.held_out import predict
from crowdwise.kinds.classes.methods.parts import fit_parts, survey
from crowdwise.out_of_core.calibrated import calibrated_in_parts

from ..conftest import planted

# Beside those of the cards: methods that can only be split when they are told something.
PARAMS = {"group_aware": {"groups": ((1, 2), (3, 4))}}
NAMES = sorted(n for n, c in registry.METHODS.items() if "shard" in c.can and c.takes == "classes")
JOBS = (1, 2, 7, 64)


class Forgetful(InMemory):
    """What files on disk are like: every pass finds the parts afresh."""

    def __init__(self, votes, n, gold=None):
        super().__init__(votes, n, stays=False, gold=gold)

    def part(self, number):
        return replace(super().part(number))  # nothing that was worked out of it is left


def crowd(name, **kwargs):
    """A crowd with a silent task, a silent worker, weights, and gold; classes with an order where one is needed."""
    votes, truth, _ = planted(130, 12, 2 if "binary" in registry.card(name).needs else 3, 5, seed=3, **kwargs)
    rng = np.random.default_rng(5)
    keep = votes.task != 40
    built = cw.Annotations.from_arrays(
        votes.task[keep],
        votes.worker[keep],
        votes.label[keep],
        weight=rng.choice([0.5, 1.0, 2.0], keep.sum()),
        tasks=range(130),
        workers=range(13),
        classes=range(3),
        order=[2, 0, 1] if "order" in registry.card(name).needs else None,
    )
    return built, {i: int(truth[i]) for i in range(0, 130, 11)}


def quick(name):
    """Few passes: enough to see whether they are the same."""
    known = {f.name for f in fields(registry.get(name))}
    return {p: v for p, v in (("max_iter", 5), ("n_init", 2)) if p in known}


def told(name, source, executor=InProcess, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = registry.method(name, **{**PARAMS.get(name, {}), **params})
        return fit_parts(method, source, executor)


def posterior(fit):
    return np.concatenate([part.estimate.posterior for part in fit.parts()])


@pytest.mark.parametrize("name", NAMES)
def test_gold_calibrates_parts_as_it_calibrates_the_whole(name, tmp_path):
    if "gold" in registry.card(name).needs:
        pytest.skip("cannot be fitted without gold")
    votes, gold = crowd(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = registry.method(name, **PARAMS.get(name, {}), **quick(name))
        whole = method.fit(votes, gold=gold, calibrate=True)
        plain = method.fit(votes, gold=gold, calibrate=False).posterior
        found = []
        for n, executor in ((1, InProcess), (7, InProcess), (7, partial(Threads, threads=2, jobs=3))):
            source = Forgetful(votes, n, as_gold(gold, votes).label)
            fit, summary = fit_parts(method, source, executor), survey(source, executor)
            found.append(calibrated_in_parts(fit, method, source, executor, tmp_path / f"{len(found)}", survey=summary))
    assert "slope" in whole.extra["gold_check"]
    assert np.abs(whole.posterior - plain).max() > 1e-3
    for fit in found:
        np.testing.assert_allclose(posterior(fit), whole.posterior, atol=1e-9)
        for key in ("gold_check", "expected_accuracy"):
            assert fit.extra[key] == pytest.approx(whole.extra[key], abs=1e-7)
        blind = np.concatenate([part.extra["blind_confidence"] for part in fit.parts()])
        np.testing.assert_allclose(blind, whole.extra["blind_confidence"], atol=1e-9)
    np.testing.assert_array_equal(posterior(found[2]), posterior(found[1]))


@pytest.mark.parametrize("name", NAMES)
def test_parts_give_the_answer_of_the_whole_and_jobs_give_its_bits(name):
    votes, gold = crowd(name)
    codes = as_gold(gold, votes).label
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = registry.method(name, **PARAMS.get(name, {}), **quick(name))
        whole = method.fit(votes, gold=gold, calibrate=False)
    for n in (1, 2, 7, 64):
        fit = told(name, Forgetful(votes, n, codes), **quick(name))
        found = posterior(fit)
        np.testing.assert_allclose(found, whole.posterior, atol=1e-9)
        np.testing.assert_allclose(fit.class_prior, whole.class_prior, atol=1e-9)
        for field in ("skill", "skill_low", "skill_high", "confusion", "counts"):
            one, other = getattr(fit.worker_summary, field), getattr(whole, field)
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, atol=1e-7)
        np.testing.assert_array_equal(fit.labels_per_worker, whole.labels_per_worker)
        labels = np.concatenate([part.estimate.labels for part in fit.parts()])
        top = np.sort(whole.posterior, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-6
        np.testing.assert_array_equal(labels[clear], whole.labels[clear])
        if "expected_accuracy" in whole.extra:
            assert fit.extra["expected_accuracy"]["mean"] == pytest.approx(whole.extra["expected_accuracy"]["mean"])
    for jobs in JOBS:  # of the 64 parts
        other = told(name, Forgetful(votes, 64, codes), partial(Threads, threads=2, jobs=jobs), **quick(name))
        np.testing.assert_array_equal(posterior(other), found)
        np.testing.assert_array_equal(other.trace, fit.trace)
        np.testing.assert_array_equal(other.worker_summary.skill, fit.worker_summary.skill)


class WithHoles(InMemory):
    """A source whose first and last parts are empty, as buckets of a hash may be."""

    def _full(self, number):
        return 0 < number <= self.n

    @property
    def sizes(self):
        inner = super().sizes
        return Sizes(inner.rows, inner.workers, (0, *inner.tasks, 0))

    def part(self, number):
        if self._full(number):
            return super().part(number - 1)
        nothing = self.votes.take(np.empty(0, dtype=np.int64))
        return nothing.among(np.zeros(self.votes.n_tasks, dtype=bool), np.ones(self.votes.n_workers, dtype=bool))

    def gold_codes(self, number):
        return super().gold_codes(number - 1) if self._full(number) else None


@pytest.mark.parametrize("name", NAMES)
def test_empty_parts_say_nothing(name):
    votes, gold = crowd(name)
    codes = as_gold(gold, votes).label
    one, other = (told(name, kind(votes, 3, gold=codes)) for kind in (InMemory, WithHoles))
    np.testing.assert_allclose(posterior(other), posterior(one), atol=1e-9)


def test_a_committee_that_weighs_by_held_out_labels_does_so_in_parts():
    votes, gold = crowd("committee")
    codes = as_gold(gold, votes).label
    whole = cw.classes.Committee(evidence=40.0).fit(votes, gold=gold).extra["weight"]
    one = told("committee", Forgetful(votes, 1, codes), evidence=40.0)  # a single part has the folds of the whole
    assert one.extra["weight"] == pytest.approx(whole, abs=1e-9)
    assert len({round(weight, 6) for weight in whole.values()}) > 1
    several = told("committee", Forgetful(votes, 7, codes), evidence=40.0)
    for jobs in (1, 7):
        other = told("committee", Forgetful(votes, 7, codes), partial(Threads, threads=2, jobs=jobs), evidence=40.0)
        assert other.extra["weight"] == several.extra["weight"]
        np.testing.assert_array_equal(posterior(other), posterior(several))


def test_held_out_labels_of_parts_are_those_of_a_fit_without_them():
    votes, _, _ = planted(120, 9, 3, 5, seed=8)
    parts = [TrainingRows(0).split(part) for part in Forgetful(votes, 7).shards()]
    rows = [pl.concat([each.to_frame() for each in side]) for side in zip(*parts, strict=True)]
    kept, out = (
        cw.Annotations.from_arrays(rows["task"], rows["worker"], rows["label"], tasks=range(120), workers=range(9))
        for rows in rows
    )
    assert len(kept) + len(out) == len(votes)
    assert 100 < len(out) < 130
    score = []
    for name in ("majority_vote", "one_coin"):
        found = registry.method(name).fit(kept).posterior
        score.append(np.log(predict(out, np.arange(len(out)), kept, found)).mean())
    fit = told("committee", Forgetful(votes, 7), members=("majority_vote", "one_coin"), evidence=5.0)
    lead = np.log(fit.extra["weight"]["one_coin"] / fit.extra["weight"]["majority_vote"])
    assert lead == pytest.approx(5.0 * (score[1] - score[0]), abs=1e-7)
    assert abs(lead) > 1e-3


def test_groups_are_found_in_parts():
    votes, _, _ = planted(160, 12, 3, 6, seed=2)
    label = votes.label.copy()
    copies = {task: {} for task in range(160)}
    for i in np.flatnonzero(votes.worker >= 8):  # the last four repeat what the first of them said of the task
        label[i] = copies[int(votes.task[i])].setdefault("said", label[i])
    votes = cw.Annotations.from_arrays(votes.task, votes.worker, label)
    whole = cw.classes.GroupAware().fit(votes)
    assert 1 < len(np.unique(whole.extra["group"])) < 12
    for n in (1, 5):
        fit = told("group_aware", Forgetful(votes, n), groups=None)
        np.testing.assert_array_equal(fit.extra["group"], whole.extra["group"])
        np.testing.assert_allclose(posterior(fit), whole.posterior, atol=1e-9)
    holes = told("group_aware", WithHoles(votes, 5), groups=None)
    np.testing.assert_array_equal(holes.extra["group"], whole.extra["group"])


def test_who_cannot_says_so():
    votes, _ = crowd("gibbs")
    with pytest.raises(cw.ParameterError, match="gibbs needs all votes at once"):
        told("gibbs", InMemory(votes, 3))
    with pytest.raises(cw.DataError, match="needs gold labels"):
        told("gold_majority_vote", InMemory(votes, 3))


def test_estimates_are_used_where_the_part_is_and_say_what_a_result_says():
    votes, gold = crowd("glad")
    whole = cw.GLAD().fit(votes, gold=gold)
    fit = told("glad", Forgetful(votes, 4, as_gold(gold, votes).label), partial(Threads, threads=2))
    tables = list(fit.map(lambda part: part.to_table()))
    assert len(tables) == 4
    table, expected = pl.concat(tables), whole.to_table()
    assert table.columns == expected.columns
    assert table["task"].to_list() == expected["task"].to_list()
    assert table["n_labels"].to_list() == expected["n_labels"].to_list()
    np.testing.assert_allclose(table["difficulty"], expected["difficulty"], atol=1e-7)
    marked = np.concatenate([part.gold for part in fit.parts()])
    np.testing.assert_array_equal(marked, whole.gold)
