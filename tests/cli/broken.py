"""Broken exports, made by code out of whole ones: what goes wrong on the way from a tool to a file."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from functools import lru_cache

from ..exports import SAMPLES, cvat, packed, said_by

DEEP = "[" * 100_000 + "]" * 100_000
HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"


def _first_object(content: bytes, insert: str) -> bytes:
    """Something more at the beginning of the first object."""
    at = content.index(b"{") + 1
    return content[:at] + insert.encode() + b", " + content[at:]


def _in_text(content: bytes, junk: bytes) -> bytes:
    at = content.index(b'": "') + 4
    return content[:at] + junk + content[at:]


def _array(content: bytes) -> bool:
    return content.lstrip().startswith(b"[")


JSON = {
    "empty": lambda c: b"",
    "blank": lambda c: b" \n \n",
    "cut in half": lambda c: c[: len(c) // 2] if _array(c) or c.count(b"\n") < 2 else c[: c.index(b"\n") // 2],
    "cut at the end": lambda c: c.rstrip()[:-1],
    "latin-1": lambda c: _in_text(c, b"caf\xe9 "),
    "cut within a letter": lambda c: _in_text(c, "é".encode()[:1]),
    "utf-16 without a mark": lambda c: c.decode().encode("utf-16-le"),
    "a NUL byte": lambda c: _in_text(c, b"\0"),
    "a tab in text": lambda c: _in_text(c, b"\t"),
    "nested deeply": lambda c: _first_object(c, f'"deep": {DEEP}'),
    "a key twice": lambda c: _first_object(c, '"key": 1, "key": 2'),
    "NaN": lambda c: _first_object(c, '"x": NaN'),
    "Infinity": lambda c: _first_object(c, '"x": -Infinity'),
    "too many digits": lambda c: _first_object(c, f'"x": {"9" * 5000}'),
    "no comma": lambda c: c.replace(b'", "', b'" "', 1),
    "comma at the end": lambda c: c.rstrip()[:-1] + b",]" if _array(c) else c.rstrip()[:-1] + b",}",
    "single quotes": lambda c: c.replace(b'"', b"'"),
    "python's words": lambda c: _first_object(c, '"x": None'),
    "a number among objects": lambda c: b"[5, " + c.lstrip()[1:] if _array(c) else b"5\n" + c,
    "a list among objects": lambda c: b"[[], " + c.lstrip()[1:] if _array(c) else b"[]\n" + c,
    "junk after the end": lambda c: c + b"]}",
    "packed and cut": lambda c: gzip.compress(c, mtime=0)[:-9],
    "a web page": lambda c: HTML,
    "only brackets": lambda c: b"[]" if _array(c) else b"{}",
}


def _rows(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def _separator(content: bytes) -> bytes:
    return b"\t" if b"\t" in _rows(content)[0] else b","


TABLE = {
    "empty": lambda c: b"",
    "blank": lambda c: b"\n\n",
    "header only": lambda c: _rows(c)[0] + b"\n",
    "short row": lambda c: c + b"x" + _separator(c) + b"y\n",
    "long row": lambda c: c + _rows(c)[1] + _separator(c) + b"more\n",
    "open quote": lambda c: c + b'"' + _rows(c)[1].replace(b'"', b"") + b"\n",
    "column twice": lambda c: c.replace(*(_twice(c)), 1),
    "latin-1 beside utf-8": lambda c: (
        c + _rows(c)[1].replace(b"ann", b"\xc3\xa9\xe9").replace(b"1.0", b"\xc3\xa9\xe9") + b"\n"
    ),
    "a NUL byte": lambda c: c + _rows(c)[1].replace(b"ann", b"a\0").replace(b"1.0", b"\0") + b"\n",
    "utf-16 without a mark": lambda c: c.decode().encode("utf-16-le"),
    "cut within utf-16": lambda c: c.decode().encode("utf-16")[:-1],
    "packed and cut": lambda c: gzip.compress(c, mtime=0)[:-9],
    "a web page": lambda c: HTML,
    "workbook": lambda c: packed({"xl/workbook.xml": b"<workbook/>", "[Content_Types].xml": b"<Types/>"}),
    "lone carriage return": lambda c: c.rstrip() + b"\r" + _rows(c)[1] + b"\n",
}


def _twice(content: bytes) -> tuple[bytes, bytes]:
    head = _rows(content)[0]
    names = head.split(_separator(content))
    return head, _separator(content).join([*names[:-1], names[-2]])


@lru_cache
def bomb() -> bytes:
    """A few kilobytes that would be 64 MB."""
    return packed({"ann.jsonl": b"\0" * (1 << 26), "annotations.xml": b" " * (1 << 26)})


def _lying(content: bytes) -> bytes:
    """An archive whose sizes are not those of its files."""
    at = content.rindex(b"PK\x01\x02")
    return content[: at + 24] + struct.pack("<I", 10) + content[at + 28 :]


def early(content: bytes) -> bytes:
    """An archive whose first member is said to begin before the archive does."""
    # The end record's offset is made larger than it is, so that every offset is taken to be off by as much.
    at = content.rindex(b"PK\x05\x06") + 16
    start = struct.unpack("<I", content[at : at + 4])[0]
    return content[:at] + struct.pack("<I", start + 7) + content[at + 4 :]


def _encrypted(content: bytes) -> bytes:
    out = bytearray(content)
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := content.find(magic, at + 1)) >= 0:
            out[at + place] |= 1
    return bytes(out)


def _spoilt(content: bytes, spoil) -> bytes:
    """Every member changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return packed({name: spoil(archive.read(name)) for name in archive.namelist()})


def _damaged(content: bytes) -> bytes:
    at = content.index(b"PK\x03\x04") + 30 + 20
    return content[:at] + bytes(b ^ 255 for b in content[at : at + 12]) + content[at + 12 :]


def _same_names(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(file, "w") as twice:
        name = archive.namelist()[0]
        for info in (zipfile.ZipInfo(name), zipfile.ZipInfo(name)):
            twice.filelist.append(info)
            twice.NameToInfo.pop(name, None)
            twice.filelist.pop()
            twice.writestr(info, archive.read(name))
    return file.getvalue()


ARCHIVE = {
    "empty": lambda c: b"",
    "empty archive": lambda c: packed({}),
    "other files": lambda c: packed({"readme.txt": b"hello"}),
    "cut in half": lambda c: c[: len(c) // 2],
    "cut at the end": lambda c: c[:-10],
    "only the start": lambda c: b"PK\x03\x04" + bytes(90),
    "damaged": _damaged,
    "encrypted": _encrypted,
    "lying about its sizes": _lying,
    "a bomb": lambda c: bomb(),
    "members cut": lambda c: _spoilt(c, lambda m: m.rstrip()[:-1]),
    "members empty": lambda c: _spoilt(c, lambda m: b""),
    "members that are web pages": lambda c: _spoilt(c, lambda m: HTML),
    "members in latin-1": lambda c: _spoilt(c, lambda m: m.replace(b"pos", b"p\xf6s").replace(b"neg", b"n\xe9g")),
    "two of one name": _same_names,
}

LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE annotations [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>
<annotations><image name="&b;"><tag label="&b;"/></image></annotations>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE annotations [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<annotations><image name="a"><tag label="&x;"/></image></annotations>"""
XML = {
    "cut in half": lambda c: c[: len(c) // 2],
    "cut at the end": lambda c: c[:-1],
    "a bomb of entities": lambda c: LAUGHS,
    "a file from outside": lambda c: OUTSIDE,
    "latin-1": lambda c: c.replace(b"pos", b"p\xf6s"),
    "unknown encoding": lambda c: c.replace(b'"utf-8"', b'"klingon"'),
    "another root": lambda c: c.replace(b"annotations>", b"notes>"),
    "nested deeply": lambda c: c.replace(b"<version>", b"<a>" * 5000 + b"<version>", 1),
    "a web page": lambda c: HTML,
    "no tags": lambda c: b"<annotations><image name='t1'></image></annotations>",
    "no images": lambda c: b"<annotations></annotations>",
    "NUL": lambda c: c.replace(b"pos", b"p\0s"),
    "a stray &": lambda c: c.replace(b"pos", b"p&s"),
    "empty": lambda c: b"",
}


PARQUET = {
    "empty": lambda c: b"",
    "cut": lambda c: c[:-20],
    "damaged": lambda c: c[:4] + b"\xff" * 60 + c[64:],
}

# What leaves a file readable: a plain table of JSON lines may have other keys twice; packed members hide their text.
READABLE = {("llm_judge", "a key twice"), ("cvat zips", "members in latin-1")}


def kinds():
    """(sample's name, fault, file's name, content, arguments) of every broken file."""
    faults = {".json": JSON, ".jsonl": JSON, ".csv": TABLE, ".tsv": TABLE, ".zip": ARCHIVE, ".xml": XML}
    for name, sample in SAMPLES.items():
        for fault, spoil in faults.get("." + sample.name.split(".")[1], PARQUET).items():
            if (name, fault) not in READABLE:
                yield name, fault, sample.name, spoil(sample.content), sample.arguments


def nested_zips() -> bytes:
    """A zip in a zip in a zip: only the first two are opened."""
    return packed({"a.zip": packed({"b.zip": packed({"annotations.xml": cvat(said_by("ann"))})})})
