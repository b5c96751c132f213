"""Every export as it comes: the same answers out of all of them, every row accounted for, every decision said."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import pytest

import crowdwise as cw
from crowdwise.io import formats

from ..exports import (
    ANSWERS,
    CVAT_FILES,
    DOCCANO_FILES,
    MTURK,
    MTURK_ITEMS,
    POTATO_FILES,
    PRODIGY,
    PRODIGY_BINARY,
    SAMPLES,
    TOLOKA,
    annotation,
    by_task,
    choice,
    cvat,
    flat,
    jsonl,
    label_studio,
    packed,
    potato,
    result,
)

every = pytest.mark.parametrize("sample", SAMPLES.values(), ids=list(SAMPLES))


def rows(annotations):
    return sorted(annotations.to_frame().select("task", "worker", "label").iter_rows())


def read(tmp_path, content, name="e.json", **options):
    path = tmp_path / name
    path.write_bytes(content)
    return cw.read_all(path, **options)


def test_every_format_has_a_sample():
    of_spans = {"conll", "tokens", "coco"}  # see test_span_formats.py, test_shapes.py
    assert {sample.format for sample in SAMPLES.values()} == set(formats.FORMATS) - of_spans


@every
def test_the_answers_of_an_export(tmp_path, sample):
    reading = read(tmp_path, sample.content, sample.name, **sample.options)
    assert reading.format == sample.format
    assert reading.why
    assert rows(reading.annotations) == sorted(sample.rows)
    ledger = reading.annotations.ledger
    assert dict(ledger.dropped) == sample.dropped
    assert ledger.rows_in == len(sample.rows) + sum(sample.dropped.values())


@every
def test_naming_the_format_changes_nothing(tmp_path, sample):
    found = read(tmp_path, sample.content, sample.name, **sample.options)
    named = read(tmp_path, sample.content, "any", format=sample.format, **sample.options)
    if sample.name in ("ann.xml",):  # the worker's name is the file's
        assert set(named.annotations.workers) == {"any"}
    else:
        assert rows(named.annotations) == rows(found.annotations)
    assert named.annotations.ledger.dropped == found.annotations.ledger.dropped


TEXT = {name: s for name, s in SAMPLES.items() if s.name.endswith(("json", "jsonl", "csv", "tsv"))}


@pytest.mark.slow
@pytest.mark.parametrize("sample", TEXT.values(), ids=list(TEXT))
def test_packed_marked_and_other_line_ends(tmp_path, sample):
    want = sorted(sample.rows)
    for content, name in [
        (gzip.compress(sample.content), sample.name + ".gz"),
        (b"\xef\xbb\xbf" + sample.content, sample.name),
        (sample.content.decode().encode("utf-16"), sample.name),
        (sample.content.replace(b"\n", b"\r\n"), sample.name),
    ]:
        assert rows(read(tmp_path, content, name, **sample.options).annotations) == want


# ---------------------------------------------------------------------------------------------- Label Studio
def test_label_studio_gold_time_and_duration(tmp_path):
    reading = read(tmp_path, SAMPLES["label_studio"].content)
    assert reading.question == "sent"
    assert reading.gold.rows() == [("t3", "pos")]
    assert set(reading.workers.iter_rows()) == {("ann", "human"), ("bob", "human")}
    assert set(reading.annotations.duration) == {2.5}
    assert set(reading.annotations.time) == {1767261600.0}  # date -u -d 2026-01-01T10:00:00Z +%s
    assert reading.annotations.tasks.to_list() == ["t1", "t2", "t3", "t4"]


def test_one_person_is_one_worker_whether_told_by_number_or_by_email(tmp_path):
    who = {"id": 7, "email": "b@x.org", "first_name": "", "last_name": ""}
    content = label_studio((1, [annotation(7, choice("a"))]), (2, [annotation(who, choice("a"))]))
    assert rows(read(tmp_path, content).annotations) == [("1", "b@x.org", "a"), ("2", "b@x.org", "a")]


def test_several_controls_are_several_questions(tmp_path):
    taxonomy = result("tax", "taxonomy", {"taxonomy": [["Animal"], ["Animal", "Cat"]]})
    rating, number = result("stars", "rating", {"rating": 4}), result("n", "number", {"number": 2.5})
    text = result("why", "textarea", {"text": ["because"]})
    content = label_studio((1, [annotation(7, choice("a"), taxonomy, rating, number, text)]))
    with pytest.raises(cw.DataError, match=r"4 questions, 'n', 'sent', 'stars', 'tax'; choose one: --question NAME"):
        read(tmp_path, content)
    questions = ("sent", "tax", "stars", "n")
    said = {q: rows(read(tmp_path, content, question=q, kind="classes").annotations)[0][2] for q in questions}
    assert said == {"sent": "a", "tax": "Animal / Cat", "stars": "4", "n": "2.5"}
    with pytest.raises(cw.DataError, match="no question 'mood'; it has 'n', 'sent'"):
        read(tmp_path, content, question="mood")
    remark = read(tmp_path, content, question="why").annotations
    assert remark.kind.name == "texts"
    assert remark.to_frame()["output"].to_list() == ["because"]


def test_pairs_are_comparisons(tmp_path):
    content = label_studio((1, [annotation(7, result("best", "pairwise", {"selected": "left"}))]))
    assert read(tmp_path, content).annotations.kind.name == "comparisons"


def test_several_choices_follow_a_policy(tmp_path):
    content = label_studio((1, [annotation(7, choice("b", "a")), annotation(8, choice("a"))]))
    sets = read(tmp_path, content).annotations
    assert sets.to_frame()["labels"].to_list() == ['["a", "b"]', '["a"]']
    assert any("read as label sets" in note for note in sets.ledger.notes)
    with pytest.raises(cw.DataError, match=r"1 answers hold several labels at once .*'b', 'a'.*--multiple join"):
        read(tmp_path, content, multiple="error")
    assert rows(read(tmp_path, content, multiple="join").annotations) == [("1", "7", "a|b"), ("1", "8", "a")]
    dropped = read(tmp_path, content, multiple="drop").annotations
    assert rows(dropped) == [("1", "8", "a")]
    assert dict(dropped.ledger.dropped) == {"several labels at once": 1}
    with pytest.raises(cw.ParameterError, match="multiple must be error, join, drop or set"):
        read(tmp_path, content, multiple="some")


def test_predictions_are_workers_on_request(tmp_path):
    prediction = {"model_version": "v1", "score": 0.8, "result": [choice("b")]}
    tasks = json.loads(label_studio((1, [annotation(7, choice("a"))])))
    tasks[0]["predictions"] = [prediction]
    content = json.dumps(tasks).encode()
    without, with_them = read(tmp_path, content), read(tmp_path, content, predictions=True)
    assert rows(without.annotations) == [("1", "7", "a")]
    assert "1 predictions" in without.annotations.ledger.notes[0]
    assert rows(with_them.annotations) == [("1", "7", "a"), ("1", "model:v1", "b")]
    assert dict(with_them.workers.iter_rows())["model:v1"] == "model"
    assert with_them.annotations.confidence[1] == 0.8


def test_choices_of_regions_are_no_labels_of_the_task(tmp_path):
    region = result("sent", "choices", {"choices": ["pos"], "start": 0, "end": 3})
    content = label_studio((1, [annotation(7, region)]), (2, [annotation(7, choice("a"))]))
    reading = read(tmp_path, content)
    assert rows(reading.annotations) == [("2", "7", "a")]
    assert dict(reading.annotations.ledger.dropped) == {"no answer to the question": 1}
    assert any("regions" in note for note in reading.annotations.ledger.notes)


def test_old_exports_and_tasks_by_their_data(tmp_path):
    tasks = json.loads(label_studio((1, [annotation(7, choice("a")), annotation(8, skipped=True)])))
    tasks[0]["completions"] = tasks[0].pop("annotations")
    reading = read(tmp_path, json.dumps(tasks).encode(), columns={"task": "text"})
    assert rows(reading.annotations) == [("text of 1", "7", "a")]
    assert dict(reading.annotations.ledger.dropped) == {"skipped by the worker": 1}
    with pytest.raises(cw.DataError, match="has no 'image'; it has 'text'"):
        read(tmp_path, json.dumps(tasks).encode(), columns={"task": "image"})


def test_the_question_of_a_flat_export_is_what_differs_within_tasks(tmp_path):
    content = json.dumps([flat("t1", "ann", "pos"), flat("t1", "bob", "neg"), flat("t2", "ann", "pos")]).encode()
    reading = read(tmp_path, content)
    assert reading.question == "sent"
    agree = json.dumps([flat("t1", "ann", "pos"), flat("t2", "ann", "pos")]).encode()
    with pytest.raises(
        cw.DataError,
        match=r"the data do not determine which column is the question \('text', 'sent'\); use --question NAME",
    ):
        read(tmp_path, agree)
    both = json.dumps([flat("t1", "ann", "pos", stars=[{"rating": 3}]), flat("t1", "bob", "neg")]).encode()
    with pytest.raises(cw.DataError, match="2 questions, 'sent', 'stars'"):
        read(tmp_path, both)
    assert rows(read(tmp_path, both, question="stars", kind="classes").annotations) == [("t1", "ann", "3")]


# ---------------------------------------------------------------------------------------------- the others
def test_argilla_suggestions(tmp_path):
    reading = read(tmp_path, SAMPLES["argilla nested"].content, predictions=True)
    assert [row for row in rows(reading.annotations) if row[1] == "model:gpt"] == [
        (task, "model:gpt", "pos") for task, _ in by_task()
    ]


def test_argilla_rankings_of_one_item_tell_nothing(tmp_path):
    record = {"id": 1, "q.responses": [[{"value": "a", "rank": 1}]], "q.responses.users": ["u"]}
    with pytest.raises(cw.DataError, match="a ranking of one item"):
        read(tmp_path, jsonl([record]), "e.jsonl")


def test_rejected_assignments_are_kept_and_flagged_or_dropped(tmp_path):
    for content, name, n in ((MTURK, "e.csv", 1), (TOLOKA, "e.tsv", 2)):
        kept, left = read(tmp_path, content, name), read(tmp_path, content, name, rejected="drop")
        assert any("rejected by the requester and are kept" in note for note in kept.annotations.ledger.notes)
        assert left.annotations.ledger.dropped["rejected by the requester"] == n
        assert len(left.annotations) == len(kept.annotations) - n


def test_mturk_times_and_tasks(tmp_path):
    votes = read(tmp_path, MTURK, "e.csv", columns={"task": "Input.id"}).annotations
    assert set(votes.tasks) == {"a", "b", "c"}
    assert votes.time.min() == 1794852000.0  # date -u -d '2026-11-16 10:00:00 -0800' +%s
    assert votes.duration.tolist() == [31, 4, 22, 22]
    again = MTURK.replace(b'"t3","4","bob"', b'"t9","4","bob"')
    assert any("--columns task=Input.id joins them" in note
               for note in read(tmp_path, again, "e.csv").annotations.ledger.notes)  # fmt: skip


def test_mturk_items_without_a_column_for_the_task(tmp_path):
    reading = read(tmp_path, MTURK_ITEMS, "e.csv", question="Mood{i}")
    assert rows(reading.annotations)[0] == ("h1/1", "ann", "pos")
    with pytest.raises(cw.DataError, match="3 questions, 'Mood1', 'Mood2', 'comment'"):
        read(tmp_path, MTURK_ITEMS, "e.csv")
    with pytest.raises(cw.DataError, match="no answers like 'Colour"):
        read(tmp_path, MTURK_ITEMS, "e.csv", question="Colour{i}")


def test_toloka_gold_and_shares_of_a_page(tmp_path):
    reading = read(tmp_path, TOLOKA, "e.tsv")
    assert reading.gold.rows() == [("t2", "neg")]
    by_worker = dict(zip(reading.annotations.worker.tolist(), reading.annotations.duration.tolist(), strict=True))
    assert by_worker[0] == 5.0  # ten seconds for a page of two tasks


def test_prodigy_with_both_kinds_asks(tmp_path):
    content = jsonl(PRODIGY + PRODIGY_BINARY)
    with pytest.raises(cw.DataError, match="2 questions, 'binary', 'choice'"):
        read(tmp_path, content, "e.jsonl")
    assert len(read(tmp_path, content, "e.jsonl", question="binary").annotations) == 2


def test_doccano_shared_annotations_are_refused(tmp_path):
    with pytest.raises(cw.DataError, match=r"all.jsonl holds everybody's labels"):
        read(tmp_path, packed({"all.jsonl": DOCCANO_FILES["ann.jsonl"]}), "e.zip")


@pytest.mark.parametrize(
    ("files", "format"), [(DOCCANO_FILES, "doccano"), (CVAT_FILES, "cvat"), (POTATO_FILES, "potato")]
)
def test_a_folder_is_as_good_as_an_archive(tmp_path, files, format):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    reading = cw.read_all(tmp_path)
    assert reading.format == format
    assert rows(reading.annotations) == sorted(ANSWERS)


def test_cvat_shapes_and_several_tags(tmp_path):
    shape = '<image id="7" name="t7"><box label="pos"/><tag label="a"/><tag label="b"/></image>'
    content = cvat([("t1", "pos")], "ann", shape)
    reading = read(tmp_path, content, "x.xml", multiple="join")
    assert rows(reading.annotations) == [("t1", "ann", "pos"), ("t7", "ann", "a|b")]
    assert dict(reading.annotations.ledger.dropped) == {"shape, not a tag of the whole image": 1}


def test_potato_likert_values_and_several_schemes(tmp_path):
    said = {"t1": {"likert": {"scale_3": "3"}, "topic": {"news": "true", "sport": "false"}}}
    content = json.dumps({"user_id": "ann", "instance_id_to_label_to_value": said}).encode()
    with pytest.raises(cw.DataError, match="2 questions, 'likert', 'topic'"):
        read(tmp_path, content)
    assert rows(read(tmp_path, content, question="likert").annotations) == [("t1", "ann", "3")]
    assert rows(read(tmp_path, content, question="topic").annotations) == [("t1", "ann", "news")]
    assert rows(read(tmp_path, potato("eve", [("t1", "pos")])).annotations) == [("t1", "eve", "pos")]


def test_snow_gold(tmp_path):
    assert read(tmp_path, SAMPLES["snow"].content, "e.tsv").gold.rows() == [("t1", "pos"), ("t2", "pos"), ("t3", "pos")]
    assert cw.read_truth(tmp_path / "e.tsv").rows() == [("t1", "pos"), ("t2", "pos"), ("t3", "pos")]


def test_judges_are_models_and_what_they_judge_is_part_of_the_task(tmp_path):
    reading = read(tmp_path, SAMPLES["llm_judge"].content, "e.jsonl")
    assert set(reading.workers["source"]) == {"model"}
    assert set(reading.annotations.confidence) == {0.7}
    record = {"question_id": 81, "model": "m1", "judge": ["gpt", "v1"], "judgment": "good", "tstamp": 1.5}
    assert rows(read(tmp_path, jsonl([record]), "e.jsonl").annotations) == [("81 / m1", "gpt/v1", "good")]


# ---------------------------------------------------------------------------------------------- which format
def test_two_likely_readings_are_an_error_that_names_both(tmp_path):
    record = {**flat("t1", "ann", "pos"), "annotations": ["a"], "annotators": ["b"], "label.responses": []}
    with pytest.raises(cw.DataError, match=r"as label_studio_min .* and as argilla .*--format label_studio_min or"):
        read(tmp_path, jsonl([record]), "e.jsonl")
    record = {**flat("t1", "ann", "pos"), "task": 1, "worker": 2, "label": 3}
    with pytest.raises(cw.DataError, match=r"as label_studio_min .* and as a plain table .*--format jsonl"):
        read(tmp_path, jsonl([record]), "e.jsonl")


def test_an_unknown_export_is_described(tmp_path):
    with pytest.raises(cw.DataError, match=r"no known export format is recognised.*keys a, b.*label_studio"):
        read(tmp_path, b'[{"a": 1, "b": 2}]')
    with pytest.raises(cw.DataError, match=r"an archive with x.txt"):
        read(tmp_path, packed({"x.txt": b"hello"}), "e.zip")


def test_optional_columns_of_plain_tables(tmp_path):
    content = b"task,worker,label,duration,gold,team\nt1,ann,a,3,a,x\nt1,bob,b,,a,y\nt2,ann,a,1.5,,x\n"
    plain = read(tmp_path, content, "v.csv")
    assert plain.format == "csv"
    assert plain.gold is None
    assert "--columns gold=gold" in " ".join(plain.annotations.ledger.notes)
    assert plain.annotations.duration[[0, 2]].tolist() == [3.0, 1.5]
    asked = read(tmp_path, content, "v.csv", columns={"gold": "gold", "group": "team"})
    assert asked.gold.rows() == [("t1", "a")]
    assert asked.workers.rows() == [("ann", "x"), ("bob", "y")]
    with pytest.raises(cw.DataError, match="two different gold labels"):
        read(tmp_path, content.replace(b"b,,a", b"b,,b"), "v.csv", columns={"gold": "gold"})


@pytest.mark.slow
def test_a_large_export_needs_less_memory_than_its_size(tmp_path):
    task = {
        "id": 0,
        "data": {"text": "x" * 3000},
        "annotations": [annotation(7, choice("a")), annotation(8, choice("b"))],
    }
    with (tmp_path / "e.json").open("w") as file:
        for i in range(5000):
            file.write(("," if i else "[") + json.dumps(task | {"id": i}))
        file.write("]")
    tracemalloc.start()
    votes = cw.read(tmp_path / "e.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(votes) == 10_000
    assert peak < 0.6 * (tmp_path / "e.json").stat().st_size
