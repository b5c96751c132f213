"""Where the drop-in differs from crowd-kit on purpose, what it refuses, and that its types are pandas'."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdwise
import crowdwise.compat.crowdkit.aggregation as ck
from crowdwise.compat.crowdkit.aggregation import utils
from crowdwise.compat.crowdkit.aggregation.base import InputError, NotFittedError
from crowdwise.compat.crowdkit.metrics.data import alpha_krippendorff, consistency, uncertainty
from crowdwise.compat.crowdkit.metrics.workers import accuracy_on_aggregates
from crowdwise.compat.crowdkit.postprocessing import entropy_threshold
from crowdwise.core.errors import LedgerWarning

from ..conftest import planted
from ..golden.compat_cases import CONSTRUCTORS, fit, good_table, history, renamed, small_table

# Constructor arguments of crowd-kit 1.4.2, in its order.
ARGUMENTS = {
    "MajorityVote": ["default_skill", "on_missing_skill"],
    "Wawa": [],
    "GoldMajorityVote": [],
    "ZeroBasedSkill": ["n_iter", "lr_init", "lr_steps_to_reduce", "lr_reduce_factor", "eps"],
    "DawidSkene": ["n_iter", "tol", "initial_error_strategy"],
    "OneCoinDawidSkene": ["n_iter", "tol", "initial_error_strategy"],
    "GLAD": ["n_iter", "tol", "silent", "labels_priors", "alphas_priors_mean", "betas_priors_mean", "m_step_max_iter",
             "m_step_tol"],
    "KOS": ["n_iter", "random_state"],
    "MACE": ["n_restarts", "n_iter", "method", "smoothing", "default_noise", "alpha", "beta", "random_state",
             "verbose"],
    "MMSR": ["n_iter", "tol", "random_state"],
    "BinaryRelevance": ["base_aggregator"],
    "SegmentationMajorityVote": ["default_skill", "on_missing_skill"],
    "SegmentationRASA": ["n_iter", "tol"],
    "SegmentationEM": ["n_iter", "tol"],
    "BradleyTerry": ["n_iter", "tol"],
    "NoisyBradleyTerry": ["n_iter", "tol", "regularization_ratio", "random_state"],
    "ROVER": ["tokenizer", "detokenizer", "silent"],
    "RASA": ["n_iter", "tol", "alpha"],
    "HRRASA": ["n_iter", "tol", "lambda_emb", "lambda_out", "alpha", "calculate_ranks", "output_similarity"],
    "TextRASA": ["encoder", "n_iter", "tol", "alpha"],
    "TextHRRASA": ["encoder", "n_iter", "tol", "lambda_emb", "lambda_out", "alpha", "calculate_ranks",
                   "output_similarity"],
    "ClosestToAverage": ["distance"],
}  # fmt: skip


def frame(seed=0, **kwargs) -> pd.DataFrame:
    votes, _, _ = planted(seed=seed, **kwargs)
    return votes.to_frame().to_pandas()


def test_constructors_take_crowd_kits_arguments_in_its_order():
    assert set(ck.__all__) == {*ARGUMENTS, "base", "utils"}
    for name, arguments in ARGUMENTS.items():
        assert list(inspect.signature(getattr(ck, name)).parameters) == arguments


# Not those whose case takes gold from the order of rows, or draws a start by it.
WAYWARD = ("KOS", "MACE", "GoldMajority", "DawidSkene gold", "BinaryRelevance")
ORDERLY = [n for n in CONSTRUCTORS if not n.startswith(WAYWARD)]


@pytest.mark.parametrize("name", ORDERLY)
def test_row_order_changes_no_estimate(name):
    # Names in order of appearance decide how results are listed; the values by task must be the same.
    data = frame(n=60, m=8)
    one, two = fit(ck, name, data), fit(ck, name, data.sort_values(["worker", "task"]))
    a, b = (m.probas_ if hasattr(m, "probas_") else m.scores_ for m in (one, two))
    pd.testing.assert_frame_equal(a.sort_index().sort_index(axis=1), b.sort_index().sort_index(axis=1), check_like=True)


def test_the_loss_of_dawid_skene_is_a_bound_that_never_falls():
    data = frame(n=80, m=8, low=0.4)
    model = ck.DawidSkene(tol=-1.0).fit(data)
    assert len(model.loss_history_) == 100
    assert (np.diff(model.loss_history_) > -1e-12).all()
    # The bound at the end is the log-likelihood of the labels per label, counted here from scratch.
    log = np.log(model.errors_)
    rows = log.loc[list(zip(data["worker"], data["label"], strict=True))].to_numpy()
    score = pd.DataFrame(rows, index=data["task"]).groupby(level=0).sum().to_numpy() + np.log(model.priors_.to_numpy())
    assert model.loss_history_[-1] == pytest.approx(np.logaddexp.reduce(score, axis=1).sum() / len(data), abs=1e-6)


def test_addition_keeps_the_history_and_assign_only_starts_from_it():
    data = small_table(3)
    heavy = history(data, 1e7)
    kept = ck.DawidSkene(initial_error_strategy="addition").fit(data, initial_error=heavy)
    told = heavy / heavy.groupby(level="worker").transform("sum")
    pd.testing.assert_frame_equal(kept.errors_, told.loc[kept.errors_.index, kept.errors_.columns], atol=1e-4)
    started = ck.DawidSkene(initial_error_strategy="assign").fit(data, initial_error=history(data, 1.0))
    assert not np.allclose(started.errors_, told.loc[started.errors_.index, started.errors_.columns], atol=1e-2)


def test_repeats_count_once_and_nulls_are_left_out_with_a_warning():
    data = small_table(1)
    worse = pd.concat([data, data.head(7), data.head(1).assign(label=None)])
    with pytest.warns(LedgerWarning, match="1 without task, worker or label and 7 exact repeats"):
        found = ck.DawidSkene().fit(worse)
    # The frame with a null in it is of objects, so its columns are too.
    pd.testing.assert_frame_equal(found.probas_, ck.DawidSkene().fit(data).probas_, check_column_type=False)


def test_mace_restarts_draw_different_starts():
    data = renamed(frame(n=60, m=10, k=4, labels=3, low=0.2))
    one = ck.MACE(n_restarts=1).fit(data)
    assert any(not np.allclose(one.thetas_, ck.MACE(n_restarts=n).fit(data).thetas_) for n in (5, 20))


def test_mace_does_not_care_how_workers_are_called():
    data = frame(n=60, m=6)
    turned = data.assign(worker=data["worker"].map(lambda w: 9 - w))
    a, b = (ck.MACE(n_restarts=1).fit_predict_proba(x) for x in (data, turned))
    pd.testing.assert_frame_equal(a, b)


def test_kos_leaves_the_global_generator_alone_and_breaks_ties():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    tied = pd.DataFrame({"task": [1, 1, 2], "worker": [*"aba"], "label": [*"xyx"]})
    assert set(ck.KOS().fit_predict(tied)) <= {"x", "y"}
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    with pytest.raises(ValueError, match="binary"):
        ck.KOS().fit(small_table(1).assign(label=[*"abc"] * 7 + ["a"] * (len(small_table(1)) - 21)))


def test_mmsr_gives_an_answer_where_nobody_has_two_partners_and_keeps_liars_down():
    pair = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyx"]})
    assert ck.MMSR().fit_predict_score(pair).notna().all(axis=None)
    data = good_table(0)
    liar = data[data["worker"] == 6].assign(worker=7, label=lambda x: (x["label"] + 1) % 3)
    skill = ck.MMSR().fit(pd.concat([data, liar])).skills_
    assert skill.idxmin() == 7


def test_weighted_votes_and_missing_skills():
    data = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": [*"xxy"]})
    skills = pd.Series({"a": 0.1, "b": 0.2, "c": 0.9})
    assert ck.MajorityVote().fit_predict(data, skills).to_dict() == {1: "y"}
    with pytest.raises(ValueError, match="missing in 1 assignments"):
        ck.MajorityVote().fit(data, skills.drop("c"))
    assert ck.MajorityVote(on_missing_skill="ignore").fit_predict(data, skills.drop("c")).to_dict() == {1: "x"}
    assert ck.MajorityVote(9.0, "value").fit_predict(data, skills.drop("c")).to_dict() == {1: "y"}
    nothing = ck.MajorityVote().fit_predict_proba(data, skills * 0)
    assert nothing.loc[1, "x"] == pytest.approx(2 / 3)
    for wrong in ({"default_skill": 1.0}, {"on_missing_skill": "value"}, {"on_missing_skill": "what"}):
        with pytest.raises(InputError):
            ck.MajorityVote(**wrong).fit(data, skills)


def test_predict_before_fit_and_other_wrong_inputs():
    data = small_table(1)
    with pytest.raises(NotFittedError, match="not fitted"):
        ck.Wawa().predict(data)
    with pytest.raises(AttributeError):
        _ = ck.Wawa().labels_
    with pytest.raises(ValueError, match="no column 'worker'"):
        ck.MajorityVote().fit(data.drop(columns="worker"))
    with pytest.raises(ValueError, match="never given by a worker"):
        ck.DawidSkene().fit(data, pd.Series({data["task"][0]: "zebra"}))
    with pytest.raises(ValueError, match="should be in initial_error"):
        ck.DawidSkene(initial_error_strategy="assign").fit(data, initial_error=history(data, 1.0).iloc[2:])
    assert ck.DawidSkene().fit(data.head(0)).labels_.empty
    new = data.assign(worker=data["worker"] + "?")
    with pytest.raises(ValueError, match="missing"):
        ck.Wawa().fit(data).predict(new)


def test_metrics_on_cases_with_known_answers():
    two = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
    assert alpha_krippendorff(two) == 1.0
    assert alpha_krippendorff(two.assign(label="x")) == 1.0
    apart = two.assign(label=[*"xyxy"])
    assert alpha_krippendorff(apart) == pytest.approx(alpha_krippendorff(apart, lambda a, b: float(a != b)))
    assert uncertainty(apart) == pytest.approx(np.log(2))
    assert uncertainty(apart, compute_by="worker", aggregate=False).to_dict() == {"a": 0.0, "b": 0.0}
    skills = pd.Series({"a": 0.9, "b": 0.6})
    # One says x, the other y: 0.9 · 0.4 against 0.1 · 0.6.
    by_task = consistency(apart, skills, ck.MajorityVote(), by_task=True)
    assert by_task.tolist() == pytest.approx([0.36 / 0.42, 0.36 / 0.42])
    assert accuracy_on_aggregates(apart, by="worker").to_dict() == {"a": 1.0, "b": 0.0}
    with pytest.raises(ValueError, match="skills for workers"):
        uncertainty(apart, skills.drop("b"))
    with pytest.raises(ValueError, match="two labels"):
        alpha_krippendorff(two.drop_duplicates("task"))


def test_pandas_is_imported_only_by_compat():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ck.MajorityVote().fit(small_table(2))
    assert isinstance(result.labels_, pd.Series)
    assert result.labels_.name == "agg_label"
    assert (result.probas_.index.name, result.probas_.columns.name) == ("task", "label")


@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_a_missing_column_is_what_crowd_kits_users_catch(column):
    data = small_table(1).drop(columns=column)
    for name in ("MajorityVote", "Wawa", "ZeroBasedSkill", "MMSR", "DawidSkene", "GLAD", "MACE", "KOS"):
        with pytest.raises(KeyError) as caught:
            getattr(ck, name)().fit_predict(data)
        # One sentence, without the quotes that a KeyError puts around it, and still a DataError and a ValueError.
        assert str(caught.value).startswith(f"the frame has no column '{column}'")
        assert isinstance(caught.value, InputError)
    for metric in (consistency, uncertainty, alpha_krippendorff):
        with pytest.raises(AssertionError, match="no column"):
            metric(data)
        with pytest.raises(TypeError, match="DataFrame"):
            metric([1, 2])


def test_metrics_raise_what_crowd_kits_do():
    data = small_table(1)
    with pytest.raises(KeyError, match="compute_by"):
        uncertainty(data, compute_by="planet")
    with pytest.raises(AssertionError, match="skills for workers"):
        uncertainty(data, pd.Series({data["worker"][0]: 1.0}))
    with pytest.raises(AssertionError, match="provide workers skills"):
        consistency(data, aggregator=ck.DawidSkene())
    with pytest.raises(AssertionError, match="aggregator or aggregates"):
        accuracy_on_aggregates(data, aggregator=None)
    with pytest.raises(KeyError, match="by must be"):
        accuracy_on_aggregates(data, by="planet")


def test_ties_go_to_the_first_class_in_sorted_order_whatever_the_rows_order():
    tied = pd.DataFrame({"task": [2, 2, 1, 1], "worker": [*"abab"], "label": [*"yxxy"]})
    for name in ("MajorityVote", "Wawa", "DawidSkene"):
        for data in (tied, tied[::-1]):
            assert getattr(ck, name)().fit_predict(data).to_dict() == {1: "x", 2: "x"}
    vote = ck.MajorityVote().fit(tied)
    assert (list(vote.probas_.index), list(vote.probas_.columns)) == ([1, 2], ["x", "y"])


def test_several_true_labels_of_one_task():
    data = pd.DataFrame({"task": [1, 1, 1, 2, 2], "worker": [*"abcab"], "label": [*"xyzxz"]})
    gold = pd.Series([*"xyz"], index=[1, 1, 2])
    vote = ck.GoldMajorityVote().fit(data, gold)
    assert vote.skills_.to_dict() == {"a": 0.5, "b": 1.0, "c": 0.0}
    assert vote.predict(data).to_dict() == {1: "y", 2: "z"}
    # A posterior has room for one: crowd-kit's is the class that appears last.
    assert ck.DawidSkene().fit(data, gold).labels_.to_dict() == {1: "y", 2: "z"}
    assert ck.DawidSkene().fit(data, gold[[2, 1]][::-1]).labels_[1] == "x"


def test_ignored_workers_leave_no_trace():
    data = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": [*"xxy"]})
    vote = ck.MajorityVote(on_missing_skill="ignore").fit(data, pd.Series({"a": 0.1, "b": 0.2}))
    assert vote.skills_.to_dict() == {"a": 1.0, "b": 1.0}
    assert list(vote.probas_.columns) == ["x"]
    with pytest.raises(ValueError, match="1 tasks have no worker"):
        ck.MajorityVote(on_missing_skill="ignore").fit(data, pd.Series(dtype=float))


@pytest.mark.parametrize("strategy", ["addition", "assign"])
def test_a_history_with_a_class_that_is_absent_today_still_labels(strategy):
    data = pd.DataFrame({"task": [1, 1, 1, 2, 2, 2], "worker": [*"abcabc"], "label": [*"xxyyyy"]})
    index = pd.MultiIndex.from_product([[*"abcd"], [*"xyz"]], names=["worker", "label"])
    counts = np.array([[8.0, 1, 1], [1, 8, 1], [1, 1, 8]])
    before = pd.DataFrame(np.tile(counts, (4, 1)), index=index, columns=[*"xyz"])
    model = ck.DawidSkene(initial_error_strategy=strategy).fit(data, initial_error=before)
    assert model.labels_.to_dict() == {1: "x", 2: "y"}
    assert model.probas_.sum(axis=1).to_numpy() == pytest.approx(np.ones(2))
    assert np.isfinite(model.loss_history_).all()
    if strategy == "addition":
        # What was said of class z stays in the totals: 8 of 10 labels for x before, and one of nearly one today.
        said = model.errors_.loc[("a", "x"), "x"]
        assert said == pytest.approx((8 + model.probas_.loc[1, "x"]) / (10 + model.probas_["x"].sum()), abs=1e-4)
        without = before.loc[(slice(None), ["x", "y"]), ["x", "y"]]
        assert (
            ck.DawidSkene(initial_error_strategy=strategy).fit(data, initial_error=without).errors_.loc[("a", "x"), "x"]
            > said
        )
    else:
        start = ck.DawidSkene(0, initial_error_strategy=strategy).fit(data, initial_error=before).errors_
        pd.testing.assert_frame_equal(start, before / 10)


def test_the_functions_around_the_aggregators():
    votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abac"], "label": [*"xyxx"], "weight": [1, 3, 2, 2]})
    truth = pd.Series({1: "x", 2: "x", 3: "y"})
    assert utils.get_accuracy(votes, truth) == 5 / 8
    assert utils.get_accuracy(votes, truth, by="worker").to_dict() == {"a": 1.0, "b": 0.0, "c": 1.0}
    assert utils.get_accuracy(votes.drop(columns="weight"), truth, by="true_label").to_dict() == {"x": 0.75}
    several = pd.Series([*"xy"], index=[1, 1])
    assert utils.get_accuracy(votes, several) == 1.0
    assert utils.get_accuracy(votes[:0], truth, by="worker").empty
    labels = pd.DataFrame({"task": [1, 2], "label": [*"xy"]})
    assert utils.evaluate(labels, labels.assign(label="x"), utils.evaluate_equal) == 0.5
    assert utils.evaluate(labels.assign(label=[{"x"}, {"x"}]), labels.assign(label="x")) == 1.0
    with pytest.raises(AssertionError, match="2 tasks"):
        utils.evaluate(labels, labels[:1])
    values, codes = utils.factorize(np.array([["b", "a"], ["b", "c"]]))
    assert (values.tolist(), codes.tolist()) == ([*"abc"], [[1, 0], [1, 2]])
    shares = utils.normalize_rows(pd.DataFrame({"x": [1, 3], "y": [3, 1]}))
    assert utils.get_most_probable_labels(shares).tolist() == ["y", "x"]
    assert utils.manage_data(votes, skills=pd.Series({"a": 0.5, "b": 1, "c": 1}))["skill"].tolist() == [0.5, 1, 0.5, 1]
    with pytest.raises(AssertionError, match="cloned"):
        utils.clone_aggregator("no aggregator")
    fitted = ck.DawidSkene(7).fit(votes)
    assert utils.clone_aggregator(fitted).n_iter == 7
    assert not hasattr(utils.clone_aggregator(fitted), "probas_")


def test_entropy_threshold_leaves_out_who_always_says_the_same():
    data = pd.DataFrame({"task": [1, 2, 3] * 3 + [1], "worker": [*"aaabbbcccd"], "label": [*"xyxxyyxxxx"]})
    kept = entropy_threshold(data)
    assert kept["worker"].unique().tolist() == [*"abd"]  # d said one thing only, once
    assert list(kept.columns) == list(data.columns)
    with pytest.warns(UserWarning, match="Removed >= 1/2 of answers"):
        assert entropy_threshold(data, percentile=100, min_answers=1).empty


def test_several_labels_at_once():
    said = [["house", "tree"], ["house"], ["house", "tree"], ["car"], ["car", "tree"], [], ["house"]]
    data = pd.DataFrame({"task": [1, 1, 1, 2, 2, 2, 3], "worker": [*"abcabca"], "label": said})
    for aggregator in (ck.MajorityVote(), ck.DawidSkene(20), ck.Wawa()):
        both = ck.BinaryRelevance(aggregator)
        assert both.fit_predict(data).to_dict() == {1: ["house", "tree"], 2: ["car"], 3: ["house"]}
        assert list(both.aggregators_) == ["car", "house", "tree"]
        assert not hasattr(aggregator, "labels_")
    assert ck.BinaryRelevance().fit_predict(data[:0]).empty
    with pytest.raises(AssertionError, match="classification aggregator"):
        ck.BinaryRelevance("vote")


@pytest.mark.slow
@pytest.mark.parametrize("works", [True, False])
def test_an_installed_crowd_kit_takes_our_aggregators_for_its_own(works, tmp_path):
    # A package of crowd-kit's name stands for it; one that cannot be imported is as good as none.
    home = tmp_path / "crowdkit" / "aggregation" / "base"
    home.mkdir(parents=True)
    for folder in (home.parent.parent, home.parent):
        (folder / "__init__.py").touch()
    theirs = "class BaseClassificationAggregator:\n    __eq__ = None\n"
    (home / "__init__.py").write_text(theirs if works else "raise ImportError('an old numpy')\n")
    code = (
        "from crowdwise.compat.crowdkit.aggregation import DawidSkene, base\n"
        "bases = [f'{b.__module__}.{b.__name__}' for b in type(DawidSkene()).__mro__]\n"
        "print('crowdkit.aggregation.base.BaseClassificationAggregator' in bases, DawidSkene() == DawidSkene())"
    )
    paths = os.pathsep.join([str(tmp_path), str(Path(crowdwise.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(works), "False"]
