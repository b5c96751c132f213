"""Features in a folder: the answer of features in memory, few rows at a time, and one line for bad files."""

from __future__ import annotations

import gc

import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch")

import crowdwise as cw  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, FeatureFolder  # noqa: E402
from crowdwise.learn.data import folder as disk  # noqa: E402
from crowdwise.learn.data.folder import (  # noqa: E402
    PIECES,
    is_on_disk,
    on_disk,
    release_memory,
)
from crowdwise.learn.em import EMMethod  # noqa: E402
from crowdwise.learn.training import sweep  # noqa: E402

from .test_processes import D, N, planted  # noqa: E402

ROW = D * 4  # bytes


class InMemory(FeatureFolder):
    """The same pieces and the same order, all of them in memory."""

    def take(self, rows):
        if not hasattr(self, "x"):
            self.x = torch.from_numpy(np.concatenate([np.load(path) for path in sorted(self.folder.glob("*.npy"))]))
        return self.x[rows]


@pytest.fixture
def arrays(tmp_path):
    x, votes = planted()
    folder = tmp_path / "arrays"
    folder.mkdir()
    for number, part in enumerate(np.array_split(x, 4)):
        np.save(folder / f"x{number}.npy", part)
    return folder, x, votes


def fitted(x, votes, **how):
    settings = {"epochs": 4, "batch_size": 16, "validation": 0.2, **how}
    return CrowdClassifier("linear", "agg_net", **settings).fit(x, votes)


def test_a_folder_gives_the_answer_of_the_same_batches_in_memory(arrays):
    folder, _, votes = arrays
    small = {"memory": 8 * PIECES * ROW}  # eight rows a piece
    one, other = fitted(FeatureFolder(folder, **small), votes), fitted(InMemory(folder, **small), votes)
    assert one.history_["loss"] == other.history_["loss"]
    np.testing.assert_array_equal(one.result_.posterior, other.result_.posterior)
    rows = fitted(str(folder), votes)  # a path will do
    assert rows.result_.posterior.shape == (N, 3)


@pytest.mark.filterwarnings("ignore:mbem. the mean worker")  # three epochs of two rounds
@pytest.mark.parametrize("method", ["agg_net", "raykar", "deep_mf", "mbem", "deep_bp", "two_stage"])
def test_what_is_believed_of_the_tasks_is_on_disk_and_the_same(arrays, monkeypatch, method):
    folder, _, votes = arrays

    def trained(**how):
        found = CrowdClassifier("linear", method, epochs=3, batch_size=16, validation=0.2, **how)
        return found.fit(FeatureFolder(folder, memory=8 * PIECES * ROW), votes)

    one = trained()
    assert is_on_disk(one.model_.method.target)
    monkeypatch.setattr(EMMethod, "put_on_disk", lambda *_: None)
    in_memory = trained()
    assert not is_on_disk(in_memory.model_.method.target)
    assert torch.equal(in_memory.model_.method.target, one.model_.method.target)  # of one part both have the same bits
    np.testing.assert_array_equal(in_memory.result_.posterior, one.result_.posterior)
    monkeypatch.undo()
    monkeypatch.setattr(sweep, "PART", 32)  # of many only the order of sums is another
    parts = trained()
    np.testing.assert_allclose(parts.model_.method.target, one.model_.method.target, atol=2e-5)
    np.testing.assert_allclose(parts.result_.confusion, one.result_.confusion, atol=2e-5)
    assert sorted(path.suffix for path in folder.iterdir()) == [".npy"] * 4  # nothing is left behind


def test_numbers_on_disk_are_numbers(tmp_path):
    values = torch.rand(1000, 7)
    found = on_disk(values, tmp_path)
    assert is_on_disk(found)
    assert torch.equal(found, values)
    found[3:500] = 2.0
    release_memory(found)
    assert bool((found[3:500] == 2.0).all())
    assert torch.equal(found[500:], values[500:])
    assert torch.equal(on_disk(values, tmp_path / "nowhere"), values)  # among temporary files
    assert on_disk(values[:0], tmp_path).shape == (0, 7)
    place = found.data_ptr()
    del found
    gc.collect()
    assert place not in disk._maps


def test_a_full_disk_is_said_in_one_line(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk.os, "posix_fallocate", full)
    with pytest.raises(cw.DataError, match="No space left") as told:
        on_disk(torch.rand(10, 2), tmp_path)
    assert "\n" not in str(told.value)


def test_parquet_and_arrays_say_the_same_and_names_tell_the_rows(arrays, tmp_path):
    folder, x, votes = arrays
    mixed = np.random.default_rng(1).permutation(N)
    tables, lists, named = (tmp_path / name for name in ("tables", "lists", "named"))
    for place in (tables, lists, named):
        place.mkdir()
    for number, rows in enumerate(np.array_split(mixed, 3)):
        columns = {f"f{j}": x[rows, j] for j in range(D)}
        pl.DataFrame({"task": rows, **columns}).write_parquet(tables / f"{number}.parquet")
        pl.DataFrame({"task": rows, "x": x[rows].tolist()}).write_parquet(lists / f"{number}.parquet")
        np.save(named / f"{number}.npy", x[rows])
    pl.DataFrame({"task": mixed}).write_parquet(named / "tasks.parquet")
    said = [FeatureFolder(place) for place in (tables, lists, named)]
    for one in said:
        assert one.tasks.to_list() == mixed.tolist()
        torch.testing.assert_close(one.take(torch.arange(N)), torch.from_numpy(x[mixed]))
    found = [fitted(one, votes) for one in said]
    for other in found[1:]:
        np.testing.assert_array_equal(other.result_.posterior, found[0].result_.posterior)
    task = found[0].result_.tasks.to_list()
    assert sorted(task) == list(range(N))
    assert len(FeatureFolder(folder)) == N


def test_every_task_comes_once_an_epoch_pieces_are_read_once_and_few_are_open(arrays, monkeypatch):
    folder, _, votes = arrays
    x = FeatureFolder(folder, memory=4 * PIECES * ROW)
    data, reads, most = CrowdData(x, Crowd.of(votes)), [], 0
    read = FeatureFolder._check
    monkeypatch.setattr(
        FeatureFolder, "_check", lambda self, piece, found: (reads.append(piece), read(self, piece, found))
    )
    orders = {}
    for epoch in (0, 1):
        reads.clear()
        x._checked.clear()
        seen = []
        for batch in data.batches(5, seed=3, epoch=epoch):
            seen += batch.task.tolist()
            most = max(most, len(x._open))
        orders[epoch] = seen
        assert sorted(seen) == torch.nonzero(data.crowd.labelled).squeeze(1).tolist()
        assert len(reads) == len(set(reads)) == len(x.pieces)
        x._open.clear()
    assert most <= PIECES - 2 < len(x.pieces)
    assert orders[0] != orders[1]
    again = [t for batch in data.batches(5, seed=3, epoch=0) for t in batch.task.tolist()]
    assert again == orders[0]
    # Rows of one piece are not left together: neighbours in the files are rarely neighbours in the order.
    assert np.mean(np.abs(np.diff(orders[0])) == 1) < 0.3


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda f: (f / "x1.npy").write_bytes(b"nothing"), "x1.npy cannot be read as features"),
        (lambda f: np.save(f / "x1.npy", np.zeros((3, 9), dtype=np.float32)), "x1.npy has rows of shape"),
        (
            lambda f: np.save(f / "x1.npy", np.full((25, D), np.nan, np.float32)),
            "x1.npy holds NaN or infinity, first in row 0",
        ),
        (lambda f: pl.DataFrame({"task": [1], "a": [1.0]}).write_parquet(f / "t.parquet"), "it holds both"),
        (lambda f: pl.DataFrame({"task": [1]}).write_parquet(f / "tasks.parquet"), "tasks.parquet names 1 tasks"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_by_its_name(arrays, spoil, told):
    folder, _, votes = arrays
    spoil(folder)
    with pytest.raises(cw.DataError, match=told) as error:
        fitted(FeatureFolder(folder), votes)
    assert "\n" not in str(error.value)


def test_the_command_takes_a_folder(arrays, tmp_path, crowdwise_cli):
    folder, _, votes = arrays
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    out = tmp_path / "out"
    settings = ["-m", "ccem", "--net", "linear", "--epochs", "2", "-o", out]
    code, said, _ = crowdwise_cli("train", folder, tmp_path / "votes.csv", *settings)
    assert code == 0, said
    code, said, told = crowdwise_cli("predict", out, folder, "-o", tmp_path / "labels.csv")
    assert code == 0, told
    code, _, told = crowdwise_cli("train", tmp_path, tmp_path / "votes.csv", "-o", tmp_path / "other")
    assert code == 2
    assert "it holds neither" in told
