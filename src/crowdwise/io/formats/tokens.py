"""A table with a row a token: task, worker, the token's number, its tag, and perhaps the word itself."""

from __future__ import annotations

import polars as pl

from ...core.errors import DataError
from ..csv.file import open_csv
from ..sources import Source
from .base import SURE, Ask, Found, Guess, Head, Rows
from .marks import MISSING, TAG, as_answer, spans_of_tags

PLACES = ("token", "token_index", "token_id", "position")
TAGS = ("tag", "iob", "bio", "ner_tag")
WORDS = ("word", "form", "token_text")


def sniff(head: Head) -> Guess | None:
    """Columns task, worker, tag and a number of the token."""
    names = {name.strip().lower() for name in head.header}
    if head.kind == "table" and {"task", "worker"} <= names and names & set(TAGS) and names & set(PLACES):
        return Guess(SURE, "its columns are task, worker, the number of a token and its tag")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a worker and text; spans count tokens, or characters where the words are known."""
    ask.only(where)
    table = open_csv(source, where, "csv")
    plain = {name.strip().lower(): name for name in table.header}
    place, tag = (next(plain[name] for name in names if name in plain) for names in (PLACES, TAGS))
    word = next((plain[name] for name in WORDS if name in plain), None)
    frame = table.read([plain["task"], plain["worker"], place, tag, *([] if word is None else [word])])
    frame = frame.with_columns(pl.all().cast(pl.String)).rename({plain["task"]: "task", plain["worker"]: "worker"})
    number = frame[place].str.strip_chars().cast(pl.Int64, strict=False)
    bad = (number.is_null() | (number < 0)).arg_true()
    if len(bad):
        row = int(bad[0])
        raise DataError(f"{where}, row {row + 1}: {frame[place][row]!r} in column {place!r} is no number of a token")
    frame = frame.with_columns(number.alias(place)).sort("task", "worker", place, maintain_order=True)
    return _found(frame, place, tag, word, where, ask)


def _found(frame: pl.DataFrame, place: str, tag: str, word: str | None, where: str, ask: Ask) -> Found:
    rows = Rows("spans")
    least = min(int(str(frame[place].min() or 0)), 1)  # some count from 1
    about: dict[str, dict[str, object]] = {}
    for (task,), part in frame.group_by("task", maintain_order=True):
        name, n = str(task), int(part[place].max()) - least + 1  # type: ignore[arg-type]
        words = [f"[{i}]" for i in range(n)]
        if word is not None:
            for i, text in part.select(place, word).drop_nulls().iter_rows():
                words[i - least] = text
        starts = [0]
        for each in words:
            starts.append(starts[-1] + len(each) + 1)
        ends = [(starts[i], starts[i] + len(words[i])) if word is not None else (i, i + 1) for i in range(n)]
        about[name] = {"task": name, "text": " ".join(words)} if word is not None else {"task": name, "tokens": n}
        for (worker,), own in part.group_by("worker", maintain_order=True):
            tags = ["O"] * n
            for i, said in own.select(place, tag).iter_rows():
                said = (said or "").strip()
                if said not in MISSING and not TAG.fullmatch(said):
                    raise DataError(f"{where}: {said!r}, which {worker} said of {name}, is no tag such as O or B-PER")
                tags[i - least] = "O" if said in MISSING else said
            rows.add(name, str(worker), [as_answer(spans_of_tags(tags, ends))])
    found = rows.found(where, ask, "tags")
    found.about_tasks = pl.DataFrame(list(about.values()))
    return found
