"""Odd files that are fine: every row is accounted for, what was decided is noted, and ids come back as they went in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import threading

import numpy as np
import pytest

from crowdwise.io.tables import open_table

from .made import HEAD, LINE, ROWS, VOTES, npy, parquet, zst

EXACT = "exact repeat of task, worker and label"
UNNAMED = b"task,worker,label,,\nt1,ann,cat,,\n"
GAPS = b',ann,cat\nt3,,cat\nt3,ann,\n ,\t,  \n,,\n"",ann,cat\n'
NO_LABEL = b'{"task": "t2", "worker": "ann"}\n{"task": "t2", "worker": "ann", "label": null}\n{}\n'
LATE = b'{"task": "a", "worker": "w"}\n' * 1100 + LINE
LATE_WORKER = b"".join(b'{"task": %d, "ann": "x"}\n' % i for i in range(1100)) + b'{"task": "t", "bob": "y"}\n'
ANY_KEYS = b'{"x": 1, "task": 1, "worker": 2, "label": 3}\n{"x": [1], "task": 2, "worker": 2, "label": 3}\n'
MISSING = HEAD + b"t1,a,nan\nt1,b,NA\nt1,c,null\nt1,d,None\nt1,e,NULL\nt1,f,-\nt1,g,0\n"

# name, file, bytes, arguments, rows used, rows dropped by reason, words among the notes
ODD = [
    ("plain", "v.csv", VOTES, "", 3, {}, ""),
    ("byte order mark", "v.csv", b"\xef\xbb\xbf" + VOTES, "", 3, {}, ""),
    ("byte order mark, quotes", "v.csv", b'\xef\xbb\xbf"task",worker,label\n' + ROWS, "", 3, {}, ""),
    ("utf-16 little", "v.csv", b"\xff\xfe" + VOTES.decode().encode("utf-16-le"), "", 3, {}, "UTF-16"),
    ("utf-16 big", "v.csv", b"\xfe\xff" + VOTES.decode().encode("utf-16-be"), "", 3, {}, "UTF-16"),
    ("utf-16 gz", "v.csv.gz", gzip.compress(VOTES.decode().encode("utf-16"), mtime=0), "", 3, {}, "UTF-16"),
    ("crlf", "v.csv", VOTES.replace(b"\n", b"\r\n"), "", 3, {}, ""),
    ("cr", "v.csv", VOTES.replace(b"\n", b"\r"), "", 3, {}, ""),
    ("crlf and lf", "v.csv", HEAD.replace(b"\n", b"\r\n") + ROWS, "", 3, {}, ""),
    ("no last line end", "v.csv", VOTES[:-1], "", 3, {}, ""),
    ("blank lines", "v.csv", HEAD + b"\nt1,ann,cat\n\n  \nt2,ann,cat\n\n", "", 2, {"blank row": 4}, ""),
    ("blank crlf lines", "v.csv", HEAD + b"\r\nt1,ann,cat\r\n\r\n", "", 1, {"blank row": 2}, ""),
    ("semicolons", "v.csv", VOTES.replace(b",", b";"), "", 3, {}, "semicolons"),
    ("tabs in csv", "v.csv", VOTES.replace(b",", b"\t"), "", 3, {}, "tabs"),
    ("commas in tsv", "v.tsv", VOTES, "", 3, {}, "commas"),
    ("tsv", "v.tsv", VOTES.replace(b",", b"\t"), "", 3, {}, ""),
    ("gz", "v.csv.gz", gzip.compress(HEAD + ROWS * 500, mtime=0), "--allow repeats", 3, {EXACT: 1497}, ""),
    ("gz that is not gz", "v.csv.gz", VOTES, "", 3, {}, ".gz but it is not compressed"),
    ("csv that is gz", "v.csv", gzip.compress(VOTES, mtime=0), "", 3, {}, ""),
    ("zst", "v.csv.zst", zst(VOTES), "", 3, {}, ""),
    ("zst crlf", "v.csv.zst", zst(VOTES.replace(b"\n", b"\r\n")), "", 3, {}, ""),
    ("unnamed columns", "v.csv", UNNAMED, "", 1, {}, ""),
    ("spaces in the header", "v.csv", b"Task , worker, LABEL\nt1,ann,cat\n", "", 1, {}, "'Task ' | ' LABEL'"),
    ("marks in the header", "v.csv", b'task,worker,"la""bel"\nt1,a,x\n', '--columns label=la"bel', 1, {}, "la\"bel"),
    ("newline in the header", "v.csv", b'task,worker,label,"a\nb"\nt1,ann,cat,\n', "", 1, {}, ""),
    ("other names", "v.csv", b"item_id,rater,answer\nt1,ann,cat\n", "", 1, {}, "'item_id' | 'rater' | 'answer'"),
    ("renamed", "v.csv", b"a,b,c\nt1,ann,cat\n", "--columns task=a,worker=b,label=c", 1, {}, "'a' | 'b' | 'c'"),
    ("exact repeats", "v.csv", VOTES + ROWS, "", 3, {EXACT: 3}, ""),
    ("gaps", "v.csv", VOTES + GAPS, "", 3, {"no task": 2, "no worker": 1, "no label": 1, "blank row": 2}, ""),
    ("texts for missing are labels", "v.csv", MISSING, "--allow case", 7, {},
     "class 'NA' (1 label) reads like | --missing NA"),
    ("texts for missing are none", "v.csv", MISSING, "--missing NA --missing null --missing -", 4, {"no label": 3},
     "class 'nan'"),
    ("missing tasks and numbers", "v.csv", b"task,worker,label,duration\nNA,a,x,3\nt1,a,x,NA\nt1,b,NA,1\n",
     "--missing NA", 1, {"no task": 1, "no label": 1}, ""),
    ("missing by a slip", "v.csv", VOTES, "--missing NA", 3, {}, "'NA', which counts as missing, does not occur"),
    ("latin-1", "v.csv", VOTES + b"t3,ann,caf\xe9\n", "", 4, {}, "read as Latin-1 (there is 'caf\u00e9' in it)"),
    ("latin-1 after much", "v.csv", HEAD + ROWS * 400_000 + b"t3,ann,caf\xe9\n", "--allow repeats", 4, {EXACT: 1199997},
     "Latin-1"),
    ("latin-1 header", "v.csv", b"T\xe2che;worker;label\nt1;ann;cat\n", "--columns task=T\u00e2che", 1, {},
     "'T\u00e2che'"),
    ("latin-1 gz", "v.csv.gz", gzip.compress(VOTES + b"t3,ann,\xe9\n", mtime=0), "", 4, {}, "Latin-1"),
    ("commas in a header", "v.csv", b'Item;Coder;Rating;"a, b, c, d"\nt1;ann;3;x\n', "", 1, {}, "semicolons"),
    ("decimal commas", "v.csv", b"task;worker;label;duration\nt1;a;3,5;0,5\nt1;b;3,0;1,25\n", "--kind classes", 2, {},
     "labels such as '3,0' are read as '3' (a decimal comma)"),
    ("coders", "v.csv", b"Item,Coder,Rating\n1,ann,3\n", "", 1, {}, "'Item' | 'Coder' | 'Rating'"),
    ("raters", "v.csv", b"Document,Rater,Score\n1,ann,3\n", "", 1, {}, "'Document' | 'Rater' | 'Score'"),
    ("annotators", "v.csv", b"Document ID,Annotator,Answer,Score\n1,ann,x,3\n", "", 1, {}, "'Document ID' | 'Answer'"),
    ("floats from pandas", "v.csv", HEAD + b"t1,a,3.0\nt1,b,4.0\nt2,a,\n", "", 2, {"no label": 1},
     "labels such as '3.0' are read as '3'"),
    ("jsonl", "v.jsonl", LINE, "", 1, {}, ""),
    ("jsonl with a mark", "v.jsonl", b"\xef\xbb\xbf" + LINE, "", 1, {}, ""),
    ("jsonl gz with a mark", "v.jsonl.gz", gzip.compress(b"\xef\xbb\xbf" + LINE, mtime=0), "", 1, {}, ""),
    ("jsonl zst", "v.jsonl.zst", zst(LINE), "", 1, {}, ""),
    ("jsonl utf-16", "v.jsonl", LINE.decode().encode("utf-16"), "", 1, {}, "UTF-16"),
    ("jsonl missing keys", "v.jsonl", LINE + NO_LABEL, "", 1, {"no label": 2, "blank row": 1}, ""),
    ("jsonl blank lines", "v.jsonl", b"\n" + LINE + b"\n  \n" + LINE[:-1], "", 1, {"blank row": 3, EXACT: 1}, ""),
    ("jsonl crlf", "v.jsonl", LINE.replace(b"\n", b"\r\n"), "", 1, {}, ""),
    ("jsonl brackets in text", "v.jsonl", LINE.replace(b"cat", b"[cat]"), "", 1, {}, ""),
    ("jsonl keys of any kind", "v.jsonl", ANY_KEYS, "", 2, {}, ""),
    ("jsonl late key", "v.jsonl", LATE, "--allow empty", 1, {"no label": 1100}, ""),
    ("unreadable time unasked", "v.csv", b"task,worker,label,time\nt1,a,x,noon\n", "", 1, {},
     "'time' cannot be read as a time and is ignored"),
    ("two times", "v.csv", b"task,worker,label,time,timestamp\nt1,a,x,1,2\n", "", 1, {}, "'time', 'timestamp'"),
    ("unused weight", "v.csv", b"task,worker,label,weight\nt1,a,x,1\n", "", 1, {}, "'weight' is ignored"),
    ("weights of dropped rows", "v.csv", b"task,worker,label,w\nt1,a,x,1\n,,,\nt2,a,,?\n", "--columns weight=w", 1,
     {"blank row": 1, "no label": 1}, ""),
    ("wide", "v.csv", b"task,ann,bob\nt1,x,y\nt2,,y\n\n", "--format wide", 3, {}, "1 of 4 cells | 1 blank rows"),
    ("wide tsv", "v.tsv", b"task\tann\nt1\tx\n", "--format wide", 1, {}, ""),
    ("wide of any name", "v.txt", b"task,ann,\nt1,x,\n", "--format wide", 1, {}, "without a name"),
    ("wide jsonl, late worker", "v.jsonl", LATE_WORKER, "--format wide --allow own-task", 1101, {}, "2 workers"),
    ("npy", "L.npy", npy(np.array([[0, 1], [-1, 1]])), "", 3, {}, "1 of 4 cells"),
    ("csv of any name", "votes.txt", VOTES, "--format csv", 3, {}, ""),
    ("a pattern as a name", "v[1]*.csv", VOTES, "", 3, {}, ""),
    ("a pattern as a name, jsonl", "v[1].jsonl", LINE, "", 1, {}, ""),
    ("a pattern as a name, parquet", "v?.parquet", parquet(task=[1], worker=[1], label=[1]), "", 1, {}, ""),
    ("a tilde as a name", "~v.csv", VOTES, "", 3, {}, ""),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "arguments", "used", "dropped", "notes"), [c[1:] for c in ODD], ids=[c[0] for c in ODD]
)
def test_odd_file(crowdwise_cli, tmp_path, monkeypatch, name, content, arguments, used, dropped, notes):
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    code, out, err = crowdwise_cli("aggregate", name, "-m", "majority_vote", "--json", *arguments.split())
    assert code == 0, err
    ledger = json.loads(out)["ledger"]
    assert ledger["rows_used"] == used
    assert ledger["dropped"] == dropped
    assert ledger["rows_in"] == used + sum(dropped.values())
    said = " ".join(ledger["notes"])
    assert all(word in said for word in notes.split(" | ")), said
    assert all(note in err for note in ledger["notes"])


# ------------------------------------------------------------------------------------------------ ids
IDS = [
    "007", "7", "1e5", "100000", "1.0", "1", "+1", " a ", "a", "\ta", "A", "é", "e\u0301", "🙂", "👩\u200d🚀",
    "שלום", "مرحبا", "\u202eabc", "x" * 70_000, 'say "no"', '"', '""', "a,b", "a;b", "line\nbreak", "cr\r\nlf",
    "True", "nan", "NA", "-", "#1", "'quoted'", "=1+1", "\\n", "\u00a0x", "2024-01-01", "0x1F", "1_000",
    "[PER]", "{b}", "null", "a\u2028b", "ﬁ",
]  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "csv.zst"])
def test_ids_come_back_as_they_went_in(crowdwise_cli, tmp_path, suffix):
    rows = [(task, IDS[-1 - i], "la\nbel" if i % 2 else " 01") for i, task in enumerate(IDS)]
    path, run = tmp_path / f"v.{suffix}", tmp_path / "run"
    path.write_bytes(_written(rows, suffix))
    code, _, err = crowdwise_cli("aggregate", path, "-m", "majority_vote", "--allow", "own-task", "-o", run)
    assert code == 0, err
    labels = open_table(run / "labels.csv").read(["task", "label"]).rows()
    workers = open_table(run / "workers.csv").read(["worker"])["worker"].to_list()
    with (run / "workers.csv").open(newline="", encoding="utf-8") as file:  # others see = and - behind an apostrophe
        seen = [line["worker"] for line in csv.DictReader(file)]
    assert sorted(seen) == sorted("'" + name if name in ("=1+1", "-", "\ta") else name for name in IDS)
    assert sorted(labels) == sorted((task, label) for task, _, label in rows)
    assert sorted(workers) == sorted(IDS)


def _written(rows, suffix):
    if suffix == "parquet":
        task, worker, label = zip(*rows, strict=True)
        return parquet(task=task, worker=worker, label=label)
    if suffix == "jsonl":
        return "".join(json.dumps(dict(zip(("task", "worker", "label"), r, strict=True))) + "\n" for r in rows).encode()
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t" if suffix == "tsv" else ",", lineterminator="\n")
    writer.writerows([("task", "worker", "label"), *rows])
    data = file.getvalue().encode()
    return gzip.compress(data, mtime=0) if suffix.endswith("gz") else zst(data) if suffix.endswith("zst") else data


# ------------------------------------------------------------------------------------------------ small crowds
SMALL = [
    ("one class", b"t1,ann,cat\nt2,bob,cat\nt2,ann,cat\n", "only one class"),
    ("one worker", b"t1,ann,cat\nt2,ann,dog\n", "every task has at most one label"),
    ("one task", b"t1,ann,cat\nt1,bob,dog\n", "fewer than 5 labels"),
    ("two islands", b"t1,ann,cat\nt1,bob,dog\nt2,eve,cat\nt2,joe,cat\n", "separate groups of data share no worker"),
]


@pytest.mark.parametrize(("rows", "advice"), [c[1:] for c in SMALL], ids=[c[0] for c in SMALL])
@pytest.mark.filterwarnings("always::crowdwise.core.errors.CrowdwiseWarning")
def test_small_crowds_are_fine_and_inspect_warns(crowdwise_cli, tmp_path, rows, advice):
    path = tmp_path / "v.csv"
    path.write_bytes(HEAD + rows)
    code, out, err = crowdwise_cli("inspect", path)
    assert code == 0
    assert advice in err
    assert "tasks" in out
    for method in ("hierarchical", "majority_vote"):
        code, out, err = crowdwise_cli("aggregate", path, "-m", method)
        assert code == 0, err
        assert len(out.splitlines()) == 1 + len({line.split(b",")[0] for line in rows.splitlines()})


def test_standard_input_packed_and_plain(crowdwise_cli):
    plain = crowdwise_cli("aggregate", "-", "-m", "majority_vote", stdin=VOTES)
    assert plain[0] == 0
    for content in (
        gzip.compress(VOTES, mtime=0),
        zst(VOTES),
        VOTES.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + VOTES,
    ):
        assert crowdwise_cli("aggregate", "-", "-m", "majority_vote", stdin=content)[:2] == plain[:2]
    table = parquet(task=["t1", "t1", "t2"], worker=["ann", "bob", "ann"], label=["cat", "dog", "dog"])
    found = crowdwise_cli("aggregate", "-", "-m", "majority_vote", "--format", "parquet", stdin=table)
    assert found[:2] == plain[:2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_read_once(crowdwise_cli, tmp_path):
    pipe = tmp_path / "votes.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(VOTES,))
    writer.start()
    code, out, err = crowdwise_cli("aggregate", pipe, "-m", "majority_vote")
    writer.join()
    assert code == 0, err
    assert len(out.splitlines()) == 3
