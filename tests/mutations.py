"""Files spoilt at random, each by the number of its case: bytes, types, nesting, hostile strings."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl

from .exports import packed

STRINGS = ["", " ", "\0", "\ud83d", "\u202e", "\x1b[2J", "=1+1", "'=1", "<script>", "{{7*7}}", "../../etc/passwd",
           "NaN", "null", "-1", "1e999", "9" * 400, "x" * 100_000, "a|b", "é" * 50, "[1", '{"choices": ["a"]}', "\r\n",
           '"', "\ufeff", "t1", "%s%n", "True"]  # fmt: skip
NUMBERS = [0, -1, 1, 1e308, -1e-308, 2**31, 2**63, 10**18, -(2**63), 10**30, 0.5]
TOKENS = [b"\0", b"\xff", b"\xed\xa0\x80", b'"', b"'", b",", b"\n", b"\r", b"{", b"}", b"[", b"]", b"NaN", b"1e999",
          b"\\ud800", b"\xff\xfe", b"<!DOCTYPE x [", b"&lol;", b"PK\x03\x04", b"PAR1", b"[" * 3000, b"\xff" * 8,
          (2**31 - 1).to_bytes(4, "little"), (2**63 - 1).to_bytes(8, "little"), b"\x80" * 5]  # fmt: skip
DTYPES = ["f4", "i8", "i4", "?", "U8", "S4", "c16", ">f8", "u1", "f2", "M8[s]"]


def mutate(name: str, content: bytes, draw: Random) -> bytes:
    """The file spoilt: by what it is, or, as often, byte by byte."""
    kinds = {".json": _json, ".jsonl": _jsonl, ".csv": _csv, ".tsv": _csv, ".parquet": _parquet, ".npz": _npz,
             ".npy": _npy, ".zip": _zip}  # fmt: skip
    change = kinds.get(Path(name).suffix)
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        if change is None or draw.random() < 0.4:
            content = _bytes(content, draw)
            continue
        try:
            content = change(content, draw)
        except (Exception, pl.exceptions.PanicException):  # a damaged file need not be readable as what it was
            content = _bytes(content, draw)
    return content


def _bytes(content: bytes, draw: Random) -> bytes:
    data = bytearray(content)
    at, n = draw.randrange(len(data) + 1), draw.choice([1, 1, 2, 4, 8, 50, 1000])
    how = draw.randrange(8)
    if how == 0:
        for _ in range(n):
            if data:
                data[draw.randrange(len(data))] = draw.randrange(256)
    elif how == 1:
        del data[at : at + n]
    elif how == 2:
        data[at:at] = data[at : at + n] * draw.choice([1, 2, 50])
    elif how == 3:
        data[at:at] = draw.choice(TOKENS)
    elif how == 4:
        token = draw.choice(TOKENS)
        data[at : at + len(token)] = token
    elif how == 5:
        del data[at:]
    elif how == 6:
        data[at : at + n] = bytes(min(n, len(data) - at))
    else:
        other = draw.randrange(len(data) + 1)
        data[at : at + n], data[other : other + n] = data[other : other + n], data[at : at + n]
    return bytes(data)


def _value(draw: Random) -> Any:
    deep: Any = 1
    for _ in range(draw.choice([5, 200])):
        deep = [deep]
    return draw.choice(
        [None, True, False, [], {}, deep, [[]], {"a": {"b": []}}, [1, "a", None], draw.choice(STRINGS),
         draw.choice(STRINGS), draw.choice(NUMBERS), draw.choice(NUMBERS)]
    )  # fmt: skip


def _spoilt(value: Any, draw: Random) -> Any:
    """One value somewhere within is another, gone, wrapped, doubled, or under another name."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        if draw.random() < 0.75:
            return value | {key: _spoilt(value[key], draw)}
        rest = {k: v for k, v in value.items() if k != key}
        return draw.choice([rest, rest | {draw.choice(STRINGS): value[key]}, value | {key + " ": value[key]}])
    if isinstance(value, list) and value and draw.random() < 0.9:
        i = draw.randrange(len(value))
        if draw.random() < 0.75:
            return [*value[:i], _spoilt(value[i], draw), *value[i + 1 :]]
        return draw.choice([value[:i], value * 2, [*value, _value(draw)], value[::-1], {"a": value}])
    return draw.choice([_value(draw), [value], {"x": value}, _value(draw)])


def _json(content: bytes, draw: Random) -> bytes:
    return json.dumps(_spoilt(json.loads(content), draw)).encode()


def _jsonl(content: bytes, draw: Random) -> bytes:
    lines = content.split(b"\n")
    i = draw.randrange(len(lines))
    lines[i] = _json(lines[i], draw)
    return b"\n".join(lines)


def _csv(content: bytes, draw: Random) -> bytes:
    mark = b"\t" if content.split(b"\n")[0].count(b"\t") else b","
    rows = [line.split(mark) for line in content.split(b"\n")]
    row = draw.choice(rows[: draw.choice([1, len(rows)])])
    cell = draw.randrange(len(row))
    said = draw.choice(STRINGS).encode(errors="surrogatepass")
    how = draw.randrange(5)
    if how == 0:
        row[cell] = said
    elif how == 1:
        row[cell] = b'"' + said.replace(b'"', b'""') + b'"'
    elif how == 2:
        del row[cell]
    elif how == 3:
        row.insert(cell, said)
    else:
        for each in rows:
            del each[cell : cell + 1]
    return b"\n".join(mark.join(each) for each in rows)


def _parquet(content: bytes, draw: Random) -> bytes:
    frame = pl.read_parquet(io.BytesIO(content))
    name = draw.choice(frame.columns)
    column, n = frame[name], frame.height
    values: list[Any] = column.to_list()
    i = draw.randrange(max(n, 1))
    hostile = [s for s in STRINGS if s != "\ud83d"]
    changes = [
        lambda: pl.Series(name, [values] * n),
        lambda: pl.Series(name, [str(v).encode() for v in values]),
        lambda: pl.Series(name, [{"a": v} for v in values]),
        lambda: pl.Series(name, [float("nan")] * n),
        lambda: pl.Series(name, [None] * n),
        lambda: pl.Series(name, [*values[:i], draw.choice(hostile), *values[i + 1 :]], strict=False),
        lambda: pl.Series(name, [draw.choice([-1, 2**62, 0]) for _ in range(n)]),
        lambda: column.shuffle(seed=i),
        lambda: column.cast(pl.Categorical, strict=False),
        lambda: pl.Series(name, range(n)).cast(pl.Datetime),
    ]
    how = draw.randrange(len(changes) + 4)
    if how < len(changes):
        frame = frame.with_columns(changes[how]())
    elif how == len(changes):
        frame = frame.drop(name)
    elif how == len(changes) + 1:
        frame = frame.rename({name: draw.choice(hostile)})
    else:
        frame = draw.choice([frame.head(i), pl.concat([frame, frame]), frame.clear(), frame.reverse()])
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _array(array: Any, draw: Random) -> Any:
    flat = array.copy().ravel()
    if flat.size:
        flat[draw.randrange(flat.size)] = draw.choice([np.nan, np.inf, -1.0, 1e300]) if flat.dtype.kind == "f" else -1
    return draw.choice([flat.reshape(array.shape), flat, array[..., None], array[:0], array.T, array * 2, -array,
                        array.astype(draw.choice(DTYPES)), np.zeros((3, 4)), np.float64(3.0), array[:-1]])  # fmt: skip


def _npy(content: bytes, draw: Random) -> bytes:
    if draw.random() < 0.3:  # a header that lies, as long as it was
        shape = draw.choice([b"(10000000000,)", b"(-1,)", b"(1, 1, 1, 1)", b"(2**60, 3)", b"(0, 999999999)"])
        start, end = content.index(b"(", content.index(b"shape")), content.index(b")") + 1
        spare = end - start - len(shape)
        return content[:start] + shape + b" " * max(spare, 0) + content[end:]
    file = io.BytesIO()
    np.save(file, _array(np.load(io.BytesIO(content)), draw))
    return file.getvalue()


def _npz(content: bytes, draw: Random) -> bytes:
    return _zip(content, draw)


def _zip(content: bytes, draw: Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(list(files))
    how = draw.randrange(10)
    if how == 0:
        del files[name]
    elif how == 1:
        files[draw.choice([s for s in STRINGS if s not in ("\0", "\ud83d", "x" * 100_000)]) + name] = files.pop(name)
    else:
        files[name] = mutate(name, files[name], draw)
    return packed(files)
