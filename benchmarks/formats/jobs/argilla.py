"""argilla: Record and Response objects through its own exporters; its own reader takes our records."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from .. import crowd

USER = {who: UUID(int=i + 1) for i, who in enumerate(crowd.WORKERS)}
# All that `to_datasets` asks of a dataset on a server: which question is of which type.
DATASET = SimpleNamespace(schema={"mood": SimpleNamespace(type="label_selection")})


def write(folder: Path) -> dict[str, Any]:
    import argilla as rg
    from argilla.records._io import GenericIO, HFDatasetsIO, JsonIO

    rows = crowd.rows()
    answers, drafted, hinted = [], [], []
    for i, (task, said) in enumerate(crowd.by_task(rows).items()):
        responses = [rg.Response("mood", label, user_id=USER[who], status="submitted") for who, label in said]
        draft = rg.Response("mood", "pos", user_id=UUID(int=99), status="draft")  # no answer yet
        hint = rg.Suggestion("mood", crowd.LABELS[i % 2], score=0.5, agent="gpt")
        what: dict[str, Any] = {"id": task, "fields": {"text": f"text of {task}"}}
        answers.append(rg.Record(**what, responses=responses))
        drafted.append(rg.Record(**what, responses=[*responses, draft]))
        hinted.append(rg.Record(**what, responses=[*responses, draft], suggestions=[hint]))
    mine = [(task, str(USER[who]), label) for task, who, label in rows]
    model = [(task, "model:gpt", crowd.LABELS[i % 2]) for i, task in enumerate(crowd.TEXTS)]
    with (folder / "flat.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(each, default=str) + "\n" for each in GenericIO.to_list(drafted, flatten=True))
    JsonIO.to_json(answers, folder / "records.json")
    HFDatasetsIO.to_datasets(hinted, DATASET).to_parquet(str(folder / "hinted.parquet"))
    files = [
        crowd.File("flat.jsonl", "argilla", mine),
        crowd.File("records.json", "argilla", mine),
        crowd.File("hinted.parquet", "argilla", mine + model, {"predictions": True}),
    ]
    return crowd.tell(version("argilla"), files)


def accept(folder: Path) -> dict[str, Any]:
    """Our votes.jsonl, each line a record of argilla's own model again."""
    import argilla as rg

    rows = []
    for line in (folder / "votes.jsonl").read_text(encoding="utf-8").splitlines():
        flat = json.loads(line)
        said = zip(flat["label.responses"], flat["label.responses.users"], strict=True)
        responses = [rg.Response("label", value, user_id=UUID(who), status="submitted") for value, who in said]
        record = rg.Record(id=flat["id"], fields={"text": flat["id"]}, responses=responses)
        rows += [(record.id, str(each.user_id), each.value) for each in record.responses]
    return {"valid": True, "rows": rows}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
