"""JSON one value at a time: the same values as json.loads gives, whatever the pieces, and little memory."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.io.json import stream as jsonstream

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def stream(text: str, piece: int) -> list:
    old, jsonstream.PIECE = jsonstream.PIECE, piece
    try:
        return [value for _, value in jsonstream.values(text.encode(), "x")]
    finally:
        jsonstream.PIECE = old


@given(items=st.lists(trees, max_size=5), piece=st.integers(1, 40), indent=st.sampled_from([None, 1]))
def test_arrays_and_lines_of_any_values(items, piece, indent):
    for ascii_only in (True, False):
        if any(isinstance(c, str) and not c.isprintable() for c in map(str, items)) and not ascii_only:
            continue  # lone surrogates cannot be written as UTF-8
        array = json.dumps(items, indent=indent, ensure_ascii=ascii_only)
        assert stream(array, piece) == items
    objects = [{"x": item} for item in items]
    if objects:
        assert stream("\n".join(json.dumps(each, indent=indent) for each in objects), piece) == objects


@given(text=st.text(alphabet='[]{}",:0123tfn\\ ue-.', max_size=30), piece=st.integers(1, 8))
def test_what_json_refuses_is_refused(text, piece):
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    try:
        got = stream(text, piece)
    except cw.DataError:
        # A key that stands twice is refused here, not by json; nothing else is.
        assert whole is None or "{" in text or not isinstance(whole, list)
        return
    if text.lstrip().startswith("["):
        assert got == whole
    else:  # values one after another
        assert all(value == value for value in got)


def test_lines_are_counted():
    text = '[\n{"a": 1},\n{"a": 2},\n\n{"a" 3}]'
    with pytest.raises(cw.DataError, match="x, line 5: not readable as JSON"):
        stream(text, 5)
    assert [line for line, _ in jsonstream.values(b'{"a": 1}\n\n{"a": 2}', "x")] == [1, 3]


@pytest.mark.slow
def test_a_large_array_needs_little_memory(tmp_path):
    path = tmp_path / "large.json"
    item = json.dumps({"id": 1, "data": {"text": "x" * 1000}})
    with path.open("w") as file:
        file.write("[" + ",".join([item] * 30_000) + "]")
    tracemalloc.start()
    n = sum(1 for _ in jsonstream.values(path, "large.json"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 30_000
    assert path.stat().st_size > 30_000_000
    assert peak < 20_000_000
