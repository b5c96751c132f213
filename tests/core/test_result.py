"""Result: tables, inference on new tasks, folders."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw

from ..conftest import planted


@pytest.fixture
def result():
    return cw.classes.Hierarchical().fit(planted(n=80, m=10, k=3)[0])


def test_tables_have_the_promised_columns(result):
    table = result.to_table()
    assert table.columns == ["task", "label", "confidence", "entropy", "n_labels", "p_0", "p_1", "p_2"]
    np.testing.assert_allclose(table.select("p_0", "p_1", "p_2").sum_horizontal(), 1)
    assert result.worker_table().columns[:5] == ["worker", "n_labels", "skill", "skill_low", "skill_high"]
    cells = result.confusion_table()
    assert cells.columns == ["worker", "true", "observed", "p", "n"]
    assert len(cells) == 10 * 9
    one = cells.filter(pl.col("worker") == 4).filter(pl.col("true") == 1)
    np.testing.assert_allclose(one["p"].to_numpy(), result.confusion[4, 1])
    assert cells["n"].sum() == pytest.approx(result.labels_per_worker.sum())


def test_a_method_without_confusion_gives_an_empty_table():
    result = cw.MajorityVote().fit(planted(n=10, m=4)[0])
    assert result.confusion_table().columns == ["worker", "true", "observed", "p", "n"]
    assert len(result.confusion_table()) == 0


def test_infer_judges_new_tasks_by_what_is_known_of_the_workers():
    votes, _, _ = planted(n=400, m=10, k=3, labels=6)
    result = cw.DawidSkene().fit(votes)
    new = cw.Annotations.from_arrays(["new"] * 2, [3, 7], [0, 2])
    posterior = result.infer(new).posterior[0]
    by_hand = result.class_prior * result.confusion[3, :, 0] * result.confusion[7, :, 2]
    np.testing.assert_allclose(posterior, by_hand / by_hand.sum())


def test_infer_refuses_or_averages_strangers(result):
    new = cw.Annotations.from_arrays(["t"], [999], [0])
    with pytest.raises(cw.DataError, match=r"1 workers were not there.*999.*unknown_workers='average'"):
        result.infer(new)
    found = result.infer(new, unknown_workers="average")
    assert found.posterior[0].argmax() == 0
    assert found.to_table()["n_labels"].to_list() == [1]
    with pytest.raises(cw.DataError, match="classes 9"):
        result.infer(cw.Annotations.from_arrays(["t"], [1], [9]))


def test_saving_never_overwrites_silently(result, tmp_path):
    result.save(tmp_path / "run")
    with pytest.raises(cw.DataError, match=r"holds result\.json already"):
        result.save(tmp_path / "run")
    result.save(tmp_path / "run", force=True)


def test_a_newer_format_and_damage_are_said(result, tmp_path):
    folder = tmp_path / "run"
    result.save(folder)
    about = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(cw.DataError, match="format 99"):
        cw.Result.load(folder)
    (folder / "result.json").write_text("{")
    with pytest.raises(cw.DataError, match="damaged"):
        cw.Result.load(folder)
    with pytest.raises(cw.DataError, match="is not a saved result"):
        cw.Result.load(tmp_path / "nothing")


def test_ties_are_broken_by_seed_and_documented_so():
    votes = cw.Annotations.from_arrays(np.repeat(np.arange(200), 2), [0, 1] * 200, [0, 1] * 200)
    zero, again, one = (cw.MajorityVote(seed=s).fit(votes).labels for s in (0, 0, 1))
    np.testing.assert_array_equal(zero, again)
    assert (zero != one).any()
    assert 60 < zero.sum() < 140


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cw.DawidSkene(smoothing=-1), "smoothing must be at least 0, got -1"),
        (lambda: cw.OneCoin(smoothing=0), "smoothing must be above 0, got 0"),
        (lambda: cw.DawidSkene(max_iter=0), "max_iter must be a whole number of at least 1, got 0"),
        (lambda: cw.MajorityVote(seed=-1), "seed must be a whole number of at least 0, got -1"),
        (lambda: cw.DawidSkene(n_init=1e9), "n_init must be a whole number"),
        (lambda: cw.DawidSkene(tol=float("inf")), "tol must be"),
        (lambda: cw.classes.Hierarchical(prior_accuracy=1.5), "prior_accuracy"),
        (lambda: cw.classes.Wawa(ties="x"), "ties must be 'split' or 'first'"),
        (lambda: cw.method("dawid_skene", smoothin=1), "has no parameter 'smoothin'"),
        (lambda: cw.method("dawid_sken"), "did you mean dawid_skene"),
    ],
)
def test_parameters_are_checked_where_they_are_given(make, message):
    with pytest.raises(cw.ParameterError, match=message):
        make()


def test_gold_is_checked():
    votes = planted(n=10, m=4)[0]
    with pytest.raises(cw.DataError, match="needs gold"):
        cw.classes.GoldMajorityVote().fit(votes)
    with pytest.raises(cw.DataError, match="none of the 1 gold tasks"):
        cw.DawidSkene().fit(votes, gold={"zzz": 1})
    with pytest.raises(cw.DataError, match="never given by a worker"):
        cw.DawidSkene().fit(votes, gold={0: 77})
    with pytest.warns(cw.errors.LedgerWarning, match="1 gold tasks have no annotations"):
        cw.DawidSkene().fit(votes, gold={0: 1, 99: 1})
    with pytest.raises(cw.DataError, match="two different true labels"):
        cw.DawidSkene().fit(votes, gold=pl.DataFrame({"task": [0, 0], "label": [0, 1]}))


def test_gold_is_remembered_saved_and_loaded(tmp_path):
    votes = planted(n=20, m=6)[0]
    assert cw.DawidSkene().fit(votes).gold is None
    result = cw.DawidSkene().fit(votes, gold={3: 1, 7: 0})
    assert np.flatnonzero(result.gold).tolist() == [3, 7]
    result.save(tmp_path / "run")
    again = cw.Result.load(tmp_path / "run").gold
    np.testing.assert_array_equal(again, result.gold)
    assert again.dtype == np.bool_
    assert cw.calibrate(result, votes).gold is result.gold


def test_a_folder_from_before_gold_was_remembered_has_none_and_a_wrong_one_is_damage(tmp_path):
    result = cw.DawidSkene().fit(planted(n=20, m=6)[0], gold={3: 1})
    result.save(tmp_path)
    arrays = dict(np.load(tmp_path / "arrays.npz"))
    for gold, said in ((np.ones(3, dtype=bool), "gold has shape"), (np.ones(20), "gold holds float64")):
        np.savez(tmp_path / "arrays.npz", **{**arrays, "gold": gold})
        with pytest.raises(cw.DataError, match=said):
            cw.Result.load(tmp_path)
    del arrays["gold"]
    np.savez(tmp_path / "arrays.npz", **arrays)
    assert cw.Result.load(tmp_path).gold is None
