"""convert, and what inspect and aggregate say of exports."""

from __future__ import annotations

import json

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.io.export import RESULT_FORMATS_OF_KIND, VOTE_FORMATS_OF_KIND

from ..exports import ANSWERS, SAMPLES, SNOW, TOLOKA, annotation, choice, label_studio, packed

every = pytest.mark.parametrize("sample", SAMPLES.values(), ids=list(SAMPLES))


@pytest.fixture
def export(tmp_path):
    (tmp_path / "e.json").write_bytes(SAMPLES["label_studio"].content)
    return tmp_path / "e.json"


@pytest.mark.slow
@every
def test_every_export_becomes_a_plain_table(crowdwise_cli, tmp_path, sample):
    (tmp_path / sample.name).write_bytes(sample.content)
    code, out, err = crowdwise_cli("convert", tmp_path / sample.name, tmp_path / "out.csv", *sample.arguments)
    assert code == 0, err
    assert out == ""
    assert f"read as {sample.format}: " in err
    assert f"{len(sample.rows)} annotations written to" in err
    back = cw.read(tmp_path / "out.csv").to_frame().select("task", "worker", "label")
    assert sorted(back.iter_rows()) == sorted(sample.rows)


@pytest.mark.slow
@pytest.mark.parametrize("to", [name for name in VOTE_FORMATS_OF_KIND["classes"] if name != "snorkel"])
def test_to_every_format(crowdwise_cli, export, tmp_path, to):
    code, _, err = crowdwise_cli("convert", export, tmp_path / "out", "--to", to)
    assert code == 0, err
    question = {"question": "sent"} if to.startswith("label_studio_") else {}
    back = cw.read(tmp_path / "out", format=to, **question).to_frame().select("task", "worker", "label")
    numbered = {"neg": "0", "pos": "1"} if to == "cleanlab" else {}
    assert sorted(back.iter_rows()) == sorted((t, w, numbered.get(label, label)) for t, w, label in ANSWERS)


def test_results_to_every_format(crowdwise_cli, export, tmp_path):
    crowdwise_cli("aggregate", export, "-m", "majority_vote", "-o", tmp_path / "run")
    for to in RESULT_FORMATS_OF_KIND["classes"]:
        code, _, err = crowdwise_cli("convert", tmp_path / "run", tmp_path / f"out-{to}", "--to", to)
        assert code == 0, err
        # One task has no vote, so no prediction.
        assert f"{3 if to == 'label_studio' else 4} labels written" in err
    code, _, _ = crowdwise_cli("convert", tmp_path / "run", tmp_path / "soft.npz")
    assert code == 0
    assert np.load(tmp_path / "soft.npz")["task"].tolist() == ["t1", "t2", "t3", "t4"]


def test_nothing_is_overwritten_unasked(crowdwise_cli, fails, export, tmp_path):
    (tmp_path / "out.csv").write_text("mine")
    fails("convert", export, tmp_path / "out.csv", words="out.csv exists already | --force")
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert crowdwise_cli("convert", export, tmp_path / "out.csv", "--force")[0] == 0


def test_convert_says_what_it_does_not_know(fails, crowdwise_cli, export, tmp_path):
    for arguments, words in ((["out.doc"], "out.doc names none"), (["out.csv", "--to", "word"], "'word' is none")):
        code, _, err = crowdwise_cli("convert", export, tmp_path / arguments[0], *arguments[1:])
        assert code == 2
        assert words in err
        assert "--to must be one of csv, tsv" in err
    fails("convert", tmp_path / "none.json", tmp_path / "x.csv", words="there is no such file")
    fails("convert", tmp_path, tmp_path / "x.csv", words="is a folder; name a file in it")


def test_inspect_says_what_it_saw(crowdwise_cli, export):
    code, out, _ = crowdwise_cli("inspect", export, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["format"] == "label_studio"
    assert facts["why"] == "its objects have `data` and `annotations`"
    assert facts["question"] == "sent"
    assert facts["gold_labels"] == 1
    assert facts["ledger"]["dropped"]["skipped by the worker"] == 1
    assert facts["has_duration"]
    code, out, _ = crowdwise_cli("inspect", export)
    for words in ("label_studio (its objects", "sent", "1 skipped by the worker", "time, duration"):
        assert words in out


def test_gold_in_the_file_is_used_and_said(crowdwise_cli, tmp_path):
    (tmp_path / "e.tsv").write_bytes(TOLOKA.replace(b"t2\tneg\tneg", b"t2\tneg\tpos"))
    code, out, err = crowdwise_cli("aggregate", tmp_path / "e.tsv", "-m", "dawid_skene")
    assert code == 0
    assert "1 gold labels in the file itself are used" in err
    assert "t2,pos,1.0" in out


def test_the_truth_of_every_task_is_for_judging(crowdwise_cli, tmp_path):
    (tmp_path / "e.tsv").write_bytes(SNOW)
    code, out, err = crowdwise_cli("aggregate", tmp_path / "e.tsv", "-m", "majority_vote", "-o", tmp_path / "run")
    assert code == 0
    assert "holds the true label of all 3 tasks, which is not used" in err
    code, out, err = crowdwise_cli("evaluate", tmp_path / "run", "--truth", tmp_path / "e.tsv", "--json")
    assert code == 0, err
    assert json.loads(out)["n"] == 3


def test_options_reach_the_reader(crowdwise_cli, tmp_path):
    content = label_studio((1, [annotation(7, choice("a", "b")), annotation(8, choice("a"))]))
    (tmp_path / "e.json").write_bytes(content)
    for command in ("inspect", "aggregate"):
        more = [] if command == "inspect" else ["-m", "majority_vote"]
        code, out, err = crowdwise_cli(command, tmp_path / "e.json", "--multiple", "join", "--json", *more)
        assert code == 0, err
        assert "a|b" in out
    code, out, _ = crowdwise_cli("compare", tmp_path / "e.json", "-m", "majority_vote", "--multiple", "drop", "--json")
    assert code == 0
    (tmp_path / "t.tsv").write_bytes(TOLOKA)
    code, out, _ = crowdwise_cli("inspect", tmp_path / "t.tsv", "--rejected", "drop", "--json")
    assert json.loads(out)["ledger"]["dropped"]["rejected by the requester"] == 2


def test_a_zip_with_a_folder_inside(crowdwise_cli, tmp_path):
    (tmp_path / "e.zip").write_bytes(packed({"export/ann.jsonl": b'{"id": 1, "label": ["x"]}\n'}))
    code, out, err = crowdwise_cli("inspect", tmp_path / "e.zip", "--json")
    assert code == 0, err
    assert json.loads(out)["format"] == "doccano"


# ------------------------------------------------------------------------------------------------ there and back
STARS = {"from_name": "stars", "to_name": "photo", "type": "rating", "value": {"rating": 4}}
PLACE = {"from_name": "place", "to_name": "photo", "type": "taxonomy", "value": {"taxonomy": [["Asia", "Japan"]]}}
DATA = [{"photo": f"https://x.org/{i}.jpg", "meta": {"by": [i]}} for i in range(3)]


@pytest.fixture
def album(tmp_path):
    """An export whose ids are numbers, whose data are not called text, with three kinds of controls."""

    def pets(*labels):
        return {"from_name": "pets", "to_name": "photo", "type": "choices", "value": {"choices": list(labels)}}

    votes = [annotation(w, STARS, PLACE, pets("cat", "dog|fox") if w == 9 else pets("cat")) for w in (7, 8, 9)]
    tasks = [{"id": 40 - i, "data": data, "annotations": votes} for i, data in enumerate(DATA)]
    (tmp_path / "album.json").write_text(json.dumps(tasks))
    return tmp_path / "album.json"


@pytest.mark.parametrize("question", ["stars", "place", "pets"])
def test_label_studio_keeps_ids_data_and_control(crowdwise_cli, album, tmp_path, question):
    line = ("convert", album, tmp_path / "back.json", "--to", "label_studio", "--question", question)
    code, _, err = crowdwise_cli(*line, "--multiple", "join")
    assert code == 0, err
    old, new = json.loads(album.read_text()), json.loads((tmp_path / "back.json").read_text())
    for before, after in zip(old, new, strict=True):
        assert (after["id"], after["data"]) == (before["id"], before["data"])
        for was, now in zip(before["annotations"], after["annotations"], strict=True):
            assert now["completed_by"] == was["completed_by"]
            assert now["result"] == [each for each in was["result"] if each["from_name"] == question]
    assert "--original" not in err


def test_predictions_go_back_into_the_project(crowdwise_cli, album, tmp_path):
    run, line = tmp_path / "run", ("--question", "stars")
    cw.numbers.Mean().fit(cw.read(album, question="stars")).save(run)
    code, _, err = crowdwise_cli("convert", run, tmp_path / "p.json", "--to", "label_studio")
    assert code == 0
    assert "--original FILE, the export that the votes came from, brings back ids, data and control" in err
    back = ("convert", run, tmp_path / "q.json", "--original", album, *line)
    code, _, err = crowdwise_cli(*back, "--to", "label_studio")
    assert code == 0, err
    tasks = json.loads((tmp_path / "q.json").read_text())
    assert [(task["id"], task["data"]) for task in tasks] == [(40 - i, data) for i, data in enumerate(DATA)]
    results = [one for task in tasks for one in task["predictions"][0]["result"]]
    assert [{name: value for name, value in one.items() if name != "score"} for one in results] == [STARS] * len(tasks)
    assert "only" not in err
    code, _, err = crowdwise_cli(*back, "--to", "jsonl", "--force")
    assert (code, err.count("\n")) == (2, 1)
    assert "--original is for predictions; use --to label_studio" in err


def test_flat_exports_keep_data_and_control_too(crowdwise_cli, album, tmp_path):
    line = ("--question", "stars")
    for to, name in (("label_studio_min", "flat.json"), ("label_studio_csv", "flat.csv")):
        flat, back = tmp_path / name, tmp_path / f"{name}.json"
        assert crowdwise_cli("convert", album, flat, "--to", to, *line)[0] == 0
        code, _, err = crowdwise_cli("convert", flat, back, "--to", "label_studio", "--format", to, *line)
        assert code == 0, err
        tasks = json.loads(back.read_text())
        assert [task["id"] for task in tasks] == [40, 39, 38]
        assert [task["data"]["photo"] for task in tasks] == [data["photo"] for data in DATA]
        assert tasks[0]["annotations"][0]["result"][0]["from_name"] == "stars"


def test_an_original_of_another_kind_is_refused(fails, tmp_path):
    (tmp_path / "v.csv").write_text("task,worker,label\nt,w,x\n")
    line = (
        "convert",
        tmp_path / "v.csv",
        tmp_path / "o.json",
        "--to",
        "label_studio",
        "--original",
        tmp_path / "v.csv",
    )
    fails(*line, words="is read as csv; --original takes an export of Label Studio")
