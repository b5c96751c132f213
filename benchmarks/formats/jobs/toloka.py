"""toloka-kit: what its get_assignments_df makes of a pool's TSV, saved by pandas; and our TSV through the same door.

The server's answer is made here by the csv module with the fields that toloka-kit's own enumeration names.
"""

from __future__ import annotations

import csv
import io
import logging
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .. import crowd

TEXTS = [text for text in crowd.TEXTS if text != "NA"]  # pandas, through which toloka-kit reads, takes NA for a gap


def served(rows: list[crowd.Row]) -> str:
    from toloka.client.assignment import GetAssignmentsTsvParameters

    fields = [field.value for field in GetAssignmentsTsvParameters.Field]
    out = io.StringIO(newline="")
    names = ["INPUT:text", "OUTPUT:mood", "GOLDEN:mood", "HINT:text", *fields]
    writer = csv.DictWriter(out, names, delimiter="\t", lineterminator="\n")
    writer.writeheader()
    for i, (task, who, label) in enumerate(rows):
        told = {"assignment_id": f"s{i // 2}", "worker_id": who, "status": "APPROVED", "reward": "0.01",
                "started": "2026-01-01T10:00:00.000", "submitted": "2026-01-01T10:01:00.000"}  # fmt: skip
        said = {"INPUT:text": task, "OUTPUT:mood": label, "GOLDEN:mood": "pos" if task == "plain" else ""}
        writer.writerow(said | {f"ASSIGNMENT:{key}": value for key, value in told.items()})
    return out.getvalue()


def frame(text: str) -> Any:
    from toloka.client import TolokaClient

    logging.disable(logging.CRITICAL)
    client = TolokaClient("token", "SANDBOX")
    client._raw_request = lambda *_, **__: SimpleNamespace(text=text)  # the wire, which there is none of here
    return client.get_assignments_df("1")


def write(folder: Path) -> dict[str, Any]:
    rows = crowd.rows(TEXTS)
    found = frame(served(rows))
    found.to_csv(folder / "assignments.tsv", sep="\t", index=False)
    found.to_csv(folder / "assignments.csv")
    options = {"columns": {"task": "INPUT:text"}}
    files = [crowd.File(name, "toloka", rows, options) for name in ("assignments.tsv", "assignments.csv")]
    return crowd.tell(version("toloka-kit"), files)


def accept(folder: Path) -> dict[str, Any]:
    """Our votes.tsv as if a pool had served it."""
    found = frame((folder / "votes.tsv").read_text(encoding="utf-8"))
    columns = found[["INPUT:task", "ASSIGNMENT:worker_id", "OUTPUT:label"]].astype(str)
    return {"valid": len(columns) == len(found), "rows": [tuple(row) for row in columns.itertuples(index=False)]}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
