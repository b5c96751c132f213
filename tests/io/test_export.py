"""Writers: every format that is written is read back the same, and results come out as other tools want them."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io.export import RESULTS, VOTE_FORMATS_OF_KIND, VOTES, VOTES_BY_KIND, write_result, write_votes
from crowdwise.io.formats import FORMATS
from crowdwise.io.reading import Reading

ENDINGS = {
    "tsv": "tsv", "toloka": "tsv", "snow": "tsv", "parquet": "parquet", "snorkel": "npy", "label_studio": "json",
    "label_studio_min": "json", "doccano": "zip", "cvat": "zip", "potato": "zip", "jsonl": "jsonl", "argilla": "jsonl",
    "hf_lists": "jsonl", "prodigy": "jsonl", "llm_judge": "jsonl",
}  # fmt: skip
NUMBERED = ("cleanlab", "snorkel")
ODD = [
    "007",
    "1e5",
    " a ",
    "é",
    "🙂",
    "a\u2028b",
    'say "no"',
    "a,b",
    "=1+1",
    "-1",
    "+x",
    "@me",
    "'=x",
    "NA",
    "true",
    "[x]",
    "<&>",
]
TRIPLE = ("task", "worker", "label")


def votes_of(labels, **numbers):
    task, worker = ["t1", "t1", "t2", "t3", "t3"], ["ann", "bob", "ann", "bob", "eve"]
    return cw.Annotations.from_arrays(task, worker, labels, **numbers)


def there_and_back(reading, name, tmp_path, **options):
    path = tmp_path / f"v.{ENDINGS.get(name, 'csv')}"
    write_votes(reading, path, name)
    if name.startswith("label_studio_"):
        options["question"] = "label"
    return cw.read_all(path, format="wide" if name == "wide" else None, **options)


def test_every_format_that_is_read_is_written():
    assert set(VOTES | VOTES_BY_KIND["boxes"]) == {"csv", "tsv", "jsonl", "parquet", "wide", "snorkel", *FORMATS}


@pytest.mark.parametrize("name", VOTE_FORMATS_OF_KIND["classes"])
def test_what_is_written_is_read_back(tmp_path, name):
    votes = votes_of(["1", "0", "0", "1", "0"])
    back = there_and_back(Reading(votes, "", ""), name, tmp_path)
    assert back.format == name
    want = votes.to_frame()
    if name == "snorkel":  # a matrix has numbers for names
        want = pl.DataFrame({"task": votes.task, "worker": votes.worker, "label": votes.label}).cast(pl.Int64)
    assert back.annotations.to_frame().select(TRIPLE).equals(want)
    assert back.annotations.ledger.rows_dropped == 0


@pytest.mark.parametrize("name", [name for name in VOTE_FORMATS_OF_KIND["classes"] if name not in NUMBERED])
def test_odd_ids_and_labels_come_back(tmp_path, name):
    workers = ["ann", "bob"] if name in ("doccano", "cvat", "potato", "wide") else ["=ann", "'+bob"]
    labels = [each.strip() for each in ODD] if name == "mturk" else ODD
    task = [each for each in ODD for _ in workers]
    votes = cw.Annotations.from_arrays(task, workers * len(ODD), [label for label in labels for _ in workers])
    back = there_and_back(Reading(votes, "", ""), name, tmp_path, allow=["ids"])  # each task has a class of its own
    assert back.annotations.to_frame().select(TRIPLE).equals(votes.to_frame())


@pytest.mark.parametrize(
    "name", ["csv", "tsv", "jsonl", "parquet", "label_studio", "label_studio_min", "label_studio_csv"]
)
def test_times_and_durations_come_back(tmp_path, name):
    votes = votes_of(list("ababa"), time=[1.5, 2, 3, 4, np.nan], duration=[1, np.nan, 3, 4, 5.5])
    back = there_and_back(Reading(votes, "", ""), name, tmp_path).annotations
    np.testing.assert_array_equal(back.time, votes.time)
    np.testing.assert_array_equal(back.duration, votes.duration)


@pytest.mark.parametrize("name", ["csv", "label_studio", "toloka", "snow"])
def test_gold_comes_back(tmp_path, name):
    gold = pl.DataFrame({"task": ["t1", "t3"], "label": ["a", "b"]})
    columns = {"gold": "gold"} if name == "csv" else None
    back = there_and_back(Reading(votes_of(list("ababa")), "", "", gold=gold), name, tmp_path, columns=columns)
    assert back.gold.sort("task").equals(gold)


@pytest.mark.parametrize("name", ["label_studio", "argilla"])
def test_models_come_back_as_models(tmp_path, name):
    votes = cw.Annotations.from_arrays([1, 1], ["ann", "model:v1"], ["a", "b"], confidence=[np.nan, 0.75])
    workers = pl.DataFrame({"worker": ["ann", "model:v1"], "source": ["human", "model"]})
    back = there_and_back(Reading(votes, "", "", workers=workers), name, tmp_path, predictions=True)
    assert sorted(back.workers.iter_rows()) == sorted(workers.iter_rows())
    assert back.annotations.confidence[1] == 0.75


def test_classes_are_numbered_where_the_format_wants_numbers(tmp_path):
    reading = Reading(votes_of(["dog", "cat", "cat", "dog", "cat"]), "", "")
    assert write_votes(reading, tmp_path / "w.csv", "cleanlab") == ("classes are numbered: 0 = cat, 1 = dog",)
    notes = write_votes(reading, tmp_path / "L.npy")
    assert notes[0] == "classes are numbered: 0 = cat, 1 = dog"
    matrix = np.load(tmp_path / "L.npy", allow_pickle=False)
    assert matrix.tolist() == [[1, 0, -1], [0, -1, -1], [-1, 1, 0]]
    ten = cw.Annotations.from_arrays(range(11), [0] * 11, [str(i) for i in range(11)])
    write_votes(Reading(ten, "", ""), tmp_path / "L.npy")
    assert np.load(tmp_path / "L.npy").ravel().tolist() == list(range(11))


def test_long_wide_tables_are_whole(tmp_path):
    rng = np.random.default_rng(0)
    worker = rng.permuted(np.tile([3, 4], (2500, 1)), axis=1).ravel()
    votes = cw.Annotations.from_arrays(np.repeat(np.arange(2500), 2), worker, rng.integers(2, size=5000))
    for name in ("wide", "cleanlab", "snorkel"):
        path = tmp_path / f"v.{ENDINGS.get(name, 'csv')}"
        write_votes(Reading(votes, "", ""), path, name)
        back = cw.read(path, format=name)
        numbers = back.tasks.cast(pl.Int64).to_numpy()[back.task]
        assert np.array_equal(back.label[np.argsort(numbers, kind="stable")], votes.label)


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    twice = cw.Annotations.from_arrays([1, 1], ["a", "a"], ["x", "y"], duplicates="keep")
    with pytest.raises(cw.DataError, match="--duplicates first or last"):
        write_votes(Reading(twice, "", ""), tmp_path / "v.csv", "wide")
    with pytest.raises(cw.DataError, match="labelled a task more than once"):
        write_votes(Reading(twice, "", ""), tmp_path / "v.zip", "potato")
    slash = cw.Annotations.from_arrays([1], ["../a"], ["x"])
    with pytest.raises(cw.DataError, match=r"cannot have a file of that name"):
        write_votes(Reading(slash, "", ""), tmp_path / "v.zip", "doccano")
    bar = cw.Annotations.from_arrays([1], ["a"], ["x|y"])
    with pytest.raises(cw.DataError, match=r"a label holds \|"):
        write_votes(Reading(bar, "", ""), tmp_path / "v.csv", "mturk")
    with pytest.raises(cw.ParameterError, match="--to must be one of csv"):
        write_votes(Reading(bar, "", ""), tmp_path / "v.doc")


# ---------------------------------------------------------------------------------------------- results
@pytest.fixture
def result():
    return cw.MajorityVote().fit(votes_of(["=dog", "cat", "cat", "=dog", "cat"]))


def test_consensus_tables(tmp_path, result):
    for name in ("csv", "jsonl", "parquet"):
        write_result(result, tmp_path / f"c.{name}")
    table = result.to_table()
    assert pl.read_parquet(tmp_path / "c.parquet").equals(table)
    assert pl.read_ndjson(tmp_path / "c.jsonl").equals(table)
    assert "'=dog" in (tmp_path / "c.csv").read_text()
    assert cw.read_truth(tmp_path / "c.csv").rows() == table.select("task", "label").rows()


def test_soft_labels(tmp_path, result):
    write_result(result, tmp_path / "soft.npz")
    with np.load(tmp_path / "soft.npz", allow_pickle=False) as soft:
        assert soft["classes"].tolist() == ["=dog", "cat"]
        assert soft["task"].tolist() == ["t1", "t2", "t3"]
        np.testing.assert_array_equal(soft["label_dist"], result.posterior)
        np.testing.assert_array_equal(soft["label"], result.labels)


def test_label_studio_predictions(tmp_path, result):
    # label-studio-sdk 2.1.2's LabelInterface.validate_prediction accepts these for <Choices name="label">.
    write_result(result, tmp_path / "p.json", "label_studio")
    tasks = json.loads((tmp_path / "p.json").read_text())
    assert [task["data"]["text"] for task in tasks] == ["t1", "t2", "t3"]
    prediction = tasks[1]["predictions"][0]
    assert prediction["model_version"] == "crowdwise:majority_vote"
    assert prediction["score"] == 1.0
    assert prediction["result"] == [
        {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["cat"]}, "score": 1.0}
    ]
    votes = cw.read(tmp_path / "p.json", predictions=True, columns={"task": "task"})
    assert votes.to_frame()["label"].to_list() == result.to_table()["label"].to_list()


def test_hugging_face_folder(tmp_path, result):
    # datasets 5.2.0 loads such a folder with load_dataset(folder), `label` as a ClassLabel with these names.
    write_result(result, tmp_path / "hf", "hf_dataset")
    frame = pl.read_parquet(tmp_path / "hf" / "data" / "train-00000-of-00001.parquet")
    assert frame.columns == ["task", "label", "label_dist", "confidence", "n_votes"]
    assert frame["label"].to_list() == result.labels.tolist()
    np.testing.assert_array_equal(np.array(frame["label_dist"].to_list()), result.posterior)
    card = (tmp_path / "hf" / "README.md").read_text()
    assert """names:\n          '0': "=dog"\n          '1': "cat"\n""" in card
    assert card.split("---")[1].count("name: label_dist") == 1


def test_every_result_format_is_tried_here():
    assert set(RESULTS) == {"csv", "jsonl", "parquet", "soft_labels", "label_studio", "hf_dataset", "preferences"}


def test_archives_have_a_file_per_worker(tmp_path):
    for name, suffix in (("doccano", ".jsonl"), ("cvat", ".xml"), ("potato", "/user_state.json")):
        write_votes(Reading(votes_of(list("ababa")), "", ""), tmp_path / "v.zip", name)
        with zipfile.ZipFile(tmp_path / "v.zip") as archive:
            assert archive.namelist() == [who + suffix for who in ("ann", "bob", "eve")]
