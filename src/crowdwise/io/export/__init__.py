"""Writers: annotations in every format that we read, results in the formats that other tools take.

`convert` in the command line and the round trips in the tests go through these two tables.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import ParameterError, unwritable

if TYPE_CHECKING:
    import polars as pl

    from ...core.kind import Kind
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
    "conll": "sequences:write_conll",
    "tokens": "sequences:write_tokens",
}
# Which kinds of answers a format has a place for; plain tables have one for every kind.
TABLES = ("csv", "tsv", "jsonl", "parquet")
HOLD = {
    "classes": tuple(name for name in VOTES if name not in ("conll", "tokens")),
    "numbers": ("wide", "label_studio", "label_studio_min", "label_studio_csv", "argilla", "hf_lists", "mturk",
                "toloka", "snow", "llm_judge", "potato"),
    "sets": ("label_studio", "label_studio_min", "label_studio_csv", "argilla", "doccano"),
    "spans": ("label_studio", "argilla", "prodigy", "doccano", "conll", "tokens"),
    "texts": ("label_studio",),
}  # fmt: skip
# Writers of kinds that have a place of their own in a format.
SHAPES = {
    "coco": "shapes:write_coco",
    "cvat": "shapes:write_cvat",
    "label_studio": "shapes:write_label_studio",
}
OWN_VOTES: dict[str, dict[str, str]] = {
    "boxes": SHAPES,
    "outlines": SHAPES,
    "spans": {"prodigy": "sequences:write_prodigy", "doccano": "sequences:write_doccano"},
}
SHAPE_RESULTS = {
    "coco": "shapes:write_coco_result",
    "label_studio": "shapes:write_label_studio_result",
}
OWN_RESULTS: dict[str, dict[str, str]] = {
    "boxes": SHAPE_RESULTS,
    "outlines": SHAPE_RESULTS,
}
WITH_EVERY_TASK = ("wide", "cleanlab", "snorkel", "label_studio", "argilla", "hf_lists")
RESULTS = {
    "csv": "consensus:write_csv",
    "jsonl": "consensus:write_jsonl",
    "parquet": "consensus:write_parquet",
    "label_studio": "predictions:write_predictions",
    "hf_dataset": "hf_dataset:write_dataset",
    "soft_labels": "consensus:write_soft_labels",
    "preferences": "preferences:write_preferences",
}
HOLD_RESULTS = {
    "classes": tuple(name for name in RESULTS if name != "preferences"),
    "numbers": ("label_studio",),
    "spans": ("label_studio",),
    "texts": ("label_studio",),
    "comparisons": ("preferences",),
}
# Formats that also take what is known of the tasks besides their answers.
WITH_ABOUT = ("preferences",)
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet", ".npy": "snorkel",
           ".npz": "soft_labels"}  # fmt: skip


def write_votes(reading: Reading, path: Path, format: str | None = None) -> tuple[str, ...]:
    """Write annotations (and the gold that came with them); returns notes on what the format cannot say."""
    votes = reading.annotations
    own = OWN_VOTES.get(votes.kind.name, {})
    name = _named(VOTES | own, path, format)
    if name not in own:
        several = not votes.answers.columns().keys() <= votes.kind.columns.keys()
        _refuse(name, votes.kind, HOLD, VOTES | own, own, several=several)
    notes = _write({**VOTES, **own}[name], reading, path)
    without = int((votes.labels_per_task == 0).sum())
    if without and name not in WITH_EVERY_TASK:
        notes += (f"{without:,} tasks without labels are not in the file, which has a row a label",)
    return notes


def write_result(
    result: Result,
    path: Path,
    format: str | None = None,
    original: Reading | None = None,
    about: pl.DataFrame | None = None,
) -> tuple[str, ...]:
    """Write labels and probabilities of a result; returns notes.

    `original` is the export of Label Studio that the votes came from, for predictions to go back into it; `about` what
    else is known of the tasks.
    """
    if original is not None and format != "label_studio":
        raise ParameterError("--original is for predictions; say --to label_studio")
    own = OWN_RESULTS.get(result.kind.name, {})
    name = _named(RESULTS | own, path, format)
    if name not in own:
        several = not result.kind.columns.keys() <= {*result.to_table().columns}
        _refuse(name, result.kind, HOLD_RESULTS, RESULTS | own, own, several=several)
    more = (about,) if name in WITH_ABOUT else () if original is None else (original,)
    return _write({**RESULTS, **own}[name], result, path, *more)


def _named(table: dict[str, str], path: Path, format: str | None) -> str:
    name = format or ENDINGS.get(path.suffix.lower())
    if name is None or name not in table:
        said = f"{name!r} is none of them" if name else f"the ending of {path.name} names none of them"
        raise ParameterError(f"--to must be one of {', '.join(table)}; {said}")
    return name


def _refuse(
    name: str,
    kind: Kind,
    hold: dict[str, tuple[str, ...]],
    table: dict[str, str],
    own: dict[str, str],
    *,
    several: bool,
) -> None:
    """A format that has no place for these answers, or not for `several` columns of them."""
    if name in TABLES:
        return
    can = hold.get(kind.name, ())
    if name not in can or several:
        what = f"answers of several {kind.people}" if several else kind.people
        others = [each for each in table if each in TABLES or each in own or (each in can and not several)]
        raise ParameterError(f"{name} has no place for {what}; choose one of {', '.join(others)}")


def _write(where: str, what: Reading | Result, path: Path, *more: Any) -> tuple[str, ...]:
    module, _, function = where.partition(":")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        notes: tuple[str, ...] = getattr(import_module(f".{module}", __name__), function)(what, path, *more)
    except OSError as error:
        raise unwritable(path, error) from error
    return notes
