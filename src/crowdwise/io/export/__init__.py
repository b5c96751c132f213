"""Writers: votes in every format that can be read, results in the formats of other tools.

`convert` in the command line and the round trips in the tests go through these two tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import ParameterError, unwritable

if TYPE_CHECKING:
    import polars as pl

    from ...core.kind import Kind
    from ...core.result import Result
    from ..reading import Reading
    from .predictions import QuestionResult

# name -> "module:function", imported on first use. A function takes the object to write and the path.
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
# Formats that can hold each kind of answers; plain tables can hold every kind.
TABLES = ("csv", "tsv", "jsonl", "parquet")
VOTE_FORMATS_OF_KIND = {
    "classes": tuple(name for name in VOTES if name not in ("conll", "tokens")),
    "numbers": ("wide", "label_studio", "label_studio_min", "label_studio_csv", "argilla", "hf_lists", "mturk",
                "toloka", "snow", "llm_judge", "potato"),
    "sets": ("label_studio", "label_studio_min", "label_studio_csv", "argilla", "doccano"),
    "spans": ("label_studio", "argilla", "prodigy", "doccano", "conll", "tokens"),
    "texts": ("label_studio",),
}  # fmt: skip
# Writers of kinds that have their own representation in a format.
SHAPES = {
    "coco": "shapes:write_coco",
    "cvat": "shapes:write_cvat",
    "label_studio": "shapes:write_label_studio",
}
VOTES_BY_KIND: dict[str, dict[str, str]] = {
    "boxes": SHAPES,
    "outlines": SHAPES,
    "spans": {"prodigy": "sequences:write_prodigy", "doccano": "sequences:write_doccano"},
}
SHAPE_RESULTS = {"coco": "shapes:write_coco_result", "cvat": "shapes:write_cvat_result"}
RESULTS_BY_KIND: dict[str, dict[str, str]] = {
    "boxes": SHAPE_RESULTS,
    "outlines": SHAPE_RESULTS,
}
WITH_EVERY_TASK = ("wide", "cleanlab", "snorkel", "label_studio", "argilla", "hf_lists")
RESULTS = {
    "csv": "tables:write_csv",
    "jsonl": "tables:write_jsonl",
    "parquet": "tables:write_parquet",
    "label_studio": "predictions:write_parts",
    "hf_dataset": "hf_dataset:write_dataset",
    "soft_labels": "tables:write_soft_labels",
    "preferences": "preferences:write_preferences",
}
RESULT_FORMATS_OF_KIND = {
    "classes": tuple(name for name in RESULTS if name != "preferences"),
    "numbers": ("label_studio",),
    "sets": ("label_studio",),
    "spans": ("label_studio",),
    "boxes": ("label_studio",),
    "outlines": ("label_studio",),
    "texts": ("label_studio",),
    "comparisons": ("label_studio", "preferences"),
}
# The format that takes the results of several questions.
PREDICTIONS = "label_studio"
# Formats that also take the table about the tasks.
WITH_ABOUT = ("preferences", "coco", "cvat")
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".parquet": "parquet", ".npy": "snorkel",
           ".npz": "soft_labels"}  # fmt: skip


def write_votes(reading: Reading, path: Path, format: str | None = None) -> tuple[str, ...]:
    """Write votes, and the gold that came with them; return notes about what the format cannot represent."""
    votes = reading.annotations
    own_formats = VOTES_BY_KIND.get(votes.kind.name, {})
    name = _named(VOTES | own_formats, path, format)
    if name not in own_formats:
        several = not votes.answers.columns().keys() <= votes.kind.columns.keys()
        _refuse(name, votes.kind, VOTE_FORMATS_OF_KIND, VOTES | own_formats, own_formats, several=several)
    notes = _write({**VOTES, **own_formats}[name], reading, path)
    n_unlabelled = int((votes.labels_per_task == 0).sum())
    if n_unlabelled and name not in WITH_EVERY_TASK:
        notes += (f"{n_unlabelled:,} tasks without labels are not in the file, which has one row per label",)
    return notes


def write_result(
    result: Result,
    path: Path,
    format: str | None = None,
    original: Reading | None = None,
    about: pl.DataFrame | None = None,
    at_least: float | None = None,
) -> tuple[str, ...]:
    """Write labels and probabilities of a result; return notes.

    Args:
        result: The result.
        path: File to write.
        format: Name of the format; by default the ending of the path.
        original: The export of Label Studio that the votes came from, whose tasks get predictions.
        about: Table about the tasks.
        at_least: Predictions for Label Studio with a lower score are left out.
    """
    from .predictions import QuestionResult

    return write_results([QuestionResult(result, original, None, about, at_least)], path, format)


def write_results(parts: Sequence[QuestionResult], path: Path, format: str | None = None) -> tuple[str, ...]:
    """Write the results of one or several questions; only Label Studio's predictions hold several."""
    first = parts[0]
    if format != PREDICTIONS:
        for option, value in (("--original", first.original), ("--at-least", first.at_least)):
            if value is not None:
                raise ParameterError(f"{option} is for predictions; use --to label_studio")
        if len(parts) > 1:
            names = ", ".join(str(part.question) for part in parts)
            raise ParameterError(f"one file can hold one question, not {names}; name one, or use --to label_studio")
    for part in parts:
        kind = part.result.kind
        own_formats = RESULTS_BY_KIND.get(kind.name, {})
        name = _named(RESULTS | own_formats, path, format)
        if name not in own_formats:
            several = not kind.columns.keys() <= {*part.result.to_table().columns}
            _refuse(name, kind, RESULT_FORMATS_OF_KIND, RESULTS | own_formats, own_formats, several=several)
    if name == PREDICTIONS:
        return _write(RESULTS[name], list(parts), path)
    more = (first.about,) if name in WITH_ABOUT else ()
    return _write({**RESULTS, **own_formats}[name], first.result, path, *more)


def _named(table: dict[str, str], path: Path, format: str | None) -> str:
    name = format or ENDINGS.get(path.suffix.lower())
    if name is None or name not in table:
        reason = f"{name!r} is none of them" if name else f"the ending of {path.name} names none of them"
        raise ParameterError(f"--to must be one of {', '.join(table)}; {reason}")
    return name


def _refuse(
    name: str,
    kind: Kind,
    hold: dict[str, tuple[str, ...]],
    table: dict[str, str],
    own_formats: dict[str, str],
    *,
    several: bool,
) -> None:
    """Raise if a format cannot hold these answers, or `several` columns of them."""
    if name in TABLES:
        return
    supported = hold.get(kind.name, ())
    if name not in supported or several:
        what = f"answers of several {kind.display_name}" if several else kind.display_name
        others = [
            other for other in table if other in TABLES or other in own_formats or (other in supported and not several)
        ]
        raise ParameterError(f"{name} cannot hold {what}; choose one of {', '.join(others)}")


def _write(where: str, what: Reading | Result | list[QuestionResult], path: Path, *more: Any) -> tuple[str, ...]:
    module, _, function = where.partition(":")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        notes: tuple[str, ...] = getattr(import_module(f".{module}", __name__), function)(what, path, *more)
    except OSError as error:
        raise unwritable(path, error) from error
    return notes
