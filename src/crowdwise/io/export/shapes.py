"""Boxes and outlines as COCO, CVAT and Label Studio have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from ...core.result import Result
from .archives import write_files
from .rows import OBJECT, Row, answer_of, as_id, by_item, by_task, known_of, moment, write_json_array

if TYPE_CHECKING:
    from ..reading import Reading

# A shape as COCO has it, without its numbers: (box or None, outline or None, class).
Shape = tuple[list[float] | None, list[list[float]] | None, str]
UNSIZED = (
    "the pictures' sizes are not known, so coordinates are written as percents as they are; --about-tasks FILE with "
    "the columns task, width, height brings them"
)


def shapes_in(text: str, kind: str) -> list[Shape]:
    """The boxes or outlines of a cell."""
    given = json.loads(text)
    if kind == "outlines":
        return [(None, points, "") for points in given]
    return [(box[:4], None, box[4] if len(box) > 4 else "") for box in given]


def write_coco(reading: Reading, path: Path) -> tuple[str, ...]:
    """One file: annotations with an `annotator`, images with the list of their `annotators`."""
    votes = reading.annotations
    kind, known = answer_of(votes), known_of(votes)
    pages: list[tuple[str, list[tuple[str, str]]]] = [
        (task, [(row["worker"], row["label"]) for row in found]) for task, found in by_task(votes)
    ]
    _write(path, _coco(pages, kind, known))
    return (
        ("times, durations and gold have no place in this format",) if votes.numbers or reading.gold is not None else ()
    )


def write_coco_result(result: Result, path: Path) -> tuple[str, ...]:
    """One file with what is kept on each picture, drawn by the method."""
    table, kind = result.to_table(), next(iter(result.kind.columns))
    name = f"crowdwise:{result.method}"
    pages = [(str(task), [(name, text)]) for task, text in table.select("task", kind).iter_rows()]
    _write(path, _coco(pages, kind, {}))
    return ()


def _coco(
    pages: list[tuple[str, list[tuple[str, str]]]], kind: str, known: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    tags: dict[str, int] = {}
    for i, (task, looks) in enumerate(pages):
        size = {key: value for key, value in known.get(task, {}).items() if key in ("width", "height", "url")}
        images.append({"id": i + 1, "file_name": task, **size, "annotators": [worker for worker, _ in looks]})
        for worker, text in looks:
            for box, outline, tag in shapes_in(text, kind):
                own = {
                    "id": len(annotations) + 1,
                    "image_id": i + 1,
                    "category_id": tags.setdefault(tag, len(tags) + 1),
                }
                annotations.append({**own, **_place(box, outline), "iscrowd": 0, "annotator": worker})
    named = [{"id": code, "name": tag} for tag, code in tags.items()]
    return {"images": images, "annotations": annotations, "categories": named}


def _place(box: list[float] | None, outline: list[list[float]] | None) -> dict[str, Any]:
    if outline is not None:
        return {"segmentation": [[value for point in outline for value in point]]}
    assert box is not None
    x1, y1, x2, y2 = box
    return {"bbox": [x1, y1, _less(x2, x1), _less(y2, y1)]}


def _less(a: float, b: float) -> float:
    """a - b so that b + (a - b) is a to the digits that people write."""
    return round(a - b, 9)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


def write_cvat(reading: Reading, path: Path) -> tuple[str, ...]:
    """<user>.xml with boxes and polygons, the user as the task's assignee."""
    votes = reading.annotations
    kind, known = answer_of(votes), known_of(votes)
    tags = getattr(votes.answers, "tags", pl.Series([""])).to_list()
    labels = "".join(f"<label><name>{escape(tag)}</name><attributes></attributes></label>" for tag in tags)

    def content(worker: str, found: list[Row]) -> str:
        who = f"<assignee><username>{escape(worker)}</username></assignee>"
        meta = f"<meta><task><size>{len(found)}</size><labels>{labels}</labels>{who}</task></meta>"
        images = "".join(_image(i, row, kind, known.get(row["task"], {})) for i, row in enumerate(found))
        head = '<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>'
        return f"{head}\n{meta}\n{images}</annotations>\n"

    return write_files(reading, path, "{}.xml", content)


def _image(i: int, row: Row, kind: str, known: dict[str, Any]) -> str:
    size = "".join(
        f' {name}="{known[name]:g}"' for name in ("width", "height") if isinstance(known.get(name), int | float)
    )
    parts = []
    for box, outline, tag in shapes_in(row["label"], kind):
        label = f'label={quoteattr(tag)} source="manual" occluded="0"'
        if box is not None:
            sides = " ".join(f'{name}="{value}"' for name, value in zip(("xtl", "ytl", "xbr", "ybr"), box, strict=True))
            parts.append(f"<box {label} {sides}></box>")
        else:
            points = ";".join(f"{x},{y}" for x, y in outline or [])
            parts.append(f'<polygon {label} points="{points}"></polygon>')
    return f"<image id={quoteattr(str(i))} name={quoteattr(row['task'])}{size}>{''.join(parts)}</image>\n"


def write_label_studio(reading: Reading, path: Path) -> tuple[str, ...]:
    """Label Studio's JSON with rectanglelabels or polygonlabels."""
    kind, known = answer_of(reading.annotations), known_of(reading.annotations)
    sized = [task for task, each in known.items() if {"width", "height"} <= set(each)]
    write_json_array(_tasks(reading, kind, known), path)
    return () if len(sized) == reading.annotations.n_tasks else (UNSIZED,)


def _tasks(reading: Reading, kind: str, known: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    number = 0
    for item, found in by_item(reading):
        annotations = []
        for row in found:
            number += 1
            annotations.append({
                "id": number, "completed_by": as_id(row["worker"]), "was_cancelled": False, "ground_truth": False,
                "created_at": moment(row["time"]), "lead_time": row["duration"],
                "result": label_studio_shapes(row["label"], kind, known.get(item.name, {})),
            })  # fmt: skip
        yield {"id": as_id(item.id), "data": item.data, "annotations": annotations}


def write_label_studio_result(result: Result, path: Path, original: Reading | None = None) -> tuple[str, ...]:
    """Tasks with one prediction each; `original` brings back the export's own ids and data."""
    table, kind = result.to_table(), next(iter(result.kind.columns))
    found = {str(task): text for task, text in table.select("task", kind).iter_rows()}
    version = f"crowdwise:{result.method}"
    known: dict[str, dict[str, Any]] = {} if original is None else known_of(original.annotations)

    def prediction(task: str) -> dict[str, Any]:
        return {"model_version": version, "result": label_studio_shapes(found[task], kind, known.get(task, {}))}

    if original is not None and original.items is not None:
        tasks = ({"id": as_id(each.id), "data": each.data, "predictions": [prediction(each.name)]}
                 for each in original.items() if each.name in found)  # fmt: skip
    else:
        tasks = ({"data": {OBJECT: task, "task": task}, "predictions": [prediction(task)]} for task in found)
    write_json_array(tasks, path)
    return () if known else (UNSIZED,)


def label_studio_shapes(text: str, kind: str, known: dict[str, Any]) -> list[dict[str, Any]]:
    """Results of one annotation, in percents of the picture."""
    sized = {"width", "height"} <= set(known)
    wide, high = (float(known[name]) if sized else 100.0 for name in ("width", "height"))
    out = []
    for box, outline, tag in shapes_in(text, kind):
        named = [tag] if tag else []
        if box is not None:
            x1, y1, x2, y2 = box[0] / wide, box[1] / high, box[2] / wide, box[3] / high
            control = "rectanglelabels"
            value: dict[str, Any] = {"x": 100 * x1, "y": 100 * y1, "width": 100 * (x2 - x1), "height": 100 * (y2 - y1),
                                     "rotation": 0, "rectanglelabels": named}  # fmt: skip
        else:
            control = "polygonlabels"
            points = [[100 * x / wide, 100 * y / high] for x, y in outline or []]
            value = {"points": points, "closed": True, "polygonlabels": named}
        size = {"original_width": wide, "original_height": high}
        out.append({"from_name": kind, "to_name": "image", "type": control, **size, "value": value})
    return out
