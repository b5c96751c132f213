"""The standard data sets, where they are at hand."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from crowdwise import datasets
from crowdwise.core.errors import DataError, LedgerWarning, ParameterError

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
EXTRA = {"fair_recid", "judges_llmbar", "sp_states", "sp_trivia", "time_dogs"}  # there for what else they hold


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
    for name, card in datasets.CATALOGUE.items():
        assert card.name == name
        assert len(card.sha256) == 64
        assert card.licence
        assert card.source
        assert card.about
        assert card.kind in ("truth", "subjective", "no truth")
        assert min(card.n_tasks, card.n_workers, card.n_classes) > 1
        assert card.n_labels >= card.n_tasks
    assert len({card.sha256 for card in datasets.CATALOGUE.values()}) == len(datasets.CATALOGUE) == 69


def test_the_independent_sets_are_the_first_ones_and_forty_more() -> None:
    assert datasets.INDEPENDENT[:18] == datasets.FIRST
    assert len(datasets.INDEPENDENT) == len(set(datasets.INDEPENDENT)) == 58
    truth = {name for name, card in datasets.CATALOGUE.items() if card.kind == "truth"}
    assert truth - set(datasets.INDEPENDENT) == EXTRA | {"rte_text", "sentpol_text"}
    assert set(datasets.INDEPENDENT) < truth


def test_families_are_left_out_together() -> None:
    assert set(datasets.FAMILIES) == set(datasets.CATALOGUE)
    members: dict[str, set[str]] = {}
    for name in datasets.names():
        members.setdefault(datasets.family(name), set()).add(name)
    kin = sorted(sorted(group) for group in members.values() if len(group) > 1)
    assert kin == [
        ["adult", "relevance4", "trec"],
        ["bluebird", "ducks"],
        ["cf", "cf_amt"],
        ["chexpert", "ebm_appendicitis", "mrmc_vandyke"],
        ["exam_hci", "quiz_chinese", "quiz_english", "quiz_science"],
        ["llm_figurative", "llm_ideology", "llm_relevance", "llm_stance"],
        ["rte", "rte_text", "temp", "wsd"],
        ["sentpol_text", "sp", "sp_amt"],
        ["vision_cueconflict", "vision_edge", "vision_highpass", "vision_stylized"],
        ["zencrowd_all", "zencrowd_in", "zencrowd_us"],
    ]
    for family, group in members.items():
        assert group == {family} or family not in datasets.CATALOGUE  # a family's name is no set outside of it


def test_an_unknown_set_has_no_family() -> None:
    with pytest.raises(ParameterError, match="did you mean ducks"):
        datasets.family("duckz")


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(ParameterError, match="did you mean bluebird"):
        datasets.load("bluebirds")


def test_a_missing_folder_is_a_data_error(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("CROWDWISE_DATA", raising=False)
    with pytest.raises(DataError, match="CROWDWISE_DATA"):
        datasets.load("rte")
    with pytest.raises(DataError, match="is not a folder"):
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


def test_more_columns_do_no_harm(tmp_path, monkeypatch) -> None:
    (tmp_path / "sp_states").mkdir()
    rows = b"task,worker,label,predicted_share,confidence,study\nq1,a,0,0.6,,1a\nq1,b,1,0.7,0.9,1c\n"
    (tmp_path / "sp_states" / "labels.csv").write_bytes(rows)
    (tmp_path / "sp_states" / "truth.csv").write_text("task,label,split\nq1,0,train\n")
    known = replace(datasets.card("sp_states"), sha256=hashlib.sha256(rows).hexdigest())
    monkeypatch.setitem(datasets.CATALOGUE, "sp_states", known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = datasets.load("sp_states", tmp_path)
    assert found.annotations.to_frame()["label"].to_list() == ["0", "1"]
    assert found.annotations.confidence is not None
    assert found.truth is not None
    assert found.truth.rows() == [("q1", "0")]


# ---------------------------------------------------------------- with the data
@pytest.mark.data
@pytest.mark.parametrize("name", datasets.names())
def test_sizes_are_those_of_the_catalogue(name: str, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # above all the one on checksums
        found, card = datasets.load(name, folder), datasets.card(name)
    votes = found.annotations
    assert (votes.n_tasks, votes.n_workers, votes.n_classes) == (card.n_tasks, card.n_workers, card.n_classes)
    assert votes.ledger.rows_in == card.n_labels
    assert (found.truth is None) == (card.kind == "no truth")
    if found.truth is not None:
        assert found.truth.columns == ["task", "label"]
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
