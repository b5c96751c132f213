"""label-studio-sdk: its Converter writes the exports, its LabelInterface judges our predictions."""

from __future__ import annotations

import json
import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from .. import crowd

WHEN = "2026-01-01T10:00:00.000000Z"
IDS = crowd.numbered()


def config(labels: list[str], name: str) -> str:
    choices = "".join(f"<Choice value={quoteattr(label)}/>" for label in labels)
    return f'<View><Text name="text" value="$text"/><Choices name="{name}" toName="text">{choices}</Choices></View>'


def exported(rows: list[crowd.Row]) -> list[dict[str, Any]]:
    """Tasks as Label Studio's server gives them to the converter."""
    found = []
    for i, (task, said) in enumerate(crowd.by_task(rows, IDS).items()):
        annotations = [
            {
                "id": 100 * i + j,
                "completed_by": {"id": crowd.WORKERS.index(who), "email": f"{who}@example.org", "first_name": who},
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": WHEN,
                "updated_at": WHEN,
                "lead_time": 2.5,
                "result": [{"id": f"r{i}{j}", "from_name": "mood", "to_name": "text", "type": "choices",
                            "value": {"choices": [label]}}],
            }
            for j, (who, label) in enumerate(said)
        ]  # fmt: skip
        found.append({"id": int(task), "data": {"text": crowd.TEXTS[i]}, "annotations": annotations, "predictions": []})
    return found


def write(folder: Path) -> dict[str, Any]:
    from label_studio_sdk.converter import Converter

    logging.disable(logging.CRITICAL)
    rows = crowd.rows(IDS)
    source = folder / "server.json"
    source.write_text(json.dumps(exported(rows)), encoding="utf-8")
    mine = [(task, f"{who}@example.org", label) for task, who, label in rows]
    files = []
    for kind, name, format in (
        ("JSON", "export.json", "label_studio"),
        ("JSON_MIN", "min.json", "label_studio_min"),
        ("CSV", "export.csv", "label_studio_csv"),
        ("TSV", "export.tsv", "label_studio_csv"),
    ):
        out = folder / f"out-{kind}"
        Converter(config(crowd.LABELS, "mood"), str(folder), download_resources=False).convert(
            str(source), str(out), kind, is_dir=False
        )
        made = next(path for path in sorted(out.iterdir()) if path.is_file())
        made.rename(folder / name)
        out.rmdir()
        files.append(crowd.File(name, format, mine, {} if kind == "JSON" else {"question": "mood"}))
    source.unlink()
    return crowd.tell(version("label-studio-sdk"), files)


def accept(folder: Path) -> dict[str, Any]:
    """Our predictions.json: every one valid under a project with these classes, and importable as a task."""
    from label_studio_sdk.label_interface import LabelInterface

    tasks = json.loads((folder / "predictions.json").read_text(encoding="utf-8"))
    labels = sorted({p["result"][0]["value"]["choices"][0] for task in tasks for p in task["predictions"]})
    face = LabelInterface(config(labels, "label"))
    errors = [face.validate_prediction(p, return_errors=True) for task in tasks for p in task["predictions"]]
    complete = all(face.validate_task({"data": task["data"]}) for task in tasks)
    rows = [
        (task["data"]["text"], p["result"][0]["value"]["choices"][0]) for task in tasks for p in task["predictions"]
    ]
    return {"valid": complete and not any(errors), "rows": rows}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
