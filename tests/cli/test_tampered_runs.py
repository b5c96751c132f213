"""A run folder that a stranger had in hand: one line and exit code 2 from every command that reads it, whatever it
asks for, and never more memory than the folder is worth."""

from __future__ import annotations

import io
import json
import resource
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.cli import main

VOTES = "task,worker,label\n" + "".join(
    f"t{t},w{w},{'ab'[((t * w) % 5 == 0 and w == 3) or t % 2]}\n" for t in range(12) for w in range(4)
)
COMMANDS = {
    "show": ["show", "{run}"],
    "report": ["report", "{run}", "-o", "{out}/r.html"],
    "convert": ["convert", "{run}", "{out}/labels.csv"],
    "prior": ["aggregate", "{votes}", "-m", "dawid_skene", "--prior", "{run}"],
    "workers": ["workers", "{run}"],
    "evaluate": ["evaluate", "{run}", "--truth", "{truth}"],
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    (folder / "votes.csv").write_text(VOTES)
    (folder / "truth.csv").write_text("task,label\n" + "".join(f"t{t},{'ab'[t % 2]}\n" for t in range(12)))
    with pytest.raises(SystemExit):
        main(["aggregate", str(folder / "votes.csv"), "-m", "ibcc", "-o", str(folder / "run")])
    return folder


def arrays(run, **changes):
    with np.load(run / "arrays.npz") as stored:
        kept = {name: stored[name] for name in stored.files}
    for name, change in changes.items():
        name = name.replace("__", ".")
        kept[name] = change(kept[name]) if callable(change) else change
    np.savez_compressed(run / "arrays.npz", **{name: value for name, value in kept.items() if value is not None})


def raw(run, name, content, times=1):
    """A member of arrays.npz, byte by byte."""
    with zipfile.ZipFile(run / "arrays.npz") as archive:
        kept = {each: archive.read(each) for each in archive.namelist() if each != f"{name}.npy"}
    with zipfile.ZipFile(run / "arrays.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in kept.items():
            archive.writestr(each, data)
        for _ in range(times):
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, zipfile.ZIP_DEFLATED)


def header(shape, descr="<f8", pad=0, size=0):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117 + pad) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * size


def npy(value, **more):
    file = io.BytesIO()
    np.lib.format.write_array(file, value, **more)
    return file.getvalue()


def facts(run, **changes):
    about = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps({k: v for k, v in (about | changes).items() if v is not ...}))


def names(run, what, **columns):
    pl.DataFrame(columns).write_parquet(run / f"{what}.parquet")


def set_first(value):
    def change(array):
        out = array.copy()
        out.flat[0] = value
        return out

    return change


def rows_of(path, n):
    pl.DataFrame({"value": pl.repeat("t", n, eager=True)}).write_parquet(path)


# name, what is done, words in the message
TAMPERED = [
    ("a huge shape", lambda r: raw(r, "posterior", header((10**9, 10**9))), "posterior | does not fit"),
    ("a trace of 1e18", lambda r: raw(r, "trace", header((10**18,))), "trace | does not fit"),
    ("1e9 numbers of nothing", lambda r: raw(r, "posterior", header((10**9, 2, 0))), "posterior has shape"),
    ("a strange shape", lambda r: raw(r, "trace", header((-1,))), "trace holds"),
    ("a long header", lambda r: raw(r, "trace", b"\x93NUMPY\x02\x00" + b"\xff" * 200), "header of 4,294,967,295"),
    ("a header of code", lambda r: raw(r, "trace", header("(__import__('os').abort(),)")), "damaged"),
    ("a bomb", lambda r: arrays(r, extra__x=np.zeros(1 << 23)), "extra.x would unpack to 67,108,864 bytes"),
    ("a bomb as trace", lambda r: arrays(r, trace=np.zeros(1 << 23)), "trace would unpack to 67,108,864 bytes"),
    ("objects", lambda r: raw(r, "trace", npy(np.array([{}], dtype=object), allow_pickle=True)), "trace holds"),
    ("text for numbers", lambda r: arrays(r, posterior=lambda p: p.astype("U8")), "posterior holds <U8 values"),
    ("records", lambda r: arrays(r, trace=np.zeros(3, dtype=[("a", "f8")])), "trace holds"),
    ("complex numbers", lambda r: arrays(r, class_prior=lambda p: p.astype("c16")), "class_prior holds complex128"),
    ("halves of labels", lambda r: arrays(r, labels_per_task=lambda n: n / 2), "labels_per_task holds float64"),
    ("group of theta", lambda r: arrays(r, extra__theta=np.ones((1, 2))), "extra.theta has shape (1, 2)"),
    ("NaN", lambda r: arrays(r, posterior=set_first(np.nan)), "posterior holds values that are negative or not finite"),
    ("a negative share", lambda r: arrays(r, posterior=lambda p: p - [[1, 0]]), "posterior holds values that are"),
    ("no share", lambda r: arrays(r, posterior=lambda p: p * 2), "posterior has rows that do not sum to one"),
    ("a prior of 3", lambda r: arrays(r, class_prior=lambda p: p * 3), "class_prior has rows that do not sum"),
    ("a confusion of NaN", lambda r: arrays(r, confusion=set_first(np.nan)), "confusion holds"),
    ("endless counts", lambda r: arrays(r, counts=set_first(np.inf)), "counts holds values"),
    ("skill of 7", lambda r: arrays(r, skill=lambda s: s * 7), "skill holds numbers outside 0..1"),
    ("less than no label", lambda r: arrays(r, labels_per_worker=set_first(-1)), "labels_per_worker holds"),
    ("theta below 0", lambda r: arrays(r, extra__theta=set_first(-1.0)), "extra.theta holds"),
    ("no posterior", lambda r: arrays(r, posterior=None), "the array posterior is missing"),
    ("a strange array", lambda r: arrays(r, payload=np.zeros(2)), "'payload' is not an array of a result"),
    ("one name twice", lambda r: raw(r, "trace", npy(np.zeros(2)), times=2), "two arrays with the same name"),
    ("no array", lambda r: raw(r, "trace", b"hello"), "trace is not an array"),
    ("no archive", lambda r: (r / "arrays.npz").write_bytes(b"PK\x03\x04" * 30), "damaged"),
    ("cut arrays", lambda r: (r / "arrays.npz").write_bytes((r / "arrays.npz").read_bytes()[:-40]), "damaged"),
    ("classes that are lists", lambda r: names(r, "classes", value=[["a"], ["b"]]), "holds List(String) values"),
    ("classes that are bytes", lambda r: names(r, "classes", value=[b"a", b"b"]), "value holds Binary values"),
    ("classes that are records", lambda r: names(r, "classes", value=[{"a": 1}] * 2), "value holds Struct"),
    ("classes that are halves", lambda r: names(r, "classes", value=[0.5, 1.5]), "value holds Float64"),
    ("a class without name", lambda r: names(r, "classes", value=["a", None]), "has names that are empty"),
    ("a class twice", lambda r: names(r, "classes", value=["a", "a"]), "names something twice"),
    ("other columns", lambda r: names(r, "workers", x=["a"]), "workers.parquet has no column 'value'"),
    ("more tasks", lambda r: names(r, "tasks", value=list(map(str, range(99)))), "has shape (12,), not (99,)"),
    ("no classes", lambda r: names(r, "classes", value=pl.Series([], dtype=pl.String)), "has shape"),
    ("a vocabulary bomb", lambda r: rows_of(r / "tasks.parquet", 20_000_000), "claims 20,000,000 rows"),
    ("long names", lambda r: names(r, "tasks", value=["t" * 1_000_000] * 100), "would unpack to 100,000,000 bytes"),
    ("no parquet", lambda r: (r / "tasks.parquet").write_bytes(b"PAR1" * 40), "is not a Parquet file"),
    ("a list for result.json", lambda r: (r / "result.json").write_text("[1]"), "no JSON object"),
    ("no JSON", lambda r: (r / "result.json").write_text("{"), "result.json is damaged"),
    ("deep JSON", lambda r: (r / "result.json").write_text("[" * 99_999), "nested too deeply"),
    ("a long number", lambda r: (r / "result.json").write_text('{"format": 1' + "0" * 9999 + "}"), "digits"),
    ("NaN in JSON", lambda r: (r / "result.json").write_text('{"format": NaN}'), "NaN is no JSON value"),
    ("latin-1", lambda r: (r / "result.json").write_bytes(b'{"method": "\xe9"}'), "result.json is damaged"),
    ("format 4", lambda r: facts(r, format=4), "format 4 is not one that this version reads"),
    ("no parts", lambda r: facts(r, format=3), "in_parts is None"),
    ("parts that are not there", lambda r: facts(r, format=3, in_parts={"parts": 1}), "the labels are incomplete"),
    ("a hostile format", lambda r: facts(r, format="\x1b[2J" * 99), "format '\\x1b[2J"),
    ("a method that is a number", lambda r: facts(r, method=5), "method is 5"),
    ("no method", lambda r: facts(r, method=...), "method is None"),
    ("params that are text", lambda r: facts(r, params="seed"), "params is 'seed'"),
    ("a seed that is text", lambda r: facts(r, params={"seed": "x"}), "seed is 'x'"),
    ("a seed below 0", lambda r: facts(r, params={"seed": -1}), "seed is -1"),
    ("endless iterations", lambda r: facts(r, n_iter=1e308), "n_iter is 1e+308"),
    ("versions that are lists", lambda r: facts(r, versions={"numpy": []}), "versions are not text"),
    ("extra that is text", lambda r: facts(r, extra="x"), "extra is 'x'"),
    ("a cold temperature", lambda r: facts(r, extra={"temperature": -1}), "temperature is -1"),
    ("an epoch of text", lambda r: facts(r, extra={"best_epoch": "last"}), "best_epoch is 'last'"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "words"), [c[1:] for c in TAMPERED], ids=[c[0] for c in TAMPERED])
def test_every_command_refuses_in_one_line(fails, clean, tmp_path, spoil, words):
    run = tmp_path / "run"
    shutil.copytree(clean / "run", run)
    spoil(run)
    places = {"run": run, "out": tmp_path, "votes": clean / "votes.csv", "truth": clean / "truth.csv"}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for command in COMMANDS.values():
        fails(*(part.format(**places) for part in command), words=words)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kilobytes


VOTES_TAMPERED = [
    ("labels that are lists", {"label": [["a"]]}, "label holds List(String) values"),
    ("a strange class", {"label": ["z"]}, "not among the given classes: 'z'"),
    ("a strange worker", {"worker": ["nobody"]}, "not among the given workers: 'nobody'"),
    ("a weight below 0", {"weight": [-1.0]}, "weight of row 1 is -1.0"),
    ("weights that are text", {"weight": ["x"]}, "weight holds String values"),
    ("fewer tasks", {}, "its tasks are not those of the result"),
]


@pytest.mark.parametrize(("columns", "words"), [c[1:] for c in VOTES_TAMPERED], ids=[c[0] for c in VOTES_TAMPERED])
def test_tampered_votes(fails, clean, tmp_path, columns, words):
    run = tmp_path / "run"
    shutil.copytree(clean / "run", run)
    pl.DataFrame({"task": ["t1"], "worker": ["w1"], "label": ["a"]} | columns).write_parquet(run / "votes.parquet")
    for command in ("workers", "report"):
        fails(*(part.format(run=run, out=tmp_path) for part in COMMANDS[command]), words=f"votes.parquet | {words}")


def test_what_was_saved_is_what_is_read(clean, crowdwise_cli, tmp_path):
    places = {"run": clean / "run", "out": tmp_path, "votes": clean / "votes.csv", "truth": clean / "truth.csv"}
    for command in COMMANDS.values():
        code, _, err = crowdwise_cli(*(part.format(**places) for part in command))
        assert code == 0, err
    fitted, again = cw.classes.IBCC().fit(cw.read(clean / "votes.csv")), cw.Result.load(clean / "run")
    for name in ("posterior", "skill", "confusion", "counts", "labels_per_task"):
        left, right = getattr(fitted, name), getattr(again, name)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
