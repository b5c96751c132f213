"""Tables with one row per token: task, worker, the token's number, its tag, and optionally the word."""

from __future__ import annotations

import polars as pl

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..csv.file import open_csv
from ..sources import Source
from .base import SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .marks import MISSING, TAG, as_answer, spans_of_tags, token_ends

PLACES = ("token", "token_index", "token_id", "position")
TAGS = ("tag", "iob", "bio", "ner_tag")
WORDS = ("word", "form", "token_text")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match the columns task, worker, tag and a number of the token."""
    names = {name.strip().lower() for name in head.header}
    if {"task", "worker"} <= names and names & set(TAGS) and names & set(PLACES):
        return FormatMatch(SURE, "its columns are task, worker, the number of a token and its tag")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per worker and text; spans count tokens, or characters if the words are known."""
    options.allow_columns(where)
    table = open_csv(source, where, "csv")
    plain = {name.strip().lower(): name for name in table.header}
    position, tag = (next(plain[name] for name in names if name in plain) for names in (PLACES, TAGS))
    word = next((plain[name] for name in WORDS if name in plain), None)
    frame = table.read([plain["task"], plain["worker"], position, tag, *([] if word is None else [word])])
    frame = frame.with_columns(pl.all().cast(pl.String)).rename({plain["task"]: "task", plain["worker"]: "worker"})
    number = frame[position].str.strip_chars().cast(pl.Int64, strict=False)
    bad = (number.is_null() | (number < 0)).arg_true()
    if len(bad):
        row = int(bad[0])
        raise DataError(
            f"{where}, row {row + 1}: {frame[position][row]!r} in column {position!r} is not the number of a token"
        )
    frame = frame.with_columns(number.alias(position)).sort("task", "worker", position, maintain_order=True)
    return _rows(frame, position, tag, word, where, options)


def _rows(
    frame: pl.DataFrame, position: str, tag: str, word: str | None, where: str, options: ReadOptions
) -> ParsedFile:
    rows = RowBuilder("spans")
    least = min(int(str(frame[position].min() or 0)), 1)  # some count from 1
    about: dict[str, dict[str, object]] = {}
    for (task,), part in frame.group_by("task", maintain_order=True):
        name, n = str(task), int(part[position].max()) - least + 1  # type: ignore[arg-type]
        words = [f"[{i}]" for i in range(n)]
        if word is not None:
            for i, text in part.select(position, word).drop_nulls().iter_rows():
                words[i - least] = text
        ends = token_ends(words) if word is not None else [(i, i + 1) for i in range(n)]
        about[name] = {"task": name, "text": " ".join(words)} if word is not None else {"task": name, "tokens": n}
        for (worker,), rows_of_worker in part.group_by("worker", maintain_order=True):
            tags = ["O"] * n
            for i, value in rows_of_worker.select(position, tag).iter_rows():
                value = (value or "").strip()
                if value not in MISSING and not TAG.fullmatch(value):
                    raise DataError(
                        f"{where}: {value!r}, a tag of {worker} for {name}, is not a tag such as O or B-PER"
                    )
                tags[i - least] = "O" if value in MISSING else value
            rows.add(name, str(worker), [as_answer(spans_of_tags(tags, ends))])
    result = rows.finish(where, options, "tags")
    result.about_tasks = pl.DataFrame(list(about.values()))
    return result
