"""A fit in parts is the fit in memory: posterior, workers, labels but for ties; the same bits however it is run."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.errors import DataError, ParameterError
from crowdwise.em.drivers import InProcess, Threads
from crowdwise.out_of_core import memory
from crowdwise.out_of_core.fitting import ProgressCallbacks, fit_files, fit_plan, in_parts
from crowdwise.out_of_core.gather import gold_by_part, in_memory
from crowdwise.out_of_core.options import PartitionOptions
from crowdwise.out_of_core.planning import plan

from .conftest import cut, messy

GOLD = {"t1": "ant", "t30": "bee", "t222": "dog", "open1": "cat"}
WEIGHED = PartitionOptions({"weight": "weight"}, duplicates="first", classes=("dog",))


def quick(name):
    """A method that settles after a few passes: every pass opens 64 parts."""
    return cw.method(name, tol=0.01 if name == "hierarchical" else 1e-4) if name != "wawa" else cw.method(name)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planned")
    return plan(cut(messy(weight=True), folder / "votes"), folder / "work", WEIGHED)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dawid_skene", "hierarchical", "wawa"])
@pytest.mark.parametrize("gold", [None, GOLD])
def test_the_answer_is_that_of_memory(planned, tmp_path, name, gold):
    fit_plan(planned, quick(name), tmp_path / "run", gold=gold)
    found, whole = cw.Result.load(tmp_path / "run"), quick(name).fit(in_memory(planned), gold=gold)
    far = found.for_tasks(whole.tasks)
    assert far.tasks.to_list() == whole.tasks.to_list()
    assert np.abs(far.posterior - whole.posterior).max() < 1e-9
    tied = np.sort(whole.posterior, axis=1)[:, -2] > whole.confidence - 1e-9
    assert (far.labels == whole.labels)[~tied].all()
    assert np.array_equal(far.labels_per_task, whole.labels_per_task)
    for each in ("skill", "skill_low", "skill_high", "class_prior", "confusion", "counts"):
        a, b = getattr(found, each), getattr(whole, each)
        assert (a is None) == (b is None)
        assert a is None or np.abs(a - b).max() < 1e-9, each
    assert (far.gold is None) == (gold is None)
    assert gold is None or sorted(far.tasks.filter(pl.Series(far.gold))) == sorted(gold)
    assert (found.n_iter, found.converged) == (whole.n_iter, whole.converged)


@pytest.mark.slow
def test_any_number_of_jobs_gives_the_same_bits(planned):
    gold = gold_by_part(planned, GOLD)
    first = None
    for executor in (InProcess, *(partial(Threads, threads=3, jobs=n) for n in (2, 7, 64))):
        fit = in_parts(planned, quick("dawid_skene"), gold, executor=executor)
        tables = pl.concat([part.to_table() for part in fit.parts()])
        found = (tables, fit.worker_summary.confusion, fit.worker_summary.skill, fit.trace)
        if first is None:
            first = found
        assert tables.equals(first[0])
        for a, b in zip(found[1:], first[1:], strict=True):
            assert np.array_equal(a, b)


@pytest.mark.slow
def test_files_in_other_pieces_give_the_same_bits(tmp_path):
    frame = messy(400)
    tables = []
    for n in (1, 3, 11):
        pattern = cut(frame, tmp_path / f"v{n}", n, "csv" if n == 3 else "parquet")
        run = fit_files(pattern, "dawid_skene", tmp_path / f"run{n}", duplicates="first")
        tables.append(run.result.to_table())
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


@pytest.mark.slow
def test_a_prior_travels(planned, tmp_path):
    earlier = quick("dawid_skene").fit(in_memory(planned))
    fit_plan(planned, quick("dawid_skene"), tmp_path / "run", prior=earlier)
    whole = quick("dawid_skene").fit(in_memory(planned), prior=earlier)
    assert np.abs(cw.Result.load(tmp_path / "run").confusion - whole.confusion).max() < 1e-9
    fit_plan(planned, quick("dawid_skene"), tmp_path / "next", prior=cw.Result.load(tmp_path / "run"))


@pytest.mark.slow
def test_the_run_is_read_as_it_is_needed(planned, tmp_path, monkeypatch):
    fit_plan(planned, quick("dawid_skene"), tmp_path / "run", gold=GOLD)
    run = cw.Run.load(tmp_path / "run")
    assert run.votes is None
    assert run.ledger.to_dict() == planned.ledger.to_dict()
    result = run.result
    assert "902 tasks in 64 parts" in repr(result)
    assert result.n_tasks == 902
    assert result.worker_table().height == len(planned.workers)
    assert result.confusion_table().height == len(planned.workers) * 16
    assert result.scan().filter(pl.col("n_labels") == 0).collect()["task"].sort().to_list() == ["open1", "open2"]
    truth = {f"t{i}": "ant" for i in range(50)}
    whole = quick("dawid_skene").fit(in_memory(planned), gold=GOLD)
    one, other = cw.evaluate(result, truth), cw.evaluate(whole, truth)
    assert (one.n, one.n_gold_left_out, one.confusion) == (48, 2, other.confusion)
    assert one.log_loss == pytest.approx(other.log_loss, abs=1e-9)
    votes = in_memory(planned).select(tasks=["t1", "t2", "t3"])
    assert np.allclose(result.infer(votes).posterior, whole.infer(votes).posterior, atol=1e-9)
    monkeypatch.setattr("crowdwise.out_of_core.partitioned_result.free_memory", lambda: 1000)
    with pytest.raises(DataError, match=r"scan\(\) goes through them"):
        _ = cw.Result.load(tmp_path / "run").posterior


@pytest.mark.slow
def test_a_sample_is_shown(planned, tmp_path, monkeypatch):
    monkeypatch.setattr("crowdwise.out_of_core.output.sample.__defaults__", (200,))
    fit_plan(planned, quick("dawid_skene"), tmp_path / "run")
    shown, said = cw.Run.load(tmp_path / "run").shown()
    assert 100 < len(shown.result.tasks) < 300
    assert f"{len(shown.result.tasks):,} of 902 tasks" in said
    assert shown.votes.n_tasks == len(shown.result.tasks)


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["marker", "part", "noise"])
def test_labels_that_are_not_whole_are_refused(planned, tmp_path, harm):
    fit_plan(planned, cw.method("wawa"), tmp_path / "run")
    labels = tmp_path / "run" / "labels.parquet"
    if harm == "noise":
        (labels / "part-00003.parquet").write_bytes(b"PAR1 no PAR1")
        with pytest.raises(DataError, match=r"labels\.parquet is damaged"):
            cw.Result.load(tmp_path / "run").to_table()
        return
    (labels / {"marker": "_SUCCESS", "part": "part-00003.parquet"}[harm]).unlink()
    with pytest.raises(DataError, match=r"incomplete|damaged \(63 parts of 64"):
        cw.Result.load(tmp_path / "run")


@pytest.mark.slow
def test_what_cannot_fit_is_refused_with_its_number(planned, tmp_path, monkeypatch):
    said = []
    fit_plan(planned, quick("dawid_skene"), tmp_path / "run", callbacks=ProgressCallbacks(say=said.append))
    assert said[0].startswith(f"{len(planned.workers)} workers × 4² classes = {16 * len(planned.workers):,} cells")
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    with pytest.raises(DataError, match=r"workers × 4² classes = .* cells.* take a vote"):
        fit_plan(planned, quick("dawid_skene"), tmp_path / "run2")
    fit_plan(planned, cw.method("wawa"), tmp_path / "run2")


def test_large_files_are_told_by_their_rows(planned, tmp_path, monkeypatch):
    files = list(planned.files)
    monkeypatch.setattr(memory, "free_memory", lambda: 2 * memory.PER_ROW * 7205)
    assert memory.too_large(files) is None
    monkeypatch.setattr(memory, "free_memory", lambda: 2 * memory.PER_ROW * 7204)
    assert "would be needed in memory" in memory.too_large(files)


def test_methods_that_need_all_votes_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="gibbs needs all votes at once"):
        fit_files("nowhere*.csv", "gibbs", tmp_path / "run")


def test_work_is_kept_only_where_it_was_asked_for(tmp_path):
    pattern = cut(messy(100), tmp_path / "votes", 2)
    fit_files(pattern, "majority_vote", tmp_path / "a", duplicates="first")
    assert not (tmp_path / ".a.parts").exists()
    fit_files(pattern, "majority_vote", tmp_path / "b", duplicates="first", work_dir=tmp_path / "work")
    assert (tmp_path / "work" / "plan.json").is_file()
    with pytest.raises(DataError, match="already"):
        fit_files(pattern, "majority_vote", tmp_path / "a", duplicates="first")


def test_a_full_disk_at_the_end_leaves_no_run(planned, tmp_path, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        fit_plan(planned, cw.method("wawa"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert [p for p in tmp_path.iterdir() if p.name != "planned"] == []
