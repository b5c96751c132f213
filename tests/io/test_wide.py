"""Wide tables: one row a task, one column a worker."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw

NAN = float("nan")
# (task, worker, label) of the same votes, as codes
LONG = cw.Annotations.from_arrays([0, 0, 1, 2, 2], [0, 1, 1, 0, 2], [3, 0, 3, 0, 10])


def rows(votes: cw.Annotations) -> list[tuple]:
    return votes.to_frame().select("task", "worker", "label").rows()


def pandas(columns):
    import pandas as pd

    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("matrix", "missing"),
    [
        (np.array([[3, 0, NAN], [NAN, 3, NAN], [0, NAN, 10]]), None),
        (np.array([[3, 0, -1], [-1, 3, -1], [0, -1, 10]]), -1),
        (np.array([[3, 0, -1], [-1, 3, -1], [0, -1, 10]], dtype=np.int8), -1),
        (np.array([[3.0, 0, -1], [-1, 3, NAN], [0, -1, 10]]), -1),
        (np.array([[3, 0, None], [None, 3, None], [0, None, 10]], dtype=object), None),
        ([[3, 0, None], [None, 3, None], [0, None, 10]], None),
        ([[3, 0, -1], [-1, 3, None], [0, -1, 10]], -1),
        (((3, 0, None), (None, 3, None), (0, None, 10)), None),
    ],
)
def test_matrices(matrix, missing):
    votes = cw.Annotations.from_matrix(matrix, missing=missing)
    assert rows(votes) == rows(LONG)
    assert votes.classes.dtype == pl.Int64
    assert (votes.n_tasks, votes.n_workers, votes.n_classes) == (3, 3, 3)
    assert votes.ledger.rows_in == 5 == votes.ledger.rows_used
    assert votes.ledger.notes == ("a wide table of 3 tasks × 3 workers; 4 of 9 cells are empty",)


@pytest.mark.parametrize("make", [pl.DataFrame, pandas, dict], ids=["polars", "pandas", "dict"])
def test_frames(make):
    columns = {"ann": [3, None, 0], "bob": [0, 3, None], "eve": [None, None, 10], "idle": [None, None, None]}
    votes = cw.Annotations.from_matrix(make(columns), tasks=["a", "b", "c"])
    expected = [("a", "ann", 3), ("a", "bob", 0), ("b", "bob", 3), ("c", "ann", 0), ("c", "eve", 10)]
    assert rows(votes) == expected
    assert votes.workers.to_list() == ["ann", "bob", "eve", "idle"]
    assert votes.classes.to_list() == [0, 3, 10]


def test_text_and_names():
    votes = cw.Annotations.from_matrix(
        [["cat", "?"], ["?", "007"], ["?", "?"]], tasks=["t3", "t1", "t2"], workers=["b", "a"], missing="?"
    )
    assert rows(votes) == [("t1", "a", "007"), ("t3", "b", "cat")]
    assert votes.tasks.to_list() == ["t1", "t2", "t3"]
    assert votes.labels_per_task.tolist() == [1, 0, 1]
    array = np.array([["cat", ""], ["dog", "cat"]])
    assert rows(cw.Annotations.from_matrix(array, missing=""))[0] == (0, 0, "cat")
    assert cw.Annotations.from_matrix(array).ledger.to_dict()["dropped"] == {"no label": 1}


def test_one_value_has_one_name_in_every_column():
    halves = np.array([[0.5, 1.0], [1.0, 1.0]])
    assert cw.Annotations.from_matrix(halves).classes.to_list() == ["0.5", "1.0"]
    frame = pl.DataFrame({"a": [0.5, 1.0], "b": [1, 1]})
    assert cw.Annotations.from_matrix(frame).classes.to_list() == ["0.5", "1.0"]
    frame = pl.DataFrame({"a": ["1", "x"], "b": [1, None]})
    assert cw.Annotations.from_matrix(frame).classes.to_list() == ["1", "x"]
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["y", None]}).with_columns(pl.all().cast(pl.Categorical))
    assert cw.Annotations.from_matrix(frame).classes.to_list() == ["x", "y"]


def test_booleans_and_odd_missing_values():
    matrix = np.array([[True, False], [True, True]])
    assert cw.Annotations.from_matrix(matrix, missing=-1).ledger.rows_in == 4
    assert cw.Annotations.from_matrix(matrix, missing=False).ledger.rows_in == 3
    assert cw.Annotations.from_matrix(np.array([[1, 0]]), missing="?").ledger.rows_in == 2
    assert cw.Annotations.from_matrix(np.array([["1", "-1"]]), missing=-1).ledger.rows_in == 1


def test_given_classes():
    votes = cw.Annotations.from_matrix([[0, 1], [None, 1]], classes=range(4))
    assert votes.classes.to_list() == [0, 1, 2, 3]
    with pytest.raises(cw.DataError, match="not among the given classes"):
        cw.Annotations.from_matrix([[0, 1]], classes=[0])


@pytest.mark.parametrize(
    ("matrix", "names", "words"),
    [
        ([1, 2], {}, "two dimensions"),
        ([[1, 2], [1]], {}, "equally long rows"),
        (np.arange(3), {}, r"two dimensions .* \(3,\)"),
        ([[1, 2]], {"tasks": ["a", "b"]}, "1 tasks but 2 names"),
        ([[1, 2]], {"workers": ["a"]}, "2 workers but 1 names"),
        ([[1], [2]], {"tasks": ["a", "a"]}, "task 'a' occurs more than once"),
        ([[1, 2]], {"workers": ["a", "a"]}, "worker 'a' occurs more than once"),
        ([[1], [2]], {"tasks": ["a", None]}, "task 2 of the wide table has no name"),
        ([["a", 1]], {}, "mixes the types int, str"),
        ("text", {}, "a table was expected"),
    ],
)
def test_what_is_refused(matrix, names, words):
    with pytest.raises(cw.DataError, match=words):
        cw.Annotations.from_matrix(matrix, **names)


def test_nothing_at_all():
    for matrix in ([], np.empty((0, 3)), np.empty((3, 0)), [[None, None]], np.full((2, 2), NAN)):
        votes = cw.Annotations.from_matrix(matrix)
        assert len(votes) == 0
        assert votes.ledger.rows_in == 0


# ------------------------------------------------------------------------------------------------ Snorkel
def test_snorkel():
    matrix = np.array([[0, -1, 1], [1, 1, -1], [-1, -1, -1]])
    votes = cw.Annotations.from_snorkel(matrix)
    assert rows(votes) == [(0, 0, 0), (0, 2, 1), (1, 0, 1), (1, 1, 1)]
    assert votes.classes.to_list() == [0, 1]
    assert votes.n_tasks == 3
    assert cw.Annotations.from_snorkel(matrix, cardinality=4).classes.to_list() == [0, 1, 2, 3]
    with pytest.raises(cw.DataError, match="cardinality is 1"):
        cw.Annotations.from_snorkel(matrix, cardinality=1)
    with pytest.raises(cw.DataError, match="holds -2"):
        cw.Annotations.from_snorkel(matrix - 1)
    with pytest.raises(cw.DataError, match="integers"):
        cw.Annotations.from_snorkel(matrix + 0.5)


def test_snorkel_from_a_file(tmp_path):
    matrix = np.array([[0, -1, 2], [2, 2, -1]])
    np.save(tmp_path / "L.npy", matrix)
    votes = cw.read(tmp_path / "L.npy")
    assert rows(votes) == rows(cw.Annotations.from_snorkel(matrix))
    assert votes.classes.to_list() == [0, 1, 2]
    assert cw.read(tmp_path / "L.npy", classes=range(5)).n_classes == 5
    (tmp_path / "L.npy").rename(tmp_path / "L.bin")
    assert rows(cw.read(tmp_path / "L.bin", format="snorkel")) == rows(votes)
    np.savez(tmp_path / "many.npz", matrix)
    with pytest.raises(cw.DataError, match="archive of arrays"):
        cw.read(tmp_path / "many.npz", format="snorkel")


# ------------------------------------------------------------------------------------------------ files
def test_wide_files(tmp_path):
    frame = pl.DataFrame({"id": ["007", "7"], "ann": ["x", None], "bob": ["y", "y"]})
    frame.write_csv(tmp_path / "w.csv")
    frame.write_parquet(tmp_path / "w.parquet")
    frame.write_ndjson(tmp_path / "w.jsonl")
    for name in ("w.csv", "w.parquet", "w.jsonl"):
        votes = cw.read(tmp_path / name, format="wide")
        assert rows(votes) == [("007", "ann", "x"), ("007", "bob", "y"), ("7", "bob", "y")]
    pl.DataFrame({"id": [7, 8], "ann": [1.0, None], "bob": [0, 1]}).write_parquet(tmp_path / "n.parquet")
    votes = cw.read(tmp_path / "n.parquet", format="wide")
    assert rows(votes) == [(7, "ann", 1), (7, "bob", 0), (8, "bob", 1)]
    dropped = cw.read(tmp_path / "n.parquet", format="wide", classes=[1], unknown_classes="drop").ledger
    assert (dropped.rows_in, dropped.rows_used) == (3, 2)


cell = st.one_of(st.none(), st.integers(0, 3))


@pytest.mark.slow
@given(
    matrix=st.integers(1, 4).flatmap(lambda m: st.lists(st.lists(cell, min_size=m, max_size=m), min_size=1, max_size=6))
)
def test_wide_is_long(matrix):
    filled = [(i, j, v) for i, row in enumerate(matrix) for j, v in enumerate(row) if v is not None]
    floats = np.array([[NAN if v is None else v for v in row] for row in matrix], dtype=float)
    coded = np.array([[-1 if v is None else v for v in row] for row in matrix])
    for votes in (
        cw.Annotations.from_matrix(matrix),
        cw.Annotations.from_matrix(floats),
        cw.Annotations.from_matrix(coded, missing=-1),
        cw.Annotations.from_snorkel(coded),
    ):
        assert rows(votes) == filled
        assert votes.ledger.rows_in == len(filled)
        assert (votes.n_tasks, votes.n_workers) == (len(matrix), len(matrix[0]))


# ------------------------------------------------------------------------------------------------ columns of workers
@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("nr,group,c1,c2,extra,c3\nx,g,1,2,9,1\ny,g,2,2,8,\nz,h,1,1,7,2\n")
    return path


@pytest.mark.parametrize(
    "columns", ["c?", "c1,c2,c3", ["c1", "c[23]"], "c1:c2,c3", "c2:c1 , c3", ["c*"]], ids=lambda c: str(c)
)
def test_columns_of_workers_by_name_pattern_or_range(sheet, columns):
    votes = cw.read(sheet, worker_columns=columns)
    assert votes.workers.to_list() == ["c1", "c2", "c3"]
    assert votes.tasks.to_list() == ["x", "y", "z"]
    assert len(votes) == 8
    assert votes.about_tasks.sort("task")["group"].to_list() == ["g", "g", "h"]
    assert votes.about_tasks.columns == ["task", "group", "extra"]


def test_the_task_beside_named_workers(sheet):
    assert cw.read(sheet, worker_columns="c*", columns={"task": "extra"}).n_tasks == 3
    sheet.write_text("group,item_id,c1,c2\ng,x,1,2\ng,y,2,2\n")
    assert cw.read(sheet, worker_columns="c*").tasks.to_list() == ["x", "y"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"worker_columns": "coder*"}, "no column 'coder\\*' for --workers"),
        ({"worker_columns": "*"}, "none is left for the task"),
        ({"worker_columns": "c*", "format": "csv"}, "for wide tables, not for the format csv"),
        ({"worker_columns": "c*", "columns": {"worker": "nr"}}, "only the column of the task"),
    ],
)
def test_columns_of_workers_that_cannot_be(sheet, options, words):
    with pytest.raises(cw.errors.CrowdwiseError, match=words):
        cw.read(sheet, **options)


def test_a_comment_that_is_a_class_stays_a_worker(tmp_path):
    path = tmp_path / "sheet.csv"
    path.write_text("task,ann,note\n1,good,good\n2,bad,good\n3,bad,bad\n")
    assert cw.read(path, format="wide").workers.to_list() == ["ann", "note"]
    long = "a transcript of a recording that is rather long, number"
    path.write_text(f"task,ann,bob\n1,{long} 1,{long} 2\n2,{long} 3,{long} 4\n".replace("long, number", "long number"))
    assert cw.read(path, format="wide", kind="texts").n_workers == 2


# ------------------------------------------------------------------------------------------------ texts among numbers
@pytest.mark.parametrize("text", ["k.A.", "NA", "n/a", "keine Angabe", "-", "x"])
def test_a_text_among_numbers_is_asked_about(tmp_path, text):
    path = tmp_path / "votes.csv"
    rows = [f"t{i},w{i % 4},{text if i % 9 == 0 else i % 5 + 1}" for i in range(60)]
    path.write_text("task,worker,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(cw.DataError, match=r"are numbers, but for .* \(7\): are these missing values\? --missing"):
        cw.read(path)
    assert cw.read(path, missing=[text]).n_classes == 5
    assert cw.read(path, kind="classes").n_classes == 6


def test_texts_that_are_classes_are_not_asked_about(tmp_path):
    path = tmp_path / "votes.csv"
    for labels in (["a", "b", "1"], ["0", "1", "both"], ["1", "2", "3", "w", "x", "y", "z"]):
        rows = [f"t{i},w{i % 4},{labels[i % len(labels)]}" for i in range(60)]
        path.write_text("task,worker,label\n" + "\n".join(rows) + "\n")
        assert cw.read(path).n_classes == len(labels)
