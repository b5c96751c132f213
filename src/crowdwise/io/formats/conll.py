"""CoNLL columns: one token per line with a tag of each worker, and a blank line between texts.

The first line may name the columns (token, then the workers). `# id = NAME` names the following text; otherwise texts
are numbered. `?` marks texts that a worker did not annotate. A text is its tokens, separated by blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..sources import Source, text_source
from .base import LIKELY, FileHead, FormatMatch, ParsedFile, RowBuilder
from .marks import MISSING, TAG, as_answer, spans_of_tags, token_ends

TOKEN = ("token", "tokens", "word", "words", "form")
_ID = re.compile(r"#\s*(?:id|sent_id|task|doc_id)\s*[:=]\s*(.+)")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match lines of a token and tags such as O, B-PER, I-PER."""
    lines = [" ".join(head.header).split(), *(" ".join(row).split() for row in head.rows)]
    named = bool(lines[0]) and lines[0][0].lower() in TOKEN
    lines = [line for line in lines[named:] if line and not line[0].startswith(("#", "-DOCSTART-"))]
    tags = [tag for line in lines for tag in line[1:]]
    right = bool(tags) and all(tag in MISSING or TAG.fullmatch(tag) for tag in tags)
    if right and all(len(line) > 1 for line in lines) and any("-" in tag or tag == "O" for tag in tags):
        return FormatMatch(LIKELY, "its lines hold a token and tags such as O, B-PER, I-PER")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per worker and text."""
    options.allow_columns(where)
    rows = RowBuilder("spans")
    workers: list[str] | None = None
    texts: dict[str, str] = {}
    for at, name, lines in _texts(source, where):
        if workers is None:
            named = lines[0][0].lower() in TOKEN and not any(TAG.fullmatch(tag) for tag in lines[0][1:])
            workers = lines[0][1:] if named else [str(i) for i in range(1, len(lines[0]))]
            lines = lines[1:] if named else lines
            if not workers or len(set(workers)) < len(workers):
                raise DataError(f"{at}: a column of tags is missing, or two workers have one name")
        if lines:
            _add(rows, at, name, lines, workers, texts)
    if not texts:
        raise DataError(f"{where} holds no tokens with tags; is it a CoNLL file?")
    result = rows.finish(where, options, "tags")
    result.about_tasks = pl.DataFrame({"task": list(texts), "text": list(texts.values())})
    return result


def _add(
    rows: RowBuilder, at: str, name: str, lines: list[list[str]], workers: list[str], texts: dict[str, str]
) -> None:
    for line in lines:
        if len(line) != len(workers) + 1:
            raise DataError(f"{at}: the token {line[0]!r} has {len(line) - 1} tags, not {len(workers)}; mark gaps by ?")
    if name in texts:
        raise DataError(f"{at}: two texts are called {name!r}; give them different names with `# id = NAME`")
    tokens = [line[0] for line in lines]
    texts[name] = " ".join(tokens)
    ends = token_ends(tokens)
    rows.mention(name)
    for j, worker in enumerate(workers):
        tags = [line[j + 1] for line in lines]
        if all(tag in MISSING for tag in tags):
            continue
        wrong = next((tag for tag in tags if tag not in MISSING and not TAG.fullmatch(tag)), None)
        if wrong is not None:
            raise DataError(f"{at}: {wrong!r} is not a tag such as O, B-PER or I-PER")
        plain = ["O" if tag in MISSING else tag for tag in tags]
        rows.add(name, worker, [as_answer(spans_of_tags(plain, ends))])


def _texts(source: Source, where: str) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield (place for messages, name, lines as cells) of every text."""
    content = text_source(source, where)[0]
    data = content if isinstance(content, bytes) else content.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{where} is no UTF-8 text; convert it first") from None
    name, number, first = "", 0, 1
    lines: list[list[str]] = []
    for i, line in enumerate([*text.splitlines(), ""], 1):
        match = _ID.fullmatch(line.strip())
        if match:
            name = match[1].strip()
        elif line.strip() and not line.startswith(("# ", "-DOCSTART-")):
            first = first if lines else i
            lines.append(line.split("\t") if "\t" in line else line.split())
        elif lines and not line.strip():
            number += 1
            yield f"{where}, line {first}", name or str(number), lines
            name, lines = "", []
