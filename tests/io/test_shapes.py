"""Boxes and outlines in exports: read as they come, written and read back the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.io.export import write_result, write_votes
from crowdwise.io.reading import Reading

from ..exports import packed

COCO = {
    "images": [{"id": 7, "file_name": "a.jpg", "width": 100, "height": 50}, {"id": 8, "file_name": "b.jpg"}],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "annotator": "ann"},
        {"id": 2, "image_id": 7, "category_id": 2, "bbox": [5, 5, 5, 5], "annotator": "ann"},
        {"id": 3, "image_id": 8, "category_id": 1, "bbox": [0, 0, 9, 9], "attributes": {"annotator": "bob"}},
    ],
}


def saved(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def rows(votes):
    return sorted(votes.to_frame().select("task", "worker", "boxes").iter_rows())


def test_coco(tmp_path):
    reading = cw.read_all(saved(tmp_path, COCO, "e.json"))
    assert reading.format == "coco"
    assert rows(reading.annotations) == [
        ("a.jpg", "ann", '[[1, 2, 4, 6, "cat"], [5, 5, 10, 10, "dog"]]'),
        ("b.jpg", "bob", '[[0, 0, 9, 9, "cat"]]'),
    ]
    assert reading.annotations.about_tasks.row(0) == ("a.jpg", 100, 50, None)


def test_coco_with_a_file_per_worker_knows_who_saw_nothing(tmp_path):
    mine = COCO | {"annotations": []}
    for each in COCO["annotations"]:
        each.setdefault("annotator", "x")
    path = saved(
        tmp_path, packed({"ann.json": json.dumps(COCO).encode(), "bob.json": json.dumps(mine).encode()}), "e.zip"
    )
    reading = cw.read_all(path)
    votes = reading.annotations
    assert reading.format == "coco"
    assert [row for row in rows(votes) if row[1] == "bob"] == [("a.jpg", "bob", "[]"), ("b.jpg", "bob", "[]")]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"annotations": [{"image_id": 7, "bbox": [1, 2, 3, 4]}]}, "does not state its annotator"),
        ({"annotations": [{"image_id": 99, "bbox": [1, 2, 3, 4], "annotator": "a"}]}, "is not among the images"),
        ({"annotations": [{"image_id": 7, "bbox": [1, 2, 3], "annotator": "a"}]}, "where numbers are needed"),
        ({"annotations": [{"image_id": 7, "bbox": [1, 2, "x", 4], "annotator": "a"}]}, "where numbers are needed"),
        ({"images": "no"}, "is not a list of objects"),
    ],
)
def test_broken_coco_says_what_is_wrong(tmp_path, change, says):
    with pytest.raises(cw.DataError, match=says):
        cw.read(saved(tmp_path, COCO | change, "e.json"), format="coco")


CVAT = """<?xml version="1.0"?><annotations><version>1.1</version>
<meta><job><assignee><username>ann</username></assignee></job></meta>
<image id="0" name="a.jpg" width="100" height="50"><box label="cat" xtl="1.5" ytl="2" xbr="4" ybr="6"></box></image>
<image id="1" name="b.jpg"></image></annotations>"""


def test_cvat_boxes(tmp_path):
    reading = cw.read_all(saved(tmp_path, CVAT.encode(), "ann.xml"))
    assert rows(reading.annotations) == [("a.jpg", "ann", '[[1.5, 2, 4, 6, "cat"]]'), ("b.jpg", "ann", "[]")]


def studio(*results):
    done = [{"id": i, "completed_by": who, "result": list(each)} for i, (who, each) in enumerate(results)]
    return [{"id": 1, "data": {"image": "x"}, "annotations": done}]


def rectangle(**value):
    return {"from_name": "b", "to_name": "image", "type": "rectanglelabels", "original_width": 200,
            "original_height": 100, "value": value}  # fmt: skip


def test_label_studio_rectangles_in_pixels(tmp_path):
    box = rectangle(x=10, y=10, width=20, height=50, rotation=0, rectanglelabels=["cat"])
    turned = rectangle(x=50, y=0, width=10, height=10, rotation=90, rectanglelabels=["dog"])
    votes = cw.read(saved(tmp_path, studio((1, [box, turned]), (2, [])), "e.json"))
    assert rows(votes) == [("1", "1", '[[20, 10, 60, 60, "cat"], [90, 0, 100, 20, "dog"]]'), ("1", "2", "[]")]


@pytest.mark.parametrize("format", ["coco", "cvat", "label_studio", "csv", "jsonl", "parquet"])
def test_what_is_written_is_read_again(tmp_path, format):
    rng = np.random.default_rng(3)
    tasks = [f"p{i}.jpg" for i in range(6) for _ in "abc"]
    boxes = []
    for _ in tasks:
        low = np.round(rng.uniform(0, 50, (rng.integers(0, 4), 2)), 1)
        boxes.append(
            [[*map(float, a), *map(float, np.round(a + 7.3, 1)), str(rng.choice(["cat", "dog"]))] for a in low]
        )
    votes = cw.boxes.box_votes(tasks, ["ann", "bob", "eve"] * 6, boxes)
    end = {"coco": "json", "cvat": "zip", "label_studio": "json"}.get(format, format)
    path = tmp_path / f"v.{end}"
    write_votes(Reading(votes, "", ""), path, format)
    back = cw.read(path)
    for task in range(6):
        for row in range(3):
            mine, theirs = (v.answers.take(np.array([3 * task + row])) for v in (votes, back))
            assert theirs.size.tolist() == mine.size.tolist()
            assert np.allclose(np.sort(theirs.corner, axis=0), np.sort(mine.corner, axis=0), atol=1e-6)


def test_results_go_out(tmp_path):
    votes = cw.boxes.box_votes(["a", "a"], ["x", "y"], [[[0, 0, 4, 4, "cat"]], [[0, 0, 4, 4, "cat"]]])
    result = cw.boxes.BoxClusters().fit(votes)
    write_result(result, tmp_path / "r.json", "coco")
    assert rows(cw.read(tmp_path / "r.json")) == [("a", "crowdwise:box_clusters", '[[0, 0, 4, 4, "cat"]]')]
    write_result(result, tmp_path / "l.json", "label_studio")
    assert json.loads((tmp_path / "l.json").read_text())[0]["predictions"][0]["result"][0]["type"] == "rectanglelabels"
    with pytest.raises(cw.ParameterError, match="cannot hold boxes"):
        write_result(result, tmp_path / "x.npz")


def test_merged_coco_keeps_the_size_and_carries_a_score(tmp_path):
    votes = cw.read(saved(tmp_path, COCO, "e.json"))
    result = cw.boxes.BoxClusters().fit(votes)
    write_result(result, tmp_path / "merged.json", "coco", about=votes.about_tasks)
    merged = json.loads((tmp_path / "merged.json").read_text())
    assert {key: merged["images"][0][key] for key in ("file_name", "width", "height")} == {
        "file_name": "a.jpg", "width": 100, "height": 50,
    }  # fmt: skip
    assert [(each["bbox"], each["area"], each["score"]) for each in merged["annotations"]] == [
        ([1, 2, 3, 4], 12, 1.0),
        ([5, 5, 5, 5], 25, 1.0),
        ([0, 0, 9, 9], 81, 1.0),
    ]


@pytest.mark.parametrize("ending", [".xml", ".zip"])
def test_a_result_goes_to_cvat_and_is_read_again(tmp_path, ending):
    votes = cw.read(saved(tmp_path, COCO, "e.json"))
    result = cw.boxes.BoxClusters().fit(votes)
    notes = write_result(result, tmp_path / f"out{ending}", "cvat", about=votes.about_tasks)
    assert any("sizes of some images are not known" in note for note in notes)
    back = cw.read_all(tmp_path / f"out{ending}")
    assert back.format == "cvat"
    assert back.annotations.to_frame().sort("task")["boxes"].to_list() == result.to_table()["boxes"].to_list()
