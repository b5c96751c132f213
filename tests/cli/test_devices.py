"""What is no file, and files that are far too much of one thing: one line, soon, and in little memory."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from .made import VOTES, zst

MB = 1 << 20
RECORD = b'{"task": "t1", "worker": "ann", "label": "x"}\n'
linux = pytest.mark.skipif(sys.platform != "linux", reason="devices and /proc as Linux has them")


@linux
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full", "/dev/null", "/dev/urandom"])
@pytest.mark.parametrize(
    "command",
    [["inspect"], ["aggregate"], ["workers"], ["report", "-o", "never.html"], ["convert", "{}", "never.csv"],
     ["evaluate", "{}", "--truth", "{}"], ["aggregate", "{}", "--format", "snorkel"],
     ["inspect", "{}", "--format", "parquet"]],
    ids=" ".join,
)  # fmt: skip
def test_devices_are_not_read(fails, name, command):
    filled = [part.format(name) for part in command]
    fails(*filled, *([] if name in filled else [name]), words=f"{name} is a device; only files, pipes and standard")


@linux
@pytest.mark.parametrize("name", ["/proc/self/environ", "/proc/cpuinfo", "/proc/self/mem", "/proc/self/maps"])
def test_what_the_system_makes_up_is_not_read(fails, name):
    for how in ([], ["--format", "csv"], ["--format", "parquet"], ["--format", "snorkel"], ["--format", "cvat"]):
        fails("inspect", name, *how, words=os.path.basename(name))


@linux
@pytest.mark.parametrize("name", ["/proc/self", "/dev", "/sys/kernel"])
def test_folders_of_the_system(fails, name):
    for command in ("inspect", "aggregate"):
        fails(command, name, words=name.rpartition("/")[2])
    fails("show", name, words="is not a saved result")


def test_a_pipe_is_read(crowdwise_cli, tmp_path):
    os.mkfifo(tmp_path / "v.csv")
    writer = threading.Thread(target=(tmp_path / "v.csv").write_bytes, args=(VOTES,))
    writer.start()
    code, out, err = crowdwise_cli("aggregate", tmp_path / "v.csv", "-m", "majority_vote")
    writer.join()
    assert code == 0, err
    assert out.startswith("task,label")


@pytest.mark.slow
@linux
def test_an_endless_pipe_is_not_waited_for():
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            [sys.executable, "-m", "crowdwise.cli", "inspect", "-"], stdin=zeros, capture_output=True, timeout=60
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"crowdwise: standard input is binary")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
@linux
@pytest.mark.parametrize(
    "command",
    [["aggregate", "v.csv", "-m", "majority_vote"], ["inspect", "v.csv"], ["methods", "--json"]],
    ids=" ".join,
)
def test_a_full_disk(tmp_path, command):
    (tmp_path / "v.csv").write_bytes(VOTES)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crowdwise.cli", *command], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == b"crowdwise: standard output: No space left on device"
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@linux
def test_a_full_disk_is_named(fails, tmp_path):
    (tmp_path / "v.csv").write_bytes(VOTES)
    code = subprocess.run(
        [sys.executable, "-m", "crowdwise.cli", "convert", tmp_path / "v.csv", "/dev/full", "--to", "csv", "--force"],
        capture_output=True,
    )
    assert code.returncode == 2
    assert b"/dev/full cannot be written (No space left on device" in code.stderr


# name, file, its parts, words
TOO_MUCH = [
    ("a string of 160 MB", "e.json", [b'[{"id": "', *[b"x" * MB] * 160, b'"}]'], "line 1 | longer than 64 million"),
    ("a line of 80 MB", "v.jsonl", [RECORD, b'{"task": "', *[b"x" * MB] * 80, b'"}\n'], "v.jsonl, line 2"),
    ("a row of 80 MB", "v.csv", [VOTES, *[b"x" * MB] * 80], "a row is longer than 64 MB"),
    ("blank lines", "v.csv", [VOTES, *[b"\n" * MB] * 40], "lines are blank; is it the right file?"),
    ("lines of blanks", "v.csv", [VOTES, *[b" \n" * MB] * 20], "lines are blank; is it the right file?"),
    ("blank lines in JSONL", "v.jsonl", [RECORD, *[b"\n" * MB] * 40], "lines are blank; is it the right file?"),
    ("packed blank lines", "v.csv.gz", [gzip.compress(VOTES + b"\n" * 40 * MB, mtime=0)], "v.csv.gz"),
    ("a packed bomb", "v.csv.gz", [gzip.compress(VOTES + b"t1,ann,cat\n" * 8 * MB, mtime=0)], "over 200 times"),
    ("a packed bomb of zstd", "v.csv.zst", [zst(VOTES + b"t1,ann,cat\n" * 8 * MB)], "over 200 times its size"),
    ("a header of 80 MB", "v.csv", [*[b"task," * (MB // 5)] * 80, b"\n"], "v.csv, line 1"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parts", "words"), [c[1:] for c in TOO_MUCH], ids=[c[0] for c in TOO_MUCH])
def test_too_much_of_one_thing(fails, tmp_path, name, parts, words):
    with (tmp_path / name).open("wb") as file:
        file.writelines(parts)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    fails("inspect", tmp_path / name, words=words)
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # kilobytes


@pytest.mark.slow
def test_forty_thousand_columns(tmp_path, crowdwise_cli, fails):
    header = ",".join(f"c{i}" for i in range(40_000))
    (tmp_path / "v.csv").write_text(f"task,worker,{header}\nt1,ann,{header}\n")
    (tmp_path / "w.csv").write_text(f"task,{header}\nt1,{header.replace('c', '')}\nt2,{header}\n")
    start = time.process_time()
    fails("inspect", tmp_path / "v.csv", words="v.csv has no column for the label")
    code, _, err = crowdwise_cli("inspect", tmp_path / "w.csv", "--format", "wide")
    assert code == 0, err
    assert time.process_time() - start < 20


SHAPES = [(0, 5), (4, 0), (0, 0), (4,), (), (0,), (2, 0, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_features_of_odd_shapes(fails, tmp_path, shape, kind):
    pytest.importorskip("torch")
    (tmp_path / "v.csv").write_bytes(VOTES)
    x = np.zeros(shape)
    if kind == "npy":
        np.save(tmp_path / "x.npy", x)
    else:
        np.savez(tmp_path / "x.npz", task=np.arange(4), x=x)
    for command in (["train", f"x.{kind}", "v.csv", "-m", "ccem", "-o", "run"],):
        filled = [tmp_path / part if part in (f"x.{kind}", "v.csv", "run") else part for part in command]
        fails(*filled, words=f"x.{kind} cannot be read as features | shape {shape}; a row of at least one number")
