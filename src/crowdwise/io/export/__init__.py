"""Writers: annotations in every format that we read, results in the formats that other tools take.

`convert` in the command line and the round trips in the tests go through these two tables.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import ParameterError, unwritable

if TYPE_CHECKING:
    from ...core.result import Result
    from ..reading import Reading

# name -> "module:function", imported when it is needed. A function takes what is to be written, and where to.
VOTES = {
    "csv": "tables:write_csv",
    "tsv": "tables:write_tsv",
    "jsonl": "tables:write_jsonl",
    "parquet": "tables:write_parquet",
    "wide": "matrices:write_wide",
    "cleanlab": "matrices:write_cleanlab",
    "snorkel": "matrices:write_snorkel",
    "label_studio": "label_studio:write_tasks",
    "label_studio_min": "label_studio:write_min",
    "label_studio_csv": "label_studio:write_csv",
    "argilla": "records:write_argilla",
    "hf_lists": "records:write_lists",
    "mturk": "platforms:write_mturk",
    "toloka": "platforms:write_toloka",
    "snow": "platforms:write_snow",
    "prodigy": "platforms:write_prodigy",
    "llm_judge": "platforms:write_judgments",
    "doccano": "archives:write_doccano",
    "cvat": "archives:write_cvat",
    "potato": "archives:write_potato",
}
WITH_EVERY_TASK = ("wide", "cleanlab", "snorkel", "label_studio", "argilla", "hf_lists")
RESULTS = {
    "csv": "consensus:write_csv",
    "jsonl": "consensus:write_jsonl",
    "parquet": "consensus:write_parquet",
    "label_studio": "predictions:write_predictions",
    "hf_dataset": "hf_dataset:write_dataset",
    "soft_labels": "consensus:write_soft_labels",
}
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet", ".npy": "snorkel",
           ".npz": "soft_labels"}  # fmt: skip


def write_votes(reading: Reading, path: Path, format: str | None = None) -> tuple[str, ...]:
    """Write annotations (and the gold that came with them); returns notes on what the format cannot say."""
    notes = _write(VOTES, reading, path, format)
    without = int((reading.annotations.labels_per_task == 0).sum())
    if without and (format or ENDINGS.get(path.suffix.lower())) not in WITH_EVERY_TASK:
        notes += (f"{without:,} tasks without labels are not in the file, which has a row a label",)
    return notes


def write_result(
    result: Result, path: Path, format: str | None = None, original: Reading | None = None
) -> tuple[str, ...]:
    """Write labels and probabilities of a result; returns notes.

    `original` is the export of Label Studio that the votes came from, for predictions to go back into it.
    """
    if original is None:
        return _write(RESULTS, result, path, format)
    if format != "label_studio":
        raise ParameterError("--original is for predictions; say --to label_studio")
    return _write(RESULTS, result, path, format, original)


def _write(
    table: dict[str, str], what: Reading | Result, path: Path, format: str | None, *more: Reading
) -> tuple[str, ...]:
    name = format or ENDINGS.get(path.suffix.lower())
    if name is None or name not in table:
        said = f"{name!r} is none of them" if name else f"the ending of {path.name} names none of them"
        raise ParameterError(f"--to must be one of {', '.join(table)}; {said}")
    module, _, function = table[name].partition(":")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        notes: tuple[str, ...] = getattr(import_module(f".{module}", __name__), function)(what, path, *more)
    except OSError as error:
        raise unwritable(path, error) from error
    return notes
