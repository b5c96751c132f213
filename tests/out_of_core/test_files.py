"""Which files are meant, and what is said when one of them is not what it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from crowdwise.core.errors import DataError
from crowdwise.out_of_core import chunks as chunks_module
from crowdwise.out_of_core import planning
from crowdwise.out_of_core.files import expand, is_many
from crowdwise.out_of_core.options import PartitionOptions
from crowdwise.out_of_core.planning import plan

from .conftest import cut

FIRST = PartitionOptions(duplicates="first")


def test_patterns_folders_and_lists(tmp_path, crowd):
    pattern = cut(crowd, tmp_path / "votes", 3)
    (tmp_path / "votes" / "_SUCCESS").touch()
    (tmp_path / "votes" / ".v.parquet.crc").touch()
    names = [Path(file.name).name for file in expand(pattern)]
    assert names == ["v00.parquet", "v01.parquet", "v02.parquet"]
    assert [Path(f.name).name for f in expand(tmp_path / "votes")] == names
    listed = [tmp_path / "votes" / name for name in reversed(names)]
    assert [Path(f.name).name for f in expand(listed)] == names[::-1]
    assert is_many(pattern)
    assert is_many("s3://bucket/votes.parquet")
    assert not is_many(str(tmp_path / "votes" / "v00.parquet"))


@pytest.mark.parametrize(
    ("votes", "said"),
    [
        ("nothing*.csv", "no file has a name like this"),
        ("nothing.csv", "there is no such file"),
        (".", "there are no tables here"),
    ],
)
def test_nothing_there(tmp_path, votes, said):
    with pytest.raises(DataError, match=said):
        expand(str(tmp_path / votes))


def test_a_file_named_twice_is_refused(tmp_path, crowd):
    cut(crowd, tmp_path / "votes", 2)
    file = tmp_path / "votes" / "v00.parquet"
    with pytest.raises(DataError, match="named twice"):
        expand([file, file])


def after_first_piece(monkeypatch, do):
    """Do something once, when the first piece of the first file has been read."""
    real, done = chunks_module.read_chunks, []

    def pieces(file, options):
        for piece in real(file, options):
            yield piece
            if not done:
                done.append(do())

    monkeypatch.setattr(planning, "read_chunks", pieces)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_vanishes_is_named(tmp_path, crowd, monkeypatch, kind):
    pattern = cut(crowd, tmp_path / "votes", 5, kind)
    after_first_piece(monkeypatch, (tmp_path / "votes" / f"v03.{kind}").unlink)
    with pytest.raises(DataError, match=r"v03"):
        plan(pattern, tmp_path / "work", FIRST)
    assert not (tmp_path / "work" / "plan.json").exists()


@pytest.mark.parametrize("victim", ["v00.csv", "v02.csv"])
def test_a_file_that_changes_is_named(tmp_path, crowd, monkeypatch, victim):
    pattern = cut(crowd, tmp_path / "votes", 5, "csv")

    def add_a_row():
        with (tmp_path / "votes" / victim).open("a") as file:
            file.write("t1,w001,ant\n")

    after_first_piece(monkeypatch, add_a_row)
    with pytest.raises(DataError, match=f"{victim} has changed since it was listed"):
        plan(pattern, tmp_path / "work", FIRST)
    assert not list((tmp_path / "work").glob("part-*"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("damage", ["cut", "noise"])
def test_one_corrupt_file_among_fifty_is_named(tmp_path, crowd, kind, damage):
    pattern = cut(crowd, tmp_path / "votes", 50, kind)
    victim = tmp_path / "votes" / f"v37.{kind}"
    whole = victim.read_bytes()
    half = len(whole) // 2
    victim.write_bytes(whole[: half - 3] if damage == "cut" else whole[:half] + b"\xff\x00\xfe" + whole[half + 3 :])
    if damage == "cut" and kind == "csv":  # a line cut short within its columns is what csv can tell
        victim.write_bytes(whole[: whole.rfind(b",")])
    with pytest.raises(DataError, match=f"v37.{kind}"):
        plan(pattern, tmp_path / "work", FIRST)
    assert not (tmp_path / "work" / "plan.json").exists()


@pytest.mark.slow
def test_a_part_that_vanished_or_was_cut_is_named(tmp_path, crowd):
    found = plan(cut(crowd, tmp_path / "votes"), tmp_path / "work", FIRST)
    cell = tmp_path / "work" / "part-00007" / "cell.npy"
    cell.write_bytes(cell.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"part-00007/cell.npy is damaged"):
        found.source.part(7)
    cell.unlink()
    with pytest.raises(DataError, match=r"part-00007/cell.npy has vanished"):
        found.source.part(7)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_line_and_leaves_nothing(small_disk, tmp_path, crowd):
    pattern = cut(crowd, tmp_path / "votes")
    with pytest.raises(DataError, match="cannot be written") as error:
        plan(pattern, small_disk / "work", FIRST)
    assert "space" in str(error.value)
    assert "\n" not in str(error.value)
    assert not (small_disk / "work" / "plan.json").exists()
    assert not list((small_disk / "work").glob("part-*"))


def test_a_disk_that_cannot_be_written(tmp_path, crowd, monkeypatch):
    """The same without a mount: every array's file says that there is no space left."""
    import errno

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("crowdwise.out_of_core.parts.np.save", full)
    with pytest.raises(DataError, match=r"work cannot be written \(No space left on device\)"):
        plan(cut(crowd, tmp_path / "votes"), tmp_path / "work", FIRST)
    assert not list((tmp_path / "work").glob("part-*"))
