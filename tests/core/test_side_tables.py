"""What else is known of tasks and workers: read from files, carried along by every verb, saved with the run."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.side_tables import column_by
from crowdwise.io.export import write_votes

from ..exports import SAMPLES, annotation, choice, label_studio

VOTES = "task,worker,label,who,words\n1,ann,x,human,one\n1,bob,y,model,\n2,ann,x,human,two\n3,eve,y,,\n"
WORKERS = "Worker,group,cost\nann,a,1.5\nbob,b,2\nzoe,a,9\n"
TASKS = "task,text,url\n1,eins,u1\n2,zwei,u2\n3,,u3\n"


@pytest.fixture
def files(tmp_path):
    for name, content in (("v.csv", VOTES), ("w.csv", WORKERS), ("t.csv", TASKS)):
        (tmp_path / name).write_text(content)
    return tmp_path


def both(files, **more):
    return cw.read(files / "v.csv", about_workers=files / "w.csv", about_tasks=files / "t.csv", **more)


def workers(votes, name="group"):
    return dict(zip(votes.workers, column_by(votes.about_workers, name, votes.workers), strict=True))


def test_tables_are_attached(files):
    votes = both(files)
    assert workers(votes) == {"ann": "a", "bob": "b", "eve": None}
    assert workers(votes, "cost")["ann"] == "1.5"
    assert column_by(votes.about_tasks, "text", votes.tasks).to_list() == ["eins", "zwei", None]
    assert votes.about_workers["worker"].to_list() == ["ann", "bob"]  # zoe labelled nothing here
    assert "w.csv covers 2 of the 3 workers" in votes.ledger.notes
    assert not any("t.csv" in note for note in votes.ledger.notes)


def test_frames_and_parquet_do_too(files):
    table = pl.DataFrame({"task": [1, 2, 3], "length": [10, 20, 30]})
    table.write_parquet(files / "t.parquet")
    for given in (table, files / "t.parquet", str(files / "t.parquet")):
        votes = cw.read(files / "v.csv", about_tasks=given)
        assert column_by(votes.about_tasks, "length", votes.tasks).to_list() == [10, 20, 30]


def test_numbers_carry_them_as_well(files):
    (files / "n.csv").write_text("task,worker,value\n1,ann,0.5\n2,bob,1\n")
    votes = cw.read(files / "n.csv", about_workers=files / "w.csv")
    assert workers(votes) == {"ann": "a", "bob": "b"}


def test_columns_of_the_file_itself(files):
    reading = cw.read_all(files / "v.csv", columns={"source": "who", "text": "words"})
    assert reading.workers.sort("worker").rows() == [("ann", "human"), ("bob", "model"), ("eve", None)]
    votes = reading.annotations
    assert column_by(votes.about_tasks, "text", votes.tasks).to_list() == ["one", "two", None]
    more = both(files, columns={"source": "who", "text": "words"})
    assert workers(more, "source")["bob"] == "model"
    assert workers(more)["bob"] == "b"
    assert column_by(more.about_tasks, "text", more.tasks).to_list() == ["eins", "zwei", None]  # the later is believed


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("w.csv", "who,group\nann,a\n", "the column of the workers is not among 'who', 'group'; call it 'worker'"),
        ("w.csv", "coder,rater,g\nann,b,a\n", "could be 'coder', 'rater'; call it 'worker'"),
        ("w.csv", "worker\nann\n", "w.csv has no column besides 'worker'"),
        (
            "w.csv",
            "worker,group\nann,a\nann,b\n",
            "w.csv: 1 workers occur more than once in the table about them: 'ann'",
        ),
        ("w.csv", "worker,group\nzoe,a\n", "w.csv: none of its 1 workers is among the votes; do the ids match?"),
    ],
)
def test_tables_that_cannot_be_meant(files, name, content, says):
    (files / name).write_text(content)
    with pytest.raises(cw.DataError, match=says):
        both(files)


# ---------------------------------------------------------------------------------------------- they travel
def test_take_split_and_shards_keep_them(files):
    votes = both(files)
    parts = [votes.take(np.array([0, 2])), *votes.split(0.5, seed=1), *votes.shards(2)]
    for part in parts:
        assert workers(part) == workers(votes)
        for task, text in zip(part.tasks, column_by(part.about_tasks, "text", part.tasks), strict=True):
            assert text == {"1": "eins", "2": "zwei", "3": None}[task]


def test_select_narrows_them(files):
    part = both(files).select(workers=["bob", "eve"], tasks=["1", "3"])
    assert part.about_workers["worker"].to_list() == ["bob"]
    assert part.about_tasks["task"].to_list() == ["1", "3"]


def test_among_keeps_what_is_known_of_those_who_stay(files):
    votes = both(files)
    part = votes.among(votes.tasks.is_in(["2"]).to_numpy(), votes.workers.is_in(["ann"]).to_numpy())
    assert workers(part) == {"ann": "a"}
    assert column_by(part.about_tasks, "text", part.tasks).to_list() == ["zwei"]


def test_append_joins_them(files):
    votes = both(files)
    new = cw.Annotations.from_arrays(["9", "1"], ["zoe", "eve"], ["x", "y"])
    new = new.about(workers={"worker": ["zoe", "eve"], "group": ["c", "d"], "age": [30, 40]})
    found = votes.append(new)
    assert workers(found) == {"ann": "a", "bob": "b", "eve": "d", "zoe": "c"}
    assert workers(found, "age") == {"ann": None, "bob": None, "eve": 40, "zoe": 30}
    assert column_by(found.about_tasks, "text", found.tasks).to_list() == ["eins", "zwei", None, None]
    assert workers(new.append(votes))["eve"] == "d"


def test_classes_that_are_added_do_not_lose_them(files):
    assert workers(both(files).with_classes(["z"]))["ann"] == "a"


def test_a_run_keeps_them(files, crowdwise_cli):
    line = ("aggregate", files / "v.csv", "-m", "majority_vote", "-o", files / "run")
    code, _, err = crowdwise_cli(*line, "--about-workers", files / "w.csv", "--about-tasks", files / "t.csv")
    assert code == 0, err
    assert "w.csv covers 2 of the 3 workers" in err
    votes = cw.Run.load(files / "run").votes
    assert workers(votes) == {"ann": "a", "bob": "b", "eve": None}
    assert column_by(votes.about_tasks, "url", votes.tasks).to_list() == ["u1", "u2", "u3"]


def test_every_command_that_reads_votes_takes_them():
    from typer.main import get_command

    from crowdwise.cli import app

    for name, command in get_command(app).commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert ("--about-workers" in options) == ("--duplicates" in options) == ("--about-tasks" in options), name


# ---------------------------------------------------------------------------------------------- Label Studio
@pytest.mark.parametrize("name", ["label_studio", "label_studio_csv", "label_studio_min"])
def test_the_data_of_label_studio_on_request(tmp_path, name):
    sample = SAMPLES[name]
    (tmp_path / sample.name).write_bytes(sample.content)
    about = cw.read(tmp_path / sample.name, **sample.options).about_tasks
    assert about is None or "text" in about.columns
    votes = cw.read(tmp_path / sample.name, **sample.options, columns={"text": "text"})
    assert column_by(votes.about_tasks, "text", votes.tasks).to_list() == [f"text of t{i}" for i in range(1, 5)]
    with pytest.raises(cw.DataError, match="no task's data have 'photo' for the url"):
        cw.read(tmp_path / sample.name, **sample.options, columns={"url": "photo"})


def test_the_first_of_two_items_of_one_name_is_believed(tmp_path):
    tasks = json.loads(label_studio((1, [annotation("ann", choice("a"))]), (2, [annotation("bob", choice("b"))])))
    for task in tasks:
        task["data"]["key"] = "k"
    (tmp_path / "e.json").write_text(json.dumps(tasks))
    votes = cw.read(tmp_path / "e.json", columns={"task": "key", "text": "text"})
    assert votes.about_tasks.select("task", "text").rows() == [("k", "text of 1")]


def test_what_is_known_of_a_task_is_its_data_in_label_studio(files):
    reading = cw.read_all(files / "v.csv", about_tasks=files / "t.csv")
    write_votes(reading, files / "out.json", "label_studio")
    tasks = json.loads((files / "out.json").read_text())
    assert [task["data"] for task in tasks] == [
        {"text": "eins", "url": "u1"},
        {"text": "zwei", "url": "u2"},
        {"text": "3", "url": "u3"},  # without a text its name is shown
    ]
