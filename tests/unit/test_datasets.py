"""The standard data sets, where they are at hand."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest

from crowdwise import datasets
from crowdwise.errors import DataError, LedgerWarning, ParameterError

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
LARGE = {"cifar10n", "facteval", "relevance4", "trec", "md_agreement"}


@pytest.fixture(scope="session")
def folder() -> Path:
    given = os.environ.get("CROWDWISE_DATA")
    path = Path(given) if given else BESIDE
    if not path.is_dir():
        pytest.skip("no data sets at hand: set CROWDWISE_DATA to the folder that holds them")
    return path


# ---------------------------------------------------------------- the catalogue, without any data
def test_the_catalogue_is_complete() -> None:
    assert datasets.names() == sorted(datasets.CATALOGUE)
    assert len(datasets.INDEPENDENT) == len(set(datasets.INDEPENDENT)) == 18
    for name in datasets.INDEPENDENT:
        assert datasets.card(name).kind == "truth"
    for name, card in datasets.CATALOGUE.items():
        assert card.name == name
        assert len(card.sha256) == 64
        assert card.licence
        assert card.source
        assert card.about


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(ParameterError, match="did you mean bluebird"):
        datasets.load("bluebirds")


def test_a_missing_folder_is_a_data_error(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("CROWDWISE_DATA", raising=False)
    with pytest.raises(DataError, match="CROWDWISE_DATA"):
        datasets.load("rte")
    with pytest.raises(DataError, match="is no folder"):
        datasets.load("rte", tmp_path / "nowhere")
    with pytest.raises(DataError, match="rte is not in"):
        datasets.load("rte", tmp_path)


def test_another_file_is_loaded_with_a_warning(tmp_path, monkeypatch) -> None:
    (tmp_path / "rte").mkdir()
    rows = "task,worker,label\n1,a,0\n1,b,1\n1,b,0\n"
    (tmp_path / "rte" / "labels.csv.gz").write_bytes(gzip.compress(rows.encode(), mtime=0))
    monkeypatch.setenv("CROWDWISE_DATA", str(tmp_path))
    with pytest.warns(LedgerWarning, match="checksum"):
        found = datasets.load("rte")
    assert found.annotations.to_frame()["label"].to_list() == ["0", "0"]
    assert found.truth is None
    assert found.features is None


def test_damaged_files_are_data_errors(tmp_path) -> None:
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "labels.csv.gz").write_bytes(b"not packed")
    with pytest.raises(DataError, match="cannot be read"):
        datasets.load("rte", tmp_path)


# ---------------------------------------------------------------- with the data
@pytest.mark.data
@pytest.mark.parametrize("name", [n for n in datasets.names() if n not in LARGE])
def test_sizes_are_those_of_the_catalogue(name: str, folder: Path) -> None:
    found, card = datasets.load(name, folder), datasets.card(name)
    votes = found.annotations
    assert (votes.n_tasks, votes.n_workers, votes.n_classes) == (card.n_tasks, card.n_workers, card.n_classes)
    assert votes.ledger.rows_in == card.n_labels
    assert (found.truth is None) == (card.kind == "no truth")
    if found.truth is not None:
        assert set(found.truth["task"]) & set(votes.tasks)
        assert set(found.truth["label"]) <= set(votes.classes)


@pytest.mark.data
def test_repeated_votes_of_the_first_anaesthetist_are_kept(folder: Path) -> None:
    votes = datasets.load("anaesthetist", folder).annotations
    assert len(votes) == 315
    assert votes.labels_per_worker.max() == 3 * 45


@pytest.mark.data
def test_features_are_read_when_asked_for(folder: Path) -> None:
    music = datasets.load("music", folder)
    assert "features" not in vars(music)
    assert music.features is not None
    assert music.features["train_x"].shape == (700, 124)
    assert music.features is music.features
    assert datasets.load("rte", folder).features is None


@pytest.mark.data
def test_the_checksum_is_that_of_the_unpacked_file(folder: Path, tmp_path) -> None:
    (tmp_path / "wsd").mkdir()
    plain = (folder / "wsd" / "labels.csv").read_bytes()
    (tmp_path / "wsd" / "labels.csv.gz").write_bytes(gzip.compress(plain, mtime=0))
    shutil.copy(folder / "wsd" / "truth.csv", tmp_path / "wsd")
    assert len(datasets.load("wsd", tmp_path).annotations) == 1770
