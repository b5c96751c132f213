"""Judges of rankings, spans and pictures: what depends on the task is read from the task, and nothing is guessed."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.client.judging.form import NoVerdict
from crowdwise.client.judging.forms import form_of
from crowdwise.client.judging.live import judge_project
from crowdwise.client.judging.pictures import of_folder, of_project
from crowdwise.client.judging.prompt import Brief
from crowdwise.client.project import Project
from crowdwise.core.errors import ParameterError

from .stub import running, said
from .test_judging import judge_at
from .test_with_server import serve  # noqa: F401

FRUIT = {"items": ["fig", "pear", "plum"]}
TEXT = {"text": "Ann met Anna and Ann in Rome."}
TAGS = form_of("spans", ("PER", "LOC"))


def verdict(value):
    return json.dumps({"verdict": value, "confidence": 0.5})


@given(st.permutations(range(1, 4)))
def test_every_order_comes_back(numbers):
    found, sure = form_of("rankings").of(FRUIT).parse(verdict(list(numbers)))
    assert [FRUIT["items"].index(each) + 1 for each in found] == numbers
    assert sure == 0.5


@pytest.mark.parametrize(
    ("items", "value", "why"),
    [
        (FRUIT["items"], [1, 2], "2 of 3 items"),
        (FRUIT["items"], [1, 2, 2], "twice"),
        (FRUIT["items"], [1, 2, 4], "no item"),
        (FRUIT["items"], [1, 2, True], "no item"),
        (FRUIT["items"], ["fig", "pear", "apple"], "no item"),
        (FRUIT["items"], "fig", "no list"),
        (["2", "1"], ["1", "2"], "number or its name"),
        (["a"], [1], "no list of two"),
        (["a", "a"], [1, 2], "no list of two"),
    ],
)
def test_orders_that_cannot_be_told(items, value, why):
    with pytest.raises(NoVerdict, match=why):
        form_of("rankings").of({"items": items}).parse(verdict(value))


@pytest.mark.parametrize(
    ("marks", "found"),
    [
        ([], []),
        ([{"text": "Rome", "label": "loc"}], [(24, 28, "LOC")]),
        ([{"text": "Ann", "label": "PER", "nth": 2}], [(17, 20, "PER")]),  # Anna is another word
        (
            [{"text": "Anna", "label": "PER"}, {"text": "Ann", "label": "PER", "nth": 1}],
            [(0, 3, "PER"), (8, 12, "PER")],
        ),
        ([{"text": "ome", "label": "LOC"}], [(25, 28, "LOC")]),
    ],
)
def test_marks_are_found_by_their_words(marks, found):
    answer, _ = TAGS.of(TEXT).parse(verdict(marks))
    assert [(each["start"], each["end"], each["label"]) for each in answer] == found


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ([{"text": "Ann", "label": "PER"}], "stands there 2 times, and does not say which"),
        ([{"text": "Ann", "label": "PER", "nth": 3}], "number 3"),
        ([{"text": "Bob", "label": "PER"}], "does not have: 'Bob'"),
        ([{"text": "Rome", "label": "ORG"}], "names no class"),
        ([{"text": "Rome", "label": "LOC"}] * 2, "twice"),
        ([{"label": "LOC"}], "without its words"),
        (["Rome"], "no JSON object"),
        ("Rome", "no list"),
    ],
)
def test_marks_that_cannot_be_told(marks, why):
    with pytest.raises(NoVerdict, match=why):
        TAGS.of(TEXT).parse(verdict(marks))
    with pytest.raises(ParameterError, match="labels of spans"):
        form_of("spans")


def test_a_judge_of_orders_at_the_server(serve, tmp_path):  # noqa: F811
    live = serve(kind="rankings", classes=(), cap=2, n=3)
    plays = [verdict([3, 1, 2]), "plum, then fig", verdict(["fig", "pear", "plum"])]
    with running(lambda _, n: said(plays[n])) as stub, Project(live.url, live.token("gpt", "model")) as project:
        tally = judge_project(project, judge_at(stub, form_of("rankings")))
        assert (tally.verdicts, tally.reasons) == (2, {"no JSON": 1})
        assert "1. fig\n2. pear\n3. plum" in stub.task(0)
    live.admin.export("votes", "csv", tmp_path / "votes.csv")
    assert cw.read(tmp_path / "votes.csv").kind.name == "rankings"
    orders = {
        tuple(row["by_worker"][0]["answer"]) for row in (live.admin.task(f"t{i}") for i in range(3)) if row["by_worker"]
    }
    assert orders == {("plum", "fig", "pear"), ("fig", "pear", "plum")}


def test_a_judge_of_spans_at_the_server(serve):  # noqa: F811
    live = serve(kind="spans", classes=("PER", "LOC"), cap=2, n=2)
    plays = [verdict([{"text": "text", "label": "LOC"}]), verdict([{"text": "no such words", "label": "PER"}])]
    with running(lambda _, n: said(plays[n])) as stub, Project(live.url, live.token("gpt", "model")) as project:
        tally = judge_project(project, judge_at(stub, TAGS))
    assert (tally.verdicts, tally.nulls) == (1, 1)
    answers = [each["answer"] for i in range(2) for each in live.admin.task(f"t{i}")["by_worker"]]
    assert answers == [[{"start": 5, "end": 9, "label": "LOC"}]]


def test_pictures_are_sent_along(tmp_path):
    (tmp_path / "a.png").write_bytes(b"one")
    (tmp_path / "b.png").write_bytes(b"two")
    pair = {"left_image": "a.png", "right_image": "b.png", "left_id": "model-a", "right_id": "model-b"}
    brief = Brief("Which is nicer?", form_of("comparisons"))
    with running(lambda _, n: said("left" if n == 0 else "right")) as stub:
        judge = judge_at(stub, brief=brief, swap=True, look=of_folder(tmp_path))
        assert judge.join(judge.verdicts(pair)).answer == "left"
        (lost,) = judge_at(stub, brief=brief, look=of_folder(tmp_path)).verdicts({**pair, "left_image": "../c.png"})
        assert "no file beside" in lost.why
        assert len(stub.seen) == 2  # nobody was asked about a picture that is not there
    for request, order in zip(stub.seen, ((b"one", b"two"), (b"two", b"one")), strict=True):
        content = request["messages"][-1]["content"]
        assert "model-a" not in json.dumps(request)
        assert [each["text"] for each in content[1::2]] == ["[left_image]", "[right_image]"]
        shown = [each["image_url"]["url"] for each in content[2::2]]
        assert shown == [f"data:image/png;base64,{base64.b64encode(each).decode()}" for each in order]


def test_pictures_that_the_server_keeps(serve):  # noqa: F811
    live = serve(kind="comparisons", classes=(), cap=2, n=0)
    (live.opened.folder.path / "media" / "a b.png").write_bytes(b"one")
    rows = [{"id": "x", "payload": {"left_image": "/media/a b.png", "right_image": "https://example.org/b.png"}}]
    live.admin.add_tasks(rows)
    with running(lambda _, __: said("tie")) as stub, Project(live.url, live.token("gpt", "model")) as project:
        judge = judge_at(stub, form_of("comparisons"), look=of_project(project))
        assert judge_project(project, judge).verdicts == 1
    shown = [each["image_url"]["url"] for each in stub.seen[0]["messages"][-1]["content"][2::2]]
    assert shown == [f"data:image/png;base64,{base64.b64encode(b'one').decode()}", "https://example.org/b.png"]
    assert "a b.png,https://example.org/b.png,tie" in live.admin.export("votes").decode()


@pytest.mark.parametrize("items", [None, "abc", 5, ["a"], ["a", "a"], [1, 2]])
def test_a_task_without_a_list_of_items_has_nothing_to_rank(items):
    with pytest.raises(NoVerdict, match="two or more different items"):
        form_of("rankings").of({"items": items})
