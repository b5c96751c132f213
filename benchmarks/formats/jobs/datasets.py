"""Hugging Face datasets: lists of labels and annotators to JSONL and Parquet; load_dataset opens our folder."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import crowd


def write(folder: Path) -> dict[str, Any]:
    from datasets import ClassLabel, Dataset, Features, List, Value

    rows = crowd.rows()
    grouped = crowd.by_task(rows)
    columns = {
        "id": list(grouped),
        "annotations": [[label for _, label in said] for said in grouped.values()],
        "annotators": [[who for who, _ in said] for said in grouped.values()],
    }
    named = Features(
        {
            "id": Value("string"),
            "annotations": List(ClassLabel(names=crowd.LABELS)),
            "annotators": List(Value("string")),
        }
    )
    Dataset.from_dict(columns).to_json(str(folder / "lists.jsonl"), force_ascii=False)
    Dataset.from_dict(columns).to_parquet(str(folder / "lists.parquet"))
    codes = {**columns, "annotations": [[crowd.LABELS.index(x) for x in said] for said in columns["annotations"]]}
    Dataset.from_dict(codes, features=named).to_parquet(str(folder / "named.parquet"))
    files = [crowd.File(name, "hf_lists", rows) for name in ("lists.jsonl", "lists.parquet", "named.parquet")]
    return crowd.tell(version("datasets"), files)


def accept(folder: Path) -> dict[str, Any]:
    """Our folder: `label` is a ClassLabel whose names are the classes, the soft labels sum to one."""
    from datasets import load_dataset

    found = load_dataset(str(folder / "dataset"), cache_dir=str(folder / "cache"))["train"]
    names = found.features["label"].names
    whole = all(abs(sum(dist) - 1) < 1e-9 and len(dist) == len(names) for dist in found["label_dist"])
    return {"valid": whole, "rows": [(row["task"], names[row["label"]]) for row in found]}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
