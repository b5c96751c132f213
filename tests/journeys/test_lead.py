"""A labelling lead: one Label Studio export with three questions, four commands, predictions for the project."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw

from .label_studio_project import GUESSER, N_TASKS, N_UNLABELLED, SECONDS, project


@pytest.fixture(scope="module")
def journey(commands, tmp_path_factory):
    """The project, its folder, and the output of the four commands."""
    folder = tmp_path_factory.mktemp("lead")
    made = project()
    export, runs, report, back = (folder / name for name in ("export.json", "runs", "report.html", "back.json"))
    made.write(export)
    outputs = []
    for line in (
        ("inspect", export),
        ("aggregate", export, "--question", "all", "-o", runs),
        ("report", runs, "-o", report),
        ("convert", runs, back, "--to", "label_studio", "--original", export),
    ):
        code, out, err = commands(*line)
        assert code == 0, (line, err)
        outputs.append(out + err)
    return made, folder, outputs


def run_of(journey, question):
    return cw.Run.load(journey[1] / "runs" / question)


def test_inspect_lists_all_questions(journey):
    rows = {line.split()[0]: line.split() for line in journey[2][0].splitlines() if line.strip()}
    kinds = {"complaint": "classes", "severity": "numbers", "topics": "sets"}
    n_answers = sum(len(task["annotations"]) for task in journey[0].tasks) - journey[0].skipped - journey[0].gold
    for question, kind in kinds.items():
        assert rows[question][1:3] == [kind, f"{n_answers:,}"]
        assert 0.4 < float(rows[question][-1]) < 0.8
    assert f"{journey[0].skipped} skipped by the worker" in journey[2][0]


def test_every_run_remembers_its_question(journey):
    for question in ("complaint", "severity", "topics"):
        run = run_of(journey, question)
        assert run.ledger.question == question
        assert len(run.gold) == journey[0].gold


def test_labels_are_right(journey):
    labelled = list(journey[0].complaint)[: N_TASKS - N_UNLABELLED]
    complaint = dict(run_of(journey, "complaint").result.to_table().select("task", "label").iter_rows())
    right = sum(complaint[task] == journey[0].complaint[task] for task in labelled) / len(labelled)
    severity = dict(run_of(journey, "severity").result.to_table().select("task", "value").iter_rows())
    off = sum(abs(severity[task] - journey[0].severity[task]) for task in labelled) / len(labelled)
    assert right > 0.97
    assert off < 0.3


def test_unticked_answers_are_empty_sets(journey):
    run = run_of(journey, "topics")
    assert sum(run.votes.answers.sizes == 0) == journey[0].unticked
    table = dict(run.result.to_table().select("task", "labels").iter_rows())
    labelled = list(journey[0].topics)[: N_TASKS - N_UNLABELLED]
    without_topic = [task for task in labelled if not journey[0].topics[task]]
    empty = [task for task in without_topic if table[task] == "[]"]
    assert len(without_topic) > 60
    assert len(empty) / len(without_topic) > 0.95
    equal = [task for task in labelled if frozenset(json.loads(table[task])) == journey[0].topics[task]]
    assert len(equal) / len(labelled) > 0.95


def test_the_guesser_is_named_and_nobody_else(journey):
    for question in ("complaint", "topics"):
        run = run_of(journey, question)
        study = run.votes.kind.hooks.study(run.votes, run.result)
        assert {flag.worker for flag in study.flags if flag.name != "unknown"} == {GUESSER}
    page = (journey[1] / "report-complaint.html").read_text(encoding="utf-8")
    assert "1 flagged worker" in " ".join(page.replace("<b>", "").replace("</b>", "").split()) or "guesses" in page


def test_working_time_is_lead_time(journey):
    run = run_of(journey, "complaint")
    quality = cw.workers.quality(run.votes, run.result)
    for worker, seconds in quality.select("worker", "seconds_median").iter_rows():
        assert seconds == pytest.approx(SECONDS[worker], rel=0.1)


def test_the_report_of_a_run_measures_what_the_report_of_the_file_measures(journey, commands):
    _, folder, _ = journey
    page = folder / "of-file.html"
    code, _, err = commands(
        "report", folder / "export.json", "--question", "complaint", "-o", page, "--title", "complaint"
    )
    assert code == 0, err
    of_run = (folder / "report-complaint.html").read_text(encoding="utf-8")
    of_file = page.read_text(encoding="utf-8")
    cut = "Labels against the truth of"
    assert cut in of_run
    assert of_run.split(cut)[1][:3000] == of_file.split(cut)[1][:3000]


def test_doubtful_tasks_show_what_they_are_about(journey, commands):
    for question in ("complaint", "severity", "topics"):
        page = (journey[1] / f"report-{question}.html").read_text(encoding="utf-8")
        assert "the parcel “Nr." in page
    code, out, err = commands("next", journey[1] / "runs" / "complaint")
    assert code == 0, err
    assert "Message " in out
    assert "the parcel" in out


def test_predictions_fit_the_project(journey):
    made, folder, _ = journey
    tasks = json.loads((folder / "back.json").read_text(encoding="utf-8"))
    original = {task["id"]: task for task in made.tasks}
    assert len(tasks) == N_TASKS - N_UNLABELLED
    right = []
    for task in tasks:
        assert task["data"] == original[task["id"]]["data"]
        (prediction,) = task["predictions"]
        values = {one["from_name"]: one for one in prediction["result"]}
        assert {one["to_name"] for one in prediction["result"]} == {"body"}
        assert prediction["score"] == min(prediction["score"], *(one["score"] for one in prediction["result"]))
        name = str(task["id"])
        topics = frozenset(values["topics"]["value"]["choices"]) if "topics" in values else frozenset()
        right.append(topics == made.topics[name])
        assert values["severity"]["type"] == "rating"
        assert values["severity"]["value"]["rating"] in range(1, 6)
        assert values["complaint"]["value"]["choices"][0] in ("yes", "no")
    assert sum(right) / len(right) > 0.95


def test_doubtful_labels_can_be_left_out(journey, commands):
    made, folder, _ = journey
    line = ("convert", folder / "runs" / "complaint", folder / "sure.json", "--to", "label_studio")
    code, _, err = commands(*line, "--original", folder / "export.json", "--at-least", "0.9")
    assert code == 0, err
    tasks = json.loads((folder / "sure.json").read_text(encoding="utf-8"))
    table = run_of(journey, "complaint").result.to_table()
    expected = table.filter((pl.col("confidence") >= 0.9) & (pl.col("n_labels") > 0))["task"].to_list()
    assert [str(task["id"]) for task in tasks] == expected
    assert 0 < len(expected) < len(made.tasks) - N_UNLABELLED
