"""Formats that have no package: written with the csv and json modules from the documented fields, nothing of ours.

Columns in another order than our own writers have them, Windows' line ends, a byte order mark, quotes everywhere.
"""

from __future__ import annotations

import csv
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import crowd

MTURK = [
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments",
    "RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration",
    "NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime",
    "SubmitTime", "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds",
    "LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate", "Input.item", "Answer.mood.label",
    "Approve", "Reject",
]  # fmt: skip


def table(path: Path, names: list[str], rows: Iterable[dict[str, Any]], mark: str = "", **dialect: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(mark)
        writer = csv.DictWriter(file, names, **dialect)
        writer.writeheader()
        writer.writerows(rows)


def lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\r\n") as file:
        file.writelines(json.dumps(record, sort_keys=True) + "\n" for record in records)


def mturk(folder: Path, rows: list[crowd.Row]) -> crowd.File:
    when = "Mon Nov 16 10:00:00 PST 2026"
    hit = {task: f"3{i:029d}" for i, task in enumerate(crowd.TEXTS)}
    records = [
        {"HITId": hit[task], "AssignmentId": f"3X{i}", "WorkerId": who, "AssignmentStatus": "Approved",
         "SubmitTime": when, "WorkTimeInSeconds": 31, "LifetimeApprovalRate": "100% (5/5)", "Reward": "$0.05",
         "Input.item": task, "Answer.mood.label": label}
        for i, (task, who, label) in enumerate(rows)
    ]  # fmt: skip
    table(folder / "mturk.csv", MTURK, records, "\ufeff", quoting=csv.QUOTE_ALL)
    return crowd.File("mturk.csv", "mturk", rows, {"columns": {"task": "Input.item"}})


def toloka(folder: Path, rows: list[crowd.Row]) -> crowd.File:
    names = ["ASSIGNMENT:status", "ASSIGNMENT:worker_id", "GOLDEN:mood", "OUTPUT:mood", "HINT:text", "INPUT:text"]
    records: list[dict[str, str]] = []
    for task, who, label in rows:
        records.append(
            {"ASSIGNMENT:status": "APPROVED", "ASSIGNMENT:worker_id": who, "OUTPUT:mood": label, "INPUT:text": task}
        )
        records += [{}] if who == "zoë" else []  # an empty line parts the suites
    table(folder / "toloka.tsv", names, records, delimiter="\t")
    return crowd.File("toloka.tsv", "toloka", rows)


def prodigy(folder: Path, rows: list[crowd.Row]) -> list[crowd.File]:
    hashes = {task: -(10**9) + 7 * i for i, task in enumerate(crowd.TEXTS)}
    options = [{"id": label, "text": label.upper()} for label in crowd.LABELS]
    about = {"_view_id": "choice", "_timestamp": 1_700_000_000, "_session_id": None}
    lines(
        folder / "choice.jsonl",
        ({"text": task, "_input_hash": hashes[task], "_task_hash": 2 * hashes[task], "_annotator_id": f"set-{who}",
          "options": options, "accept": [label], "answer": "accept", **about} for task, who, label in rows),
    )  # fmt: skip
    lines(
        folder / "binary.jsonl",
        ({"text": task, "label": "POS", "_input_hash": 1, "_task_hash": hashes[task], "_session_id": f"set-{who}",
          "_view_id": "classification", "answer": "accept" if label == "pos" else "reject"}
         for task, who, label in rows),
    )  # fmt: skip
    chosen = [(str(hashes[task]), f"set-{who}", label) for task, who, label in rows]
    binary = [(task, who, "accept" if label == "pos" else "reject") for task, who, label in chosen]
    return [crowd.File("choice.jsonl", "prodigy", chosen), crowd.File("binary.jsonl", "prodigy", binary)]


def snow(folder: Path, rows: list[crowd.Row]) -> crowd.File:
    names = ["gold", "response", "orig_id", "!amt_worker_ids", "!amt_annotation_ids"]
    records = (dict(zip(names, ("0", label, task, who, i), strict=True)) for i, (task, who, label) in enumerate(rows))
    table(folder / "snow.tsv", names, records, delimiter="\t")
    return crowd.File("snow.tsv", "snow", rows)


def judges(folder: Path, rows: list[crowd.Row]) -> crowd.File:
    lines(
        folder / "judges.jsonl",
        ({"verdict": label, "score": 0.5, "judge": who, "item_id": task, "created_at": "2026-01-01T10:00:00Z"}
         for task, who, label in rows),
    )  # fmt: skip
    return crowd.File("judges.jsonl", "llm_judge", rows)


def plain(folder: Path, rows: list[crowd.Row]) -> list[crowd.File]:
    names = ["label", "worker", "when", "task"]
    records = [dict(zip(names, (label, who, "", task), strict=True)) for task, who, label in rows]
    table(folder / "votes.csv", names, records, "\ufeff", delimiter=";", quoting=csv.QUOTE_ALL)
    table(folder / "votes.tsv", names, records, delimiter="\t")
    lines(folder / "votes.jsonl", records)
    return [crowd.File(f"votes.{ending}", ending, rows) for ending in ("csv", "tsv", "jsonl")]


def write(folder: Path) -> dict[str, Any]:
    rows = crowd.rows()
    files = [mturk(folder, rows), toloka(folder, rows), *prodigy(folder, rows), snow(folder, rows)]
    return crowd.tell(f"Python {platform.python_version()}", [*files, judges(folder, rows), *plain(folder, rows)])


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
