"""Frames of other libraries give the same annotations as plain arrays."""

from __future__ import annotations

import datetime
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.intake.frames import to_polars

TEXT = {"task": ["007", "007", "7", "8"], "worker": ["ann", "bob", "ann", "é"], "label": ["cat", "dog", "nan", None]}
INTS = {"task": [7, 7, 10, 8], "worker": [1, 2, 1, 3], "label": [2, 10, 2, None]}
BOOLS = {"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": [True, False, None]}


def same(a: cw.Annotations, b: cw.Annotations) -> None:
    for name in ("task", "worker", "label"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("tasks", "workers", "classes"):
        assert getattr(a, name).to_list() == getattr(b, name).to_list(), name
        assert getattr(a, name).dtype == getattr(b, name).dtype, name
    assert a.ledger.to_dict() == b.ledger.to_dict()


def pandas(columns, **kwargs):
    import pandas as pd

    return pd.DataFrame(columns, **kwargs)


def pandas_nullable(columns):
    return pandas(columns).convert_dtypes()


def pandas_objects(columns):
    return pandas(columns, dtype=object)


def pandas_arrow(columns):
    return pandas(columns).convert_dtypes(dtype_backend="pyarrow")


def pandas_categories(columns):
    return pandas(columns).astype("category")


def pandas_indexed(columns):
    return pandas(columns).sample(frac=1, random_state=1)


def pyarrow(columns):
    import pyarrow as pa

    return pa.table(columns)


def pyarrow_dictionaries(columns):
    import pyarrow as pa

    return pa.table({name: pa.array(values).dictionary_encode() for name, values in columns.items()})


def pyarrow_stream(columns):
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(pa.table(columns).schema, pa.table(columns).to_batches())


def duckdb(columns):
    import duckdb

    here = pl.DataFrame(columns)  # noqa: F841 - duckdb finds it by its name
    return duckdb.sql("select * from here")


LIBRARIES = [
    dict,
    pl.DataFrame,
    pl.LazyFrame,
    lambda columns: pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    lambda columns: {name: np.array(values, dtype=object) for name, values in columns.items()},
    pandas,
    pandas_nullable,
    pandas_objects,
    pandas_arrow,
    pandas_categories,
    pandas_indexed,
    pyarrow,
    pyarrow_dictionaries,
    pyarrow_stream,
    duckdb,
]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [TEXT, INTS, BOOLS], ids=["text", "integers", "booleans"])
@pytest.mark.parametrize("make", LIBRARIES, ids=lambda make: make.__name__)
def test_frames_are_the_same_as_arrays(make, columns):
    expected = cw.Annotations.from_arrays(**columns)
    assert expected.ledger.rows_dropped == 1
    frame = make({"more": [[1]] * len(columns["task"]), **columns} if make in (dict, pl.DataFrame) else columns)
    same(cw.Annotations.from_frame(frame), expected)


def test_floats_with_gaps_are_integers_again():
    expected = cw.Annotations.from_arrays(**INTS)
    gaps = {**INTS, "label": [2.0, 10.0, 2.0, float("nan")]}
    for make in (pandas, pl.DataFrame, pyarrow, dict):
        same(cw.Annotations.from_frame(make(gaps)), expected)
    halves = {**INTS, "label": [0.5, 1.0, 0.5, float("nan")]}
    for make in (pandas, pl.DataFrame, pyarrow, dict):
        assert cw.Annotations.from_frame(make(halves)).classes.to_list() == ["0.5", "1.0"]


def test_narrow_and_wide_integers():
    expected = cw.Annotations.from_arrays(**{**INTS, "label": [2, 10, 2, 2]})
    for dtype in ("int8", "uint8", "int32", "uint32", "uint64", "Int16", "UInt64"):
        frame = pandas({**INTS, "label": [2, 10, 2, 2]}).astype(dtype)
        same(cw.Annotations.from_frame(frame), expected)


def test_integers_beyond_64_bits():
    frame = pl.DataFrame({"task": pl.Series([2**64 - 1], dtype=pl.UInt64), "worker": [1], "label": [1]})
    assert [str(task) for task in cw.Annotations.from_frame(frame).tasks] == [str(2**64 - 1)]


def test_other_names_time_and_weight():
    moments = [datetime.datetime(2024, 1, 1, 12), datetime.datetime(2024, 1, 1, 11)]
    columns = {"item": ["t", "t"], "rater": ["a", "a"], "answer": ["x", "y"], "timestamp": moments, "w": [1.0, 0.5]}
    for make in (dict, pl.DataFrame, pandas, pyarrow, duckdb):
        votes = cw.Annotations.from_frame(make(columns), columns={"weight": "w"}, duplicates="last")
        assert votes.classes.gather(votes.label).to_list() == ["x"], make
        assert votes.weight.tolist() == [1.0]
        assert votes.time.tolist() == [1704110400.0]
        assert "task is read from column 'item'" in votes.ledger.notes
    zoned = pandas(columns)
    zoned["timestamp"] = zoned["timestamp"].dt.tz_localize("Europe/Berlin")
    assert cw.Annotations.from_frame(zoned, duplicates="last").time.tolist() == [1704110400.0 - 3600]


def test_policies_for_frames():
    columns = {"task": ["t", "t", "t"], "worker": ["a", "a", "a"], "label": ["x", "y", "y"]}
    with pytest.raises(cw.DataError, match="contradictory labels"):
        cw.Annotations.from_frame(columns)
    kept = {p: cw.Annotations.from_frame(columns, duplicates=p) for p in ("first", "last", "keep")}
    assert {p: v.classes.gather(v.label).to_list() for p, v in kept.items()} == {
        "first": ["x"],
        "last": ["y"],
        "keep": ["x", "y", "y"],
    }
    assert all(v.ledger.rows_in == 3 for v in kept.values())


def test_what_cannot_be_read_is_refused():
    import pandas as pd
    import pyarrow as pa

    with pytest.raises(cw.DataError, match=r"mixes|Object"):
        cw.Annotations.from_frame(pandas({**TEXT, "label": ["1", 1, "x", None]}))
    with pytest.raises(cw.DataError, match=r"mixes|Object"):
        cw.Annotations.from_frame({**TEXT, "label": ["1", 1, "x", None]})
    with pytest.raises(cw.DataError, match="label"):
        cw.Annotations.from_frame(pl.DataFrame({**TEXT, "label": [[1], [2], [3], [4]]}))
    with pytest.raises(cw.DataError, match="got a Series"):
        cw.Annotations.from_frame(pd.Series([1, 2]))
    with pytest.raises(cw.DataError, match="two columns with the same name"):
        cw.Annotations.from_frame(pd.DataFrame([[1, 2, 3, 4]], columns=["task", "worker", "label", "label"]))
    with pytest.raises(cw.DataError, match="cannot be read as a table"):
        cw.Annotations.from_frame(pa.table([[1], [2], [3], [4]], names=["task", "worker", "label", "label"]))
    with pytest.raises(cw.DataError, match="cannot be read as a table"):
        cw.Annotations.from_frame({"task": [1, 2], "worker": [1], "label": [1]})
    with pytest.raises(cw.DataError, match=r"a table was expected .* got list"):
        cw.Annotations.from_frame([1, 2])
    with pytest.raises(cw.DataError, match="the frame has no column for the worker"):
        cw.Annotations.from_frame({"task": [1], "label": [1]})
    with pytest.raises(cw.DataError, match="one dimension"):
        cw.Annotations.from_frame({"task": np.zeros((2, 2)), "worker": [1], "label": [1]})


def test_other_columns_may_hold_anything():
    frame = pandas({**TEXT, "more": [object(), [1], {"a": 1}, None]})
    same(cw.Annotations.from_frame(frame), cw.Annotations.from_arrays(**TEXT))
    assert to_polars(frame)["more"].dtype == pl.Object


def test_empty_frames():
    for make in (dict, pl.DataFrame, pandas):
        votes = cw.Annotations.from_frame(make({"task": [], "worker": [], "label": []}))
        assert (len(votes), votes.ledger.rows_in) == (0, 0)


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd, numpy as np, crowdwise as cw
text = {"task": ["007", "007", "7"], "worker": ["a", "b", "a"], "label": ["x", "y", None]}
for frame in (
    pd.DataFrame(text),
    pd.DataFrame(text).convert_dtypes(),
    pd.DataFrame(text).astype("category"),
    pd.DataFrame(text, dtype=object),
):
    votes = cw.Annotations.from_frame(frame)
    assert votes.tasks.to_list() == ["007", "7"], votes.tasks
    assert votes.ledger.to_dict()["dropped"] == {"no label": 1}
numbers = cw.Annotations.from_frame(pd.DataFrame({"task": [1, 2], "worker": [1, 1], "label": [3, np.nan]}))
assert numbers.classes.to_list() == [3]
assert "pyarrow" not in [name for name, module in sys.modules.items() if module is not None]
"""


@pytest.mark.slow
def test_pandas_without_pyarrow():
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("names", [("item_id", "gold_label"), ("prompt_id", "verdict"), ("image_id", "truth")])
def test_columns_of_votes_gold_and_truth_are_known_by_the_same_names(names):
    votes = cw.Annotations.from_frame(
        pl.DataFrame({names[0]: ["a", "a", "b", "b"], "reader": ["x", "y"] * 2, "answer": ["p", "p", "q", "p"]})
    )
    known = pl.DataFrame({names[0]: ["a", "b"], names[1]: ["p", "q"]})
    result = cw.fit(votes, "majority_vote", known.head(1))
    assert result.gold.tolist() == [True, False]
    assert cw.evaluate(result, known).n == 1
