"""Write boxes and outlines in the formats of COCO, CVAT and Label Studio."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import polars as pl

from ...core.result import Result
from ..formats.base import Control
from .archives import cvat_xml, write_files
from .label_studio import annotation_of
from .rows import Row, answer_of, as_id, by_item, by_task, facts_of, task_facts, write_json_array

if TYPE_CHECKING:
    from ..reading import Reading

# (box or None, outline or None, class)
Shape = tuple[list[float] | None, list[list[float]] | None, str]
UNSIZED = (
    "the sizes of the images are not known, so coordinates are written as percentages unchanged; give them by "
    "--about-tasks FILE with the columns task, width, height"
)

NO_SIZE = "the sizes of some images are not known; --about-tasks FILE with the columns task, width, height gives them"


def shapes_in(text: str, kind: str) -> list[Shape]:
    """Return the boxes or outlines of a cell."""
    shapes = json.loads(text)
    if kind == "outlines":
        return [(None, points, "") for points in shapes]
    return [(box[:4], None, box[4] if len(box) > 4 else "") for box in shapes]


def write_coco(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write one file: annotations with an `annotator`, images with the list of their `annotators`."""
    votes = reading.annotations
    kind, facts = answer_of(votes), task_facts(votes)
    pages: list[tuple[str, list[tuple[str, str]]]] = [
        (task, [(row["worker"], row["label"]) for row in rows]) for task, rows in by_task(votes)
    ]
    _write(path, _coco(pages, kind, facts))
    return ("this format has no times, durations or gold",) if votes.numbers or reading.gold is not None else ()


def write_coco_result(result: Result, path: Path, about: pl.DataFrame | None = None) -> tuple[str, ...]:
    """Write one file with the estimated shapes of each image; the annotator is the method.

    Images keep their width, height and url from the table about the tasks; boxes carry a `score`.
    """
    kind, facts = next(iter(result.kind.columns)), facts_of(about)
    pages = [(task, [(f"crowdwise:{result.method}", text)]) for task, text in _answers(result)]
    merged = _coco(pages, kind, facts)
    for annotation, score in zip(merged["annotations"], box_scores(result), strict=False):
        annotation["score"] = score
    _write(path, merged)
    sized = sum({"width", "height"} <= set(facts.get(task, {})) for task, _ in pages)
    return () if sized == len(pages) else (NO_SIZE,)


def write_cvat_result(result: Result, path: Path, about: pl.DataFrame | None = None) -> tuple[str, ...]:
    """Write "CVAT for images 1.1" with the estimated shapes: annotations.xml, in a ZIP if the path ends in .zip."""
    kind, facts = next(iter(result.kind.columns)), facts_of(about)
    tags = getattr(result.estimate, "tags", pl.Series([""])).to_list()
    answers = _answers(result)
    images = [
        _image(i, {"task": task, "label": text}, kind, facts.get(task, {}), source="auto")
        for i, (task, text) in enumerate(answers)
    ]
    xml = cvat_xml(f"crowdwise:{result.method}", tags, images)
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("annotations.xml", xml)
    else:
        path.write_text(xml, encoding="utf-8")
    sized = sum({"width", "height"} <= set(facts.get(task, {})) for task, _ in answers)
    return () if sized == len(answers) else (NO_SIZE,)


def _answers(result: Result) -> list[tuple[str, str]]:
    """Return (task, estimated shapes as text)."""
    kind = next(iter(result.kind.columns))
    return [(str(task), text) for task, text in result.to_table().select("task", kind).iter_rows()]


def box_scores(result: Result) -> list[float]:
    """Return the score of each estimated box: its probability, or the share of the workers who drew it.

    Outlines have none.
    """
    estimate: Any = result.estimate
    sure = getattr(estimate, "sure", None)
    scores = getattr(estimate, "support", None) if sure is None else sure
    return [] if scores is None else [round(float(score), 6) for score in scores]


def _coco(
    pages: list[tuple[str, list[tuple[str, str]]]], kind: str, facts: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    tags: dict[str, int] = {}
    for i, (task, answers) in enumerate(pages):
        size = {key: value for key, value in facts.get(task, {}).items() if key in ("width", "height", "url")}
        images.append({"id": i + 1, "file_name": task, **size, "annotators": [worker for worker, _ in answers]})
        for worker, text in answers:
            for box, outline, tag in shapes_in(text, kind):
                ids = {
                    "id": len(annotations) + 1,
                    "image_id": i + 1,
                    "category_id": tags.setdefault(tag, len(tags) + 1),
                }
                annotations.append({**ids, **_place(box, outline), "iscrowd": 0, "annotator": worker})
    named = [{"id": code, "name": tag} for tag, code in tags.items()]
    return {"images": images, "annotations": annotations, "categories": named}


def _place(box: list[float] | None, outline: list[list[float]] | None) -> dict[str, Any]:
    if outline is not None:
        # Gauss's area formula.
        before = [outline[-1], *outline[:-1]]
        twice = sum(x * v - u * y for (x, y), (u, v) in zip(outline, before, strict=True))
        flat = [value for point in outline for value in point]
        return {"segmentation": [flat], "area": round(abs(twice) / 2, 6)}
    assert box is not None
    x1, y1, x2, y2 = box
    wide, high = _less(x2, x1), _less(y2, y1)
    return {"bbox": [x1, y1, wide, high], "area": round(wide * high, 6)}


def _less(a: float, b: float) -> float:
    """Return a - b, rounded so that b + (a - b) equals a for numbers with few digits."""
    return round(a - b, 9)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


def write_cvat(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write <user>.xml with boxes and polygons, and the user as the task's assignee."""
    votes = reading.annotations
    kind, facts = answer_of(votes), task_facts(votes)
    tags = getattr(votes.answers, "tags", pl.Series([""])).to_list()

    def content(worker: str, rows: list[Row]) -> str:
        images = [_image(i, row, kind, facts.get(row["task"], {})) for i, row in enumerate(rows)]
        return cvat_xml(worker, tags, images)

    return write_files(reading, path, "{}.xml", content)


def _image(i: int, row: Row, kind: str, facts: dict[str, Any], source: str = "manual") -> str:
    size = "".join(
        f' {name}="{facts[name]:g}"' for name in ("width", "height") if isinstance(facts.get(name), int | float)
    )
    parts = []
    for box, outline, tag in shapes_in(row["label"], kind):
        label = f'label={quoteattr(tag)} source="{source}" occluded="0"'
        if box is not None:
            sides = " ".join(f'{name}="{value}"' for name, value in zip(("xtl", "ytl", "xbr", "ybr"), box, strict=True))
            parts.append(f"<box {label} {sides}></box>")
        else:
            points = ";".join(f"{x},{y}" for x, y in outline or [])
            parts.append(f'<polygon {label} points="{points}"></polygon>')
    return f"<image id={quoteattr(str(i))} name={quoteattr(row['task'])}{size}>{''.join(parts)}</image>\n"


def write_label_studio(reading: Reading, path: Path) -> tuple[str, ...]:
    """Write Label Studio's JSON with rectanglelabels or polygonlabels."""
    kind, facts = answer_of(reading.annotations), task_facts(reading.annotations)
    sized = [task for task, row in facts.items() if {"width", "height"} <= set(row)]
    write_json_array(_tasks(reading, kind, facts), path)
    return () if len(sized) == reading.annotations.n_tasks else (UNSIZED,)


def _tasks(reading: Reading, kind: str, facts: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    number = 0
    for item, rows in by_item(reading):
        annotations = []
        for row in rows:
            number += 1
            result = label_studio_shapes(row["label"], kind, facts.get(item.name, {}))
            annotations.append(annotation_of(row, number, result))
        yield {"id": as_id(item.id), "data": item.data, "annotations": annotations}


def label_studio_shapes(
    text: str, kind: str, facts: dict[str, Any], control: Control | None = None
) -> list[dict[str, Any]]:
    """Return the results of one annotation, in percentages of the image, under the name of the control if given."""
    sized = {"width", "height"} <= set(facts)
    wide, high = (float(facts[name]) if sized else 100.0 for name in ("width", "height"))
    out = []
    for box, outline, tag in shapes_in(text, kind):
        named = [tag] if tag else []
        if box is not None:
            drawn_by = "rectanglelabels"
            x1, y1, x2, y2 = box[0] / wide, box[1] / high, box[2] / wide, box[3] / high
            value: dict[str, Any] = {"x": 100 * x1, "y": 100 * y1, "width": 100 * (x2 - x1), "height": 100 * (y2 - y1),
                                     "rotation": 0}  # fmt: skip
        else:
            drawn_by = "polygonlabels"
            value = {"points": [[100 * x / wide, 100 * y / high] for x, y in outline or []], "closed": True}
        # Boxes may have been drawn with polygons and outlines with rectangles: the type then is not the control's.
        same = control is not None and control.kind.removesuffix("labels") == drawn_by.removesuffix("labels")
        kind_of_control = control.kind if control is not None and same else drawn_by
        if kind_of_control.endswith("labels"):
            value[kind_of_control] = named
        size = {"original_width": wide, "original_height": high} if sized or control is None else {}
        from_name, to_name = (kind, "image") if control is None else (control.from_name, control.to_name)
        out.append({"from_name": from_name, "to_name": to_name, "type": kind_of_control, **size, "value": value})
    return out
