"""Bad files: exit code 2 and one line on stderr that says where, what and what to do."""

from __future__ import annotations

import gzip
import json
import os

import numpy as np
import pytest

from .made import HEAD, LINE, ROWS, VOTES, npy, parquet, zst

PARQUET = parquet(task=["t1", "t1"], worker=["a", "b"], label=["x", "y"])
GZ = gzip.compress(VOTES * 500, mtime=0)
NPY_HEADER = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }"
NPY_TOO_LARGE = b"\x93NUMPY\x01\x00\x76\x00" + NPY_HEADER.ljust(117) + b"\n"
DEEP = b"[" * 99_999 + b"]" * 99_999


def timed(when: bytes, weight: bytes) -> bytes:
    return b"task,worker,label,when,w\nt1,ann,cat," + when + b"," + weight + b"\n"


def row(task: bytes, label: bytes) -> bytes:
    return b'{"task": ' + task + b', "worker": "ann", "label": ' + label + b"}\n"


# name, file, bytes, arguments, words that the message must hold
BAD = [
    # nothing in it
    ("empty", "v.csv", b"", "", "v.csv is empty | right file"),
    ("whitespace", "v.csv", b" \n\t\n  \n", "", "v.csv is empty | header"),
    ("only a byte order mark", "v.csv", b"\xef\xbb\xbf", "", "v.csv is empty"),
    ("header only", "v.csv", HEAD, "", "v.csv has a header but no rows"),
    ("header without line end", "v.csv", HEAD[:-1], "", "v.csv has a header but no rows"),
    ("blank first line", "v.csv", b"\n" + VOTES, "", "v.csv, line 1 | blank | task,worker,label"),
    ("only blank rows", "v.csv", HEAD + b",,\n\n", "", "v.csv | none of its 2 rows | 2 blank row"),
    ("only empty labels", "v.csv", HEAD + b"t1,ann,\nt2,ann,  \n", "", "v.csv | 2 no label | right columns"),
    ("packed nothing", "v.csv.gz", gzip.compress(b"", mtime=0), "", "v.csv.gz is empty"),
    ("packed nothing with zstd", "v.csv.zst", zst(b""), "", "v.csv.zst is empty"),
    ("jsonl of blanks", "v.jsonl", b"\n \n", "", "v.jsonl is empty"),
    # not text, or not UTF-8
    ("utf-16 without mark", "v.csv", VOTES.decode().encode("utf-16-le"), "", "v.csv | UTF-16 | save it as UTF-8"),
    ("utf-16 cut short", "v.csv", VOTES.decode().encode("utf-16")[:-1], "", "v.csv | begins like UTF-16 | byte"),
    (
        "utf-8 with damage",
        "v.csv",
        VOTES + b"t3,ann,caf\xc3\xa9\nt4,ann,caf\xe9\n",
        "",
        "v.csv, line 6 | not UTF-8 | save",
    ),
    ("no text elsewhere", "v.csv", b"task,worker,label,x\nt1,ann,cat,\xe9\x81\n", "", "v.csv, line 2: not UTF-8"),
    ("no text in the header", "v.csv", b"task,worker,label,\xe9\x9d\nt1,a,cat,1\n", "", "v.csv, line 1: not UTF-8"),
    ("NUL in a cell", "v.csv", VOTES + b"t\x003,ann,cat\n", "", "v.csv, line 5 | NUL byte | damaged"),
    ("NUL in the header", "v.csv", b"task,wor\x00ker,label\n" + ROWS, "", "v.csv, line 1 | NUL byte"),
    ("junk", "v.csv", bytes(range(128, 256)) * 20, "", "v.csv, line 1 | UTF-8"),
    ("zeros", "v.csv", bytes(5000), "", "v.csv is binary"),
    ("picture", "v.csv", b"\x89PNG\r\n\x1a\n" + bytes(90), "", "v.csv is a picture"),
    ("zip", "v.csv", b"PK\x03\x04" + bytes(90), "", "v.csv is an Excel workbook or a zip | as CSV"),
    ("zip as jsonl", "v.jsonl", b"PK\x03\x04" + bytes(90), "", "v.jsonl is an Excel workbook or a zip"),
    ("web page", "v.csv", b"<!DOCTYPE html>\n<html></html>", "", "v.csv is a web page"),
    ("bzip2", "v.csv", b"BZh91AY&SY" + bytes(90), "", "v.csv is packed with bzip2 | unpack"),
    # rows out of shape
    ("long row", "v.csv", VOTES + b"t3,ann,cat,!\n", "", "v.csv, line 5: 4 fields where the header has 3 | quote"),
    ("short row", "v.csv", VOTES + b"t3,ann\n", "", "v.csv, line 5: 2 fields where the header has 3 | empty field"),
    ("short and long row", "v.csv", VOTES + b"t3,ann\nt3,ann,cat,!\n", "", "v.csv, line 5: 2 fields"),
    ("long row, end unused", "v.csv", b"task,worker,label,x\nt1,ann,cat,a,b\n", "", "v.csv, line 2: 5 fields"),
    ("short row, end unused", "v.csv", b"task,worker,label,x\nt1,ann,cat\n", "", "v.csv, line 2: 3 fields"),
    ("short row after newlines", "v.csv", HEAD + b't1,a,"c\na\nt"\n\nt2,a\n', "", "v.csv, line 6: 2 fields"),
    ("short row far down", "v.csv", HEAD + b"t1,w1,aaaaaaaa\n" * 400_000 + b"t1\n", "", "v.csv, line 400002: 1 fields"),
    ("short row in gz", "v.csv.gz", gzip.compress(VOTES + b"t3,ann\n", mtime=0), "", "v.csv.gz, line 5: 2 fields"),
    ("short row in zst", "v.csv.zst", zst(VOTES + b"t3,ann\n"), "", "v.csv.zst, line 5: 2 fields"),
    ("short row in tsv", "v.tsv", b"task\tworker\tlabel\nt1\tann\n", "", "v.tsv, line 2: 2 fields"),
    ("lone carriage return", "v.csv", VOTES + b"t3,ann,cat\rt4,ann,cat\n", "", "v.csv, line 5 | line ends are mixed"),
    ("newline, then carriage returns", "v.csv", HEAD + b"t1,a,x\rt2,a,x\r", "", "v.csv, line 2 | line ends are mixed"),
    ("open quote", "v.csv", VOTES + b't3,ann,"cat\nt4,ann,cat\n', "", "v.csv, line 5 | never closed"),
    ("open quote among others", "v.csv", VOTES + b't3,a,"x\nt4,a,"x"\n', "", "v.csv, line 5 | quotation mark"),
    ("open quote in the header", "v.csv", b'task,worker,"label\n' + ROWS, "", "v.csv, line 1 | quotation marks"),
    ("text after a quote", "v.csv", VOTES + b't3,ann,"cat"s\n', "", "v.csv, line 5 | quotation mark | twice"),
    ("quote inside a value", "v.csv", VOTES + b't3,a,5" disk\nt4,a,3" disk\n', "", "v.csv, line 5 | quotation mark"),
    ("quote after a blank", "v.csv", VOTES + b't3,ann, "cat"\n', "", "v.csv, line 5 | quotation mark"),
    # columns
    ("duplicate header", "v.csv", b"task,worker,label,task\n", "", "v.csv, line 1 | 'task' more than once | rename"),
    ("no worker column", "v.csv", b"task,label\n", "", "v.csv has no column for the worker | --columns worker=NAME"),
    ("two candidates", "v.csv", b"item,unit,worker,label\n", "", "v.csv | 'item', 'unit' | --columns task=NAME"),
    ("unknown column", "v.csv", VOTES, "--columns label=verdict", "v.csv has no column 'verdict' | it has 'task'"),
    ("two roles, one column", "v.csv", VOTES, "--columns task=worker", "v.csv: task and worker both | 'worker'"),
    ("time is the label", "v.csv", VOTES, "--columns time=label", "v.csv: label and time both | 'label'"),
    ("columns without equals", "v.csv", VOTES, "--columns task", "--columns takes name=column pairs | 'task'"),
    ("columns with a stranger", "v.csv", VOTES, "--columns who=worker", "--columns | 'who=worker' | task, worker"),
    ("columns with nothing", "v.csv", VOTES, "--columns task=", "--columns | 'task='"),
    ("columns twice", "v.csv", VOTES, "--columns task=a,task=b", "--columns names task twice | keep one"),
    # names and packing
    ("unknown extension", "v.txt", VOTES, "", "v.txt | .csv, .tsv | --format NAME"),
    ("no extension", "votes", VOTES, "", "votes | --format NAME"),
    ("parquet named csv", "v.csv", PARQUET, "", "v.csv is a Parquet file | --format parquet"),
    ("csv named parquet", "v.parquet", VOTES, "", "v.parquet is not a Parquet file | --format"),
    ("csv named jsonl", "v.jsonl", VOTES, "", "v.jsonl, line 1: not JSON"),
    ("jsonl named csv", "v.csv", LINE, "", "v.csv | --format jsonl"),
    ("truncated gz", "v.csv.gz", GZ[: len(GZ) // 2], "", "v.csv.gz | damaged or cut short | again"),
    ("truncated gz, last bytes", "v.csv.gz", GZ[:-6], "", "v.csv.gz | damaged or cut short"),
    ("damaged gz", "v.csv.gz", GZ[:40] + b"\xff" * 20 + GZ[60:], "", "v.csv.gz | damaged"),
    ("gz that is junk", "v.csv.gz", b"\x00\x01\x02\x03" * 50, "", "v.csv.gz is binary"),
    ("truncated zst", "v.csv.zst", zst(VOTES * 500)[:-5], "", "v.csv.zst | damaged or cut short"),
    ("damaged zst", "v.csv.zst", zst(VOTES)[:4] + b"junkjunkjunk", "", "v.csv.zst | damaged"),
    ("latin-1 in zst", "v.csv.zst", zst(VOTES + b"t3,ann,\xe9\n"), "", "v.csv.zst | UTF-8"),
    (
        "truncated jsonl.gz",
        "v.jsonl.gz",
        gzip.compress(LINE * 500, mtime=0)[:-9],
        "",
        "v.jsonl.gz | damaged or cut short",
    ),
    ("truncated parquet", "v.parquet", PARQUET[:-20], "", "v.parquet | damaged"),
    ("damaged parquet", "v.parquet", PARQUET[:4] + b"\xff" * 60 + PARQUET[64:], "", "v.parquet | damaged | again"),
    ("parquet of others", "v.parquet", parquet(a=[1], b=[2]), "", "v.parquet has no column for the task | 'a'"),
    ("parquet of lists", "v.parquet", parquet(task=[1], worker=[1], label=[[["x"]]]), "", "v.parquet | 'label' | List"),
    ("parquet of bytes", "v.parquet", parquet(task=[1], worker=[1], label=[b"x"]), "", "v.parquet | 'label' | Binary"),
    # JSONL
    ("broken line", "v.jsonl", LINE * 2 + b'{"task": "t1", "wor\n' + LINE, "", "v.jsonl, line 3 | not JSON"),
    ("broken line far down", "v.jsonl", LINE * 1500 + b'{"task" "t1"}\n', "", "v.jsonl, line 1501 | not JSON"),
    ("array", "v.jsonl", b"[" + LINE + b"]", "", "v.jsonl is one JSON array | one JSON object per line"),
    ("pretty", "v.jsonl", json.dumps({"task": 1}, indent=1).encode(), "", "v.jsonl, line 1 | one JSON object per line"),
    ("scalars", "v.jsonl", b"1\n2\n", "", "v.jsonl, line 1 | JSON object | '1'"),
    ("an array line", "v.jsonl", LINE + b'["t1", "ann", "cat"]\n', "", "v.jsonl, line 2 | JSON object"),
    ("nested label", "v.jsonl", LINE + row(b'"t2"', b'{"x": 1}'), "", "v.jsonl, line 2: label holds | plain text"),
    ("nested task", "v.jsonl", LINE + b"\n" + row(b'["t2"]', b"1"), "", "v.jsonl, line 3: task holds"),
    ("deep nesting", "v.jsonl", row(DEEP, b"1"), "", "v.jsonl, line 1 | nested too deeply"),
    ("deep nesting far down", "v.jsonl", LINE * 1500 + row(b"1", DEEP), "", "v.jsonl, line 1501 | nested too deeply"),
    ("no worker key", "v.jsonl", b'{"task": 1, "label": 2}\n', "", "v.jsonl has no column for the worker"),
    ("NaN is no JSON", "v.jsonl", LINE + row(b"NaN", b"1"), "", "v.jsonl, line 2 | NaN"),
    ("number too large", "v.jsonl", LINE + row(b"1e999", b"1"), "", "v.jsonl, line 2 | in quotes"),
    ("latin-1 jsonl", "v.jsonl", LINE + row(b'"t2"', b'"\xe9"'), "", "v.jsonl, line 2 | not UTF-8"),
    ("two objects a line", "v.jsonl", LINE + LINE.strip() * 2, "", "v.jsonl, line 2 | not JSON"),
    # values
    ("contradiction", "v.csv", VOTES + b"t1,ann,dog\n", "", "v.csv: 1 (task, worker) pair carries | 't1'"),
    ("contradictions", "v.csv", VOTES + b"t1,ann,dog\nt2,ann,cat\n", "", "v.csv: 2 (task, worker) pairs | keep"),
    ("weight is text", "v.csv", timed(b"1", b"heavy"), "--columns weight=w", "v.csv, row 1 | 'heavy' | 'w'"),
    ("weight is missing", "v.csv", timed(b"1", b""), "--columns weight=w", "v.csv, row 1 | 'w' | number"),
    ("weight is negative", "v.csv", timed(b"1", b"-1"), "--columns weight=w", "v.csv, row 1 | '-1' | from 0 up"),
    ("weight is infinite", "v.csv", timed(b"1", b"inf"), "--columns weight=w", "v.csv, row 1 | 'inf'"),
    ("weight is nan", "v.csv", timed(b"1", b"nan"), "--columns weight=w", "v.csv, row 1 | 'nan'"),
    ("time is text", "v.csv", timed(b"noon", b"1"), "--columns time=when", "v.csv, row 1 | 'noon' | 'when' | date"),
    ("NUL from JSON", "v.jsonl", row(b'"t1"', rb'"c\u0000t"'), "", "v.jsonl | 'label' | NUL"),
    # the wide format and Snorkel's matrix
    ("wide without workers", "v.csv", b"task\nt1\n", "--format wide", "v.csv has no column besides 'task'"),
    ("wide without a task", "v.csv", b"task,a\nt1,x\n,y\n", "--format wide", "v.csv, row 2 | fill in column 'task'"),
    ("wide with a task twice", "v.csv", b"task,a\nt1,x\nt1,y\n", "--format wide", "v.csv | 't1' occurs more than once"),
    ("wide with a worker twice", "v.csv", b"task,ann,ann\n", "--format wide", "v.csv, line 1 | 'ann' more than once"),
    ("wide with a nameless worker", "v.csv", b"task,ann,\nt1,x,y\n", "--format wide", "v.csv: column 3 | name it"),
    ("wide without labels", "v.csv", b"task,ann\nt1,\n", "--format wide", "v.csv has a header but no rows with labels"),
    ("wide, other columns", "v.csv", VOTES, "--format wide --columns label=label", "v.csv | --columns task=NAME"),
    ("wide, unknown task", "v.csv", VOTES, "--format wide --columns task=x", "v.csv has no column 'x'"),
    ("wide without any key", "v.jsonl", b"{}\n", "--format wide", "v.jsonl has no column 'task' for the task"),
    ("wide parquet in capitals", "V.PARQUET", VOTES, "--format wide", "V.PARQUET is not a Parquet file"),
    ("npy of floats", "L.npy", npy(np.zeros((2, 2))), "", "L.npy | integers | float64"),
    ("npy with -2", "L.npy", npy(np.array([[0, -2]])), "", "L.npy | holds -2 | -1"),
    ("npy of one dimension", "L.npy", npy(np.arange(3)), "", "L.npy | shape (3,)"),
    (
        "npy of objects",
        "L.npy",
        npy(np.array([[None]]), allow_pickle=True),
        "",
        "L.npy is not a .npy file | not numbers",
    ),
    ("npy that is text", "L.npy", VOTES, "", "L.npy is not a .npy file | not an array | numpy.save"),
    ("npy that is empty", "L.npy", b"", "", "L.npy is empty"),
    ("npy cut short", "L.npy", npy(np.zeros((9, 9), dtype=int))[:-9], "", "L.npy is not a .npy file"),
    ("npy larger than memory", "L.npy", NPY_TOO_LARGE, "", "L.npy is not a .npy file"),
    ("npy all abstain", "L.npy", npy(np.full((2, 2), -1)), "", "L.npy: every cell is -1"),
    ("npy with columns", "L.npy", npy(np.zeros((2, 2), dtype=int)), "--columns task=x", "L.npy | --columns"),
    # options
    ("unknown format", "v.csv", VOTES, "--format exel", "format must be one of csv, tsv | 'exel'"),
    ("old workbook", "v.xls", b"\xd0\xcf\x11\xe0", "", "v.xls is an old Excel workbook; export it as CSV | .xlsx"),
    ("statistics", "v.sav", b"$FL2", "", "v.sav is an SPSS file; export it as CSV"),
    ("unknown method", "v.csv", VOTES, "-m dawid_sken", "no method 'dawid_sken' | did you mean dawid_skene?"),
    ("unknown parameter", "v.csv", VOTES, "-m dawid_skene -p smooth=1", "no parameter 'smooth' | smoothing"),
    ("parameter without value", "v.csv", VOTES, "-p max_iter", "-p takes name=value | 'max_iter'"),
    (
        "parameter of wrong type",
        "v.csv",
        VOTES,
        "-m hierarchical -p max_iter=ten",
        "max_iter must be a whole number | 'ten'",
    ),
    ("parameter out of range", "v.csv", VOTES, "-m dawid_skene -p smoothing=-1", "smoothing must be at least 0 | -1"),
    ("unknown policy", "v.csv", VOTES, "--duplicates best", "--duplicates | best | --help"),
    ("unknown option", "v.csv", VOTES, "--fast", "--fast | --help"),
    ("seed is text", "v.csv", VOTES, "--seed one", "--seed | integer | --help"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content", "arguments", "words"), [c[1:] for c in BAD], ids=[c[0] for c in BAD])
def test_bad_file(fails, tmp_path, name, content, arguments, words):
    path = tmp_path / name
    path.write_bytes(content)
    fails("aggregate", path, *arguments.split(), words=words)


def test_every_bad_file_is_another():
    assert len({case[0] for case in BAD}) == len(BAD) >= 80


# ---------------------------------------------------------------------------------------- more than one file
@pytest.mark.slow
def test_a_million_labels_are_refused_and_not_computed(fails, crowdwise_cli, tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(HEAD + b"".join(b"t%d,w%d,label %d\n" % (i % 50_000, i % 7, i) for i in range(1_000_000)))
    fails(
        "aggregate",
        path,
        "--duplicates",
        "keep",
        words="1,000,000 different labels in 1,000,000 rows | --columns label=NAME",
    )
    fails("aggregate", path, "--duplicates", "keep", "--allow", "ids", words="1,000,000 distinct labels | limit")
    code, _, err = crowdwise_cli("inspect", path)
    assert code == 0
    assert "almost as many classes as labels" in err


@pytest.mark.parametrize("command", ["aggregate", "inspect", "compare"])
def test_files_that_are_not_there(fails, tmp_path, command):
    fails(command, tmp_path / "none.csv", words="none.csv: there is no such file")
    fails(command, tmp_path / "none.npy", words="none.npy: there is no such file")
    fails(command, tmp_path / "no\x1b[31mne.csv", words=r"no\x1b[31mne.csv")
    fails(command, tmp_path / ("x" * 300 + ".csv"), words="xxx.csv: cannot be read")
    fails(command, tmp_path, words="is a folder; name a file in it")
    fails(command, words="VOTES | --help")
    fails(command, "-", words="standard input is empty")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(fails, tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(VOTES)
    path.chmod(0)
    fails("aggregate", path, words="v.csv: cannot be read | Permission denied")


STDIN = [
    ("empty", b"", "", "standard input is empty"),
    ("whitespace", b"\n\n", "", "standard input is empty"),
    ("short row", VOTES + b"t3\n", "", "standard input, line 5: 1 fields"),
    ("no text", VOTES + b"t3,ann,\xe9\x81\n", "", "standard input, line 5: not UTF-8"),
    ("jsonl", LINE + b"{\n", "--format jsonl", "standard input, line 2: not JSON"),
    ("no parquet", VOTES, "--format parquet", "standard input is not a Parquet file"),
    ("cut gz", GZ[:-9], "", "standard input | damaged or cut short"),
]


@pytest.mark.parametrize(("content", "arguments", "words"), [c[1:] for c in STDIN], ids=[c[0] for c in STDIN])
def test_bad_standard_input(fails, content, arguments, words):
    fails("aggregate", "-", *arguments.split(), words=words, stdin=content)


TRUTH = [
    ("unknown tasks", b"task,label\nx1,cat\nx2,dog\n", "none of the 2 gold tasks", "none of the tasks"),
    ("itself", b"task,label\nt1,cat\nt1,dog\n", *["g.csv: 1 tasks have two different true labels: 't1'"] * 2),
    (
        "no label column",
        b"task,x\nt1,cat\n",
        *["g.csv has no column for the label | --truth-columns (or --gold-columns) label=NAME"] * 2,
    ),
    ("two label columns", b"task,vote,answer\n", *["'vote', 'answer' of g.csv could each be the label"] * 2),
    ("no rows", b"task,label\n", *["g.csv has no rows with a task and a label"] * 2),
    ("no labels", b"task,label\nt1,\n", *["g.csv has no rows with a task and a label"] * 2),
    ("empty", b"", *["g.csv is empty"] * 2),
    ("short row", b"task,label\nt1\n", *["g.csv, line 2: 1 fields"] * 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("content", "gold", "truth"), [c[1:] for c in TRUTH], ids=[c[0] for c in TRUTH])
def test_bad_truth(fails, tmp_path, content, gold, truth):
    (tmp_path / "v.csv").write_bytes(VOTES)
    (tmp_path / "labels.csv").write_bytes(b"task,label\nt1,cat\nt2,dog\n")
    (tmp_path / "g.csv").write_bytes(content)
    fails("aggregate", tmp_path / "v.csv", "--gold", tmp_path / "g.csv", words=gold)
    fails("evaluate", tmp_path / "labels.csv", "--truth", tmp_path / "g.csv", words=truth)
    fails("compare", tmp_path / "v.csv", "-m", "majority_vote", "--truth", tmp_path / "g.csv", words=truth)


def test_bad_labels_to_evaluate(fails, tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_bytes(b"task,label\nt1,cat\n")
    labels = tmp_path / "labels.csv"
    for content, words in [
        (b"task,x\nt1,cat\n", "labels.csv has no column for the label | --columns label=NAME"),
        (b"task,label\nt1,cat\nt1,dog\n", "'t1' has two labels"),
        (b"task,label,p_cat\nt1,cat,high\n", "p_cat | probabilities"),
        (b"task,label\nt1\n", "labels.csv, line 2: 1 fields"),
    ]:
        labels.write_bytes(content)
        fails("evaluate", labels, "--truth", truth, words=words)
    fails("evaluate", labels, words="evaluate needs --truth FILE")
    fails("evaluate", tmp_path / "none.csv", "--truth", truth, words="none.csv: there is no such file")
    fails("evaluate", tmp_path, "--truth", truth, words="is not a saved result | result.json is missing")


def test_output_is_not_overwritten(fails, crowdwise_cli, tmp_path):
    votes, run = tmp_path / "v.csv", tmp_path / "run"
    votes.write_bytes(VOTES)
    aggregate = ("aggregate", votes, "-m", "majority_vote", "-o")
    fails(*aggregate, votes, words="v.csv is a file; name a folder")
    assert crowdwise_cli(*aggregate, run)[0] == 0
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    fails(*aggregate, run, words="run holds labels.parquet already | --force")
    assert before == {path.name: path.read_bytes() for path in run.iterdir()}
    assert crowdwise_cli(*aggregate, run, "--force")[0] == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "workers.csv").write_text("mine")
    fails(*aggregate, tmp_path / "other", words="other holds workers.csv already | --force")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["workers.csv"]


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    """The packed bytes of the first array turned over: the zip archive is whole, what is in it is not."""
    start = 30 + int.from_bytes(data[26:28], "little") + int.from_bytes(data[28:30], "little")
    return data[:start] + bytes(b ^ 0xFF for b in data[start : start + 20]) + data[start + 20 :]


DAMAGED = [
    pytest.param("result.json", lambda _: b"", "damaged", id="empty json"),
    pytest.param("result.json", cut, "damaged", id="half a json"),
    pytest.param("result.json", lambda _: b"[1, 2]", "damaged", id="another json"),
    pytest.param("result.json", lambda _: b'{"format": 1}', "damaged", id="json without keys"),
    pytest.param(
        "result.json", lambda data: data.replace(b'"format": 2', b'"format": 99'), "format 99", id="format 99"
    ),
    pytest.param("arrays.npz", lambda _: b"", "damaged", id="empty npz"),
    pytest.param("arrays.npz", cut, "damaged", id="half an npz"),
    pytest.param("arrays.npz", flip, "damaged", id="flipped byte in npz"),
    pytest.param("arrays.npz", lambda _: npy(np.zeros(3)), "damaged", id="npy for npz"),
    pytest.param("tasks.parquet", cut, "damaged", id="half a parquet"),
    pytest.param("tasks.parquet", lambda _: parquet(other=[1]), "damaged", id="another parquet"),
    pytest.param("tasks.parquet", lambda _: parquet(value=["t1"]), "damaged", id="too few tasks"),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    import crowdwise as cw

    folder = tmp_path_factory.mktemp("saved")
    votes = cw.Annotations.from_arrays(["t1", "t1", "t2"], ["ann", "bob", "ann"], ["cat", "dog", "cat"])
    cw.MajorityVote().fit(votes).save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("name", "harm", "words"), DAMAGED)
def test_damaged_result(fails, tmp_path, saved, name, harm, words):
    run, truth = tmp_path / "run", tmp_path / "truth.csv"
    run.mkdir()
    truth.write_bytes(b"task,label\nt1,cat\n")
    for each, content in saved.items():
        (run / each).write_bytes(harm(content) if each == name else content)
    fails("show", run, words=f"run | {words}")
    fails("evaluate", run, "--truth", truth, words=f"run | {words}")


def test_no_result_at_all(fails, tmp_path, saved):
    for each, content in saved.items():
        (tmp_path / each).write_bytes(content)
    for each in saved:
        (tmp_path / each).unlink()
        fails("show", tmp_path, words=f"is not a saved result | {each} is missing")
        (tmp_path / each).write_bytes(saved[each])
    fails("show", tmp_path / "none", words="none is not a saved result")
    fails("show", tmp_path / "result.json", words="is not a saved result")


def test_bad_commands(fails):
    fails("methods", "dawid", words="no method 'dawid' | crowdwise methods")
    fails("nonsense", words="nonsense | --help")
    fails("compare", "-", "-m", "nonsense", words="no method 'nonsense'")
