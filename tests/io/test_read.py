"""cw.read and cw.read_truth: every format, policy and ledger; CSV agrees with the csv module of Python."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.core.intake.columns import choose, parse_columns, seconds
from crowdwise.io.csv.check import count_rows
from crowdwise.io.sources import FileTable
from crowdwise.io.tables import format_of, open_table

ROWS = [("007", "ann", "cat"), ("007", "bob", "dog"), ("7", "ann", "cat"), (" 7", "eve", "nan"), ("7", "bob", "cat")]
NAMES = ("task", "worker", "label")


def columns_of(rows):
    return dict(zip(NAMES, (list(column) for column in zip(*rows, strict=True)), strict=True))


def as_csv(rows, header=NAMES, **kwargs) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n", **kwargs).writerows([header, *rows])
    return file.getvalue().encode()


def as_jsonl(rows) -> bytes:
    return "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in rows).encode()


def as_parquet(rows) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns_of(rows)).write_parquet(file)
    return file.getvalue()


def same(a: cw.Annotations, b: cw.Annotations) -> bool:
    arrays = all(np.array_equal(getattr(a, n), getattr(b, n)) for n in NAMES)
    names = all(getattr(a, n).to_list() == getattr(b, n).to_list() for n in ("tasks", "workers", "classes"))
    return arrays and names


# ------------------------------------------------------------------------------------------------ formats
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.csv", as_csv(ROWS)),
        ("v.tsv", as_csv(ROWS, delimiter="\t")),
        ("v.csv.gz", gzip.compress(as_csv(ROWS), mtime=0)),
        ("v.jsonl", as_jsonl(ROWS)),
        ("v.jsonl.gz", gzip.compress(as_jsonl(ROWS), mtime=0)),
        ("v.parquet", as_parquet(ROWS)),
        ("quoted.csv", as_csv(ROWS, quoting=csv.QUOTE_ALL)),
        ("reordered.csv", as_csv([(c, "x", t, w) for t, w, c in ROWS], ("label", "more", "task", "worker"))),
    ],
)
def test_every_format_is_the_same(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    expected = cw.Annotations.from_arrays(**columns_of(ROWS))
    for path in (tmp_path / name, str(tmp_path / name)):
        votes = cw.read(path)
        assert same(votes, expected)
        assert votes.tasks.to_list() == [" 7", "007", "7"]
        (note,) = votes.ledger.notes
        assert note.startswith("class 'nan' (1 label) reads like a missing value")
        told = {"rows_in": 5, "rows_used": 5, "rows_dropped": 0, "dropped": {}, "notes": [note]}
        assert votes.ledger.to_dict() == told


def test_parquet_keeps_types(tmp_path):
    path = tmp_path / "v.parquet"
    frame = pl.DataFrame({"task": [7, 7, 10], "worker": ["a", "b", None], "label": [True, False, True]})
    frame.write_parquet(path)
    votes = cw.read(path)
    assert votes.tasks.to_list() == [7, 10]
    assert votes.classes.to_list() == ["false", "true"]
    assert dict(votes.ledger.dropped) == {"no worker": 1}
    frame.with_columns(pl.col("worker").cast(pl.Categorical), label=pl.Series([0.5, 1.0, 1.0])).write_parquet(path)
    assert cw.read(path, kind="classes").classes.to_list() == ["0.5", "1.0"]


def test_jsonl_numbers_are_written_out(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text(
        '{"task": 7, "worker": 12345678901234567890, "label": true}\n{"task": "7", "worker": 1.5, "label": "true"}\n'
    )
    votes = cw.read(path)
    assert votes.tasks.to_list() == ["7"]
    assert votes.workers.to_list() == ["1.5", "12345678901234567890"]
    assert votes.classes.to_list() == ["true"]


def test_a_second_read_gives_dense_codes(tmp_path):
    for name, rows in (("a", ROWS), ("b", [("x", "y", "z"), ("x", "u", "v")])):
        (tmp_path / f"{name}.csv").write_bytes(as_csv(rows))
    cw.read(tmp_path / "a.csv")
    votes = cw.read(tmp_path / "b.csv")
    assert votes.tasks.to_list() == ["x"]
    assert votes.task.tolist() == [0, 0]
    assert sorted(votes.worker.tolist()) == [0, 1]


def test_classes_and_unknown_classes(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(as_csv(ROWS))
    with pytest.raises(cw.DataError, match=r"v.csv: 1 values of label are not among the given classes: 'nan'"):
        cw.read(path, classes=["cat", "dog", "cow"])
    votes = cw.read(path, classes=["cat", "dog", "cow"], unknown_classes="drop")
    assert votes.classes.to_list() == ["cat", "cow", "dog"]
    assert votes.ledger.rows_dropped == 1
    assert votes.ledger.rows_in == 5


def test_parameters_are_checked(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(as_csv(ROWS))
    with pytest.raises(cw.ParameterError, match="format must be one of csv"):
        cw.read(path, format="xls")
    with pytest.raises(cw.ParameterError, match="duplicates must be"):
        cw.read(path, duplicates="best")
    with pytest.raises(cw.ParameterError, match="columns accepts the names"):
        cw.read(path, columns={"who": "worker"})


def test_the_public_names_of_tables(tmp_path):
    path = tmp_path / "v.tsv.gz"
    path.write_bytes(gzip.compress(as_csv(ROWS, delimiter="\t"), mtime=0))
    assert format_of(path) == "tsv"
    table = open_table(path)
    assert isinstance(table, FileTable)
    assert (table.where, table.format, table.header) == ("v.tsv.gz", "tsv", ["task", "worker", "label"])
    frame = table.read(["label", "task"])
    assert frame.columns == ["label", "task"]
    assert frame.dtypes == [pl.String, pl.String]


# ------------------------------------------------------------------------------------------------ CSV
plain = st.sampled_from(["a", "b", "007", " x ", "é", "🙂", "", "  ", "5'", "#"])
tricky = st.sampled_from(['say "no"', "a,b", "line\nbreak", "cr\r\nlf", '"', ";", "\t"])
cells = st.one_of(plain, plain, tricky)


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(cells, cells, cells, cells), max_size=12),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    separator=st.sampled_from([",", ";", "\t"]),
    mark=st.booleans(),
    last=st.booleans(),
)
def test_csv_agrees_with_python(tmp_path_factory, rows, quoting, end, separator, mark, last):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([("task", "worker", "more", "label"), *rows])
    text = file.getvalue() if last else file.getvalue().removesuffix(end)
    path = tmp_path_factory.mktemp("csv") / "v.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    usable = [(t, w, c) for t, w, _, c in rows if t.strip() and w.strip() and c.strip()]
    if not usable:
        with pytest.raises(cw.DataError, match=r"v\.csv"):
            cw.read(path, duplicates="keep")
        return
    if end == "\r" and any("\n" in cell for row in rows for cell in row):
        return  # which of the two ends a line cannot be told; refused in the tests of bad files
    votes = cw.read(path, duplicates="keep")
    assert sorted(votes.to_frame().select(NAMES).rows()) == sorted(usable)
    assert votes.ledger.rows_in == len(rows)
    assert votes.ledger.rows_used == len(usable)


@given(
    text=st.text(alphabet='ab",\n\r\0é ', max_size=60),
    size=st.integers(1, 7),
)
def test_counting_does_not_depend_on_chunks(text, size):
    data = ("a,b\n" + text).encode()

    def count(step):
        try:
            return count_rows([data[i : i + step] for i in range(0, len(data), step)], "f", ",", "\n", 2)
        except cw.DataError as error:
            return str(error)

    whole, parts = count(len(data)), count(size)
    if isinstance(whole, int):
        assert parts == whole
        assert whole == sum(1 for _ in csv.reader(io.StringIO(data.decode(), newline="")))
    else:
        assert isinstance(parts, str)


def test_rows_longer_than_a_chunk(tmp_path):
    path = tmp_path / "v.csv"
    long = "x" * 9_000_000
    path.write_bytes(as_csv([("t1", "ann", long), ("t2", long, '"\n"')]))
    votes = cw.read(path)
    assert votes.classes.to_list() == ['"\n"', long]


# ------------------------------------------------------------------------------------------------ columns and times
def test_which_column_is_which():
    assert parse_columns("task=a, worker = b,") == {"task": "a", "worker": "b"}
    assert parse_columns(None) == {}
    chosen, notes = choose(["Item_ID", "annotator", "vote", "created_at", "x"], None, "f")
    assert chosen == {"task": "Item_ID", "worker": "annotator", "label": "vote", "time": "created_at"}
    assert len(notes) == 4
    assert choose(["task", "item", "worker", "label"], None, "f") == (dict(zip(NAMES, NAMES, strict=True)), ())
    assert choose(["a", "b", " c "], {"task": "a", "worker": "b", "label": "c"}, "f")[0]["label"] == " c "
    with pytest.raises(cw.DataError, match="'Task', 'TASK'"):
        choose(["Task", "TASK", "worker", "label"], None, "f")


def test_times():
    noon = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC).timestamp()
    texts = [
        "2024-05-01T12:00:00Z",
        "2024-05-01 12:00",
        "2024-05-01T14:00:00.000+02:00",
        " 2024-05-01T07:00:00-0500 ",
        None,
        "",
    ]
    found = seconds(pl.Series("t", texts), "f")
    assert found[:4].tolist() == [noon] * 4
    assert np.isnan(found[4:]).all()
    assert seconds(pl.Series(["2024-05-01"]), "f").tolist() == [noon - 12 * 3600]
    assert seconds(pl.Series(["1.5", "-2", None]), "f")[:2].tolist() == [1.5, -2]
    naive = pl.Series([datetime.datetime(2024, 5, 1, 12)])
    assert seconds(naive, "f").tolist() == [noon]
    assert seconds(naive.dt.replace_time_zone("Europe/Berlin"), "f").tolist() == [noon - 2 * 3600]
    assert seconds(pl.Series([datetime.date(2024, 5, 1)]), "f").tolist() == [noon - 12 * 3600]
    assert np.isnan(seconds(pl.Series([None, None]), "f")).all()
    with pytest.raises(cw.DataError, match=r"f, row 2: 'noon' in column 't'"):
        seconds(pl.Series("t", ["1", "noon"]), "f")
    with pytest.raises(cw.DataError, match=r"is not a time"):
        seconds(pl.Series("t", [[1]]), "f")


def test_weights(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(b"task,worker,label,w,time\nt1,a,x,0.5,20\nt1,b,y, 2 ,10\n")
    votes = cw.read(path, columns={"weight": "w"})
    assert votes.weight.tolist() == [0.5, 2]
    assert votes.time.tolist() == [20, 10]
    assert votes.votes.tolist() == [[0.5, 2]]
    assert cw.read(path).weight is None


# ------------------------------------------------------------------------------------------------ policies, ledger
REPEATS = [
    ("t1", "a", "x", "3"),
    ("t1", "a", "y", "1"),
    ("t1", "a", "y", "2"),
    ("t2", "a", "x", ""),
    ("t2", "a", "x", "5"),
    ("t2", "b", "", "6"),
]


@pytest.mark.parametrize(
    ("policy", "timed", "labels", "exact", "contradicted"),
    [
        ("first", False, ["x", "x"], 1, 2),
        ("last", False, ["y", "x"], 2, 1),
        ("first", True, ["y", "x"], 2, 1),
        ("last", True, ["x", "x"], 1, 2),
        ("keep", False, ["x", "y", "y", "x", "x"], 0, 0),
        ("keep", True, ["x", "y", "y", "x", "x"], 0, 0),
    ],
)
def test_policies(tmp_path, policy, timed, labels, exact, contradicted):
    path = tmp_path / "v.csv"
    path.write_bytes(as_csv(REPEATS, (*NAMES, "time" if timed else "more")))
    votes = cw.read(path, duplicates=policy)
    assert votes.classes.gather(votes.label).to_list() == labels
    assert (votes.time is not None) == timed
    ledger = votes.ledger
    expected = {
        "no label": 1,
        "exact repeat of task, worker and label": exact,
        "contradicted by another row of the same task and worker": contradicted,
    }
    assert dict(ledger.dropped) == {reason: n for reason, n in expected.items() if n}
    assert ledger.rows_in == 6 == ledger.rows_used + ledger.rows_dropped


def test_the_policy_error_counts_and_names(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(as_csv(REPEATS[:2] + REPEATS[3:], (*NAMES, "time")))
    with pytest.raises(cw.DataError, match=r"v\.csv: 1 \(task, worker\) pair carries .*'t1', worker 'a': 'x', 'y'"):
        cw.read(path)
    path.write_bytes(as_csv(REPEATS[1:], (*NAMES, "time")))
    votes = cw.read(path)
    assert votes.ledger.to_dict()["dropped"] == {"no label": 1, "exact repeat of task, worker and label": 2}


maybe = st.sampled_from(["a", "b", "c", "", " ", "nan"])


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(maybe, maybe, maybe), min_size=1, max_size=20),
    policy=st.sampled_from(["first", "last", "keep"]),
)
def test_the_ledger_always_adds_up(tmp_path_factory, rows, policy):
    folder = tmp_path_factory.mktemp("ledger")
    made = {"v.csv": as_csv(rows), "v.jsonl": as_jsonl(rows), "v.parquet": as_parquet(rows)}
    usable = any(all(cell.strip() for cell in row) for row in rows)
    ledgers = []
    for name, content in made.items():
        (folder / name).write_bytes(content)
        if usable:
            ledgers.append(cw.read(folder / name, duplicates=policy).ledger.to_dict())
        else:
            with pytest.raises(cw.DataError, match=f"{name}: none of its {len(rows)} rows can be used"):
                cw.read(folder / name, duplicates=policy)
    assert all(ledger == ledgers[0] for ledger in ledgers)
    assert all(ledger["rows_in"] == len(rows) for ledger in ledgers)
    assert all(ledger["rows_used"] + sum(ledger["dropped"].values()) == len(rows) for ledger in ledgers)


# ------------------------------------------------------------------------------------------------ truth
def test_read_truth(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"task,label,more\n007,cat,\n7,dog,\n007,cat,\n")
    assert cw.read_truth(path).rows() == [("007", "cat"), ("7", "dog")]
    path.write_bytes(b"photo,what\n007,cat\n")
    assert cw.read_truth(path, columns={"task": "photo", "label": "what"}).rows() == [("007", "cat")]
    pl.DataFrame({"item": [1, 2, 3], "answer": [1.0, 0.0, None]}).write_parquet(tmp_path / "t.parquet")
    with pytest.warns(cw.errors.LedgerWarning, match=r"t\.parquet: 1 rows without a task or a label"):
        assert cw.read_truth(tmp_path / "t.parquet").rows() == [("1", "1"), ("2", "0")]
    path.write_bytes(b"task,label\na,x\na,y\nb,x\n")
    with pytest.raises(cw.DataError, match=r"t\.csv: 1 tasks have two different true labels: 'a'"):
        cw.read_truth(path)
