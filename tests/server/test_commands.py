"""crowdwise project and crowdwise serve: what people type."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import httpx
import polars as pl
import pytest

from crowdwise.cli import main


@pytest.fixture
def run(capsys):
    """What a command prints on stdout and stderr, and its exit code."""

    def one(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out = capsys.readouterr()
        return out.out, out.err, ended.value.code

    return one


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("id,text,gold\n1,hello,\n2,world,b\n3,more,\n", encoding="utf-8")
    return path


def test_from_nothing_to_the_export(run, tmp_path, tasks):
    folder = tmp_path / "p"
    out, err, code = run("project", "create", folder, "--question", "Which?", "--classes", "a,b", "--tasks", tasks,
                         "-s", "gold_rate=.1")  # fmt: skip
    assert code == 0
    assert out.startswith("cw_")
    assert "3 tasks added" in err
    assert run("project", "import", folder, tasks)[1] == "0 tasks added, 3 existed already\n"
    assert run("project", "tokens", folder, "--worker", "ann")[0].startswith("cw_")
    assert "ann" in run("project", "tokens", folder)[0]
    assert "/join/cwi_" in run("project", "invite", folder, "--uses", 3)[0]
    assert run("project", "export", folder, "-o", tmp_path / "out")[2] == 0
    labels = pl.read_csv(tmp_path / "out" / "labels.csv")
    assert labels["task"].to_list() == [1, 2, 3]
    assert run("project", "backup", folder, "-o", tmp_path / "copy")[2] == 0
    assert run("project", "tokens", tmp_path / "copy")[2] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["create", "{p}", "--question", "?", "--classes", "a"], "needs 2 to 200 classes"),
        (["create", "{p}", "--question", "?", "--kind", "dances"], "kind must be one of"),
        (["create", "{p}", "--question", "?", "--classes", "a,b", "--policy", "x"], "policy must be one of"),
        (["create", "{p}", "--question", "?", "--classes", "a,b", "-s", "what=1"], "what"),
        (["create", "{p}", "--question", "?", "--classes", "a,b", "--target", "7"], "target"),
        (["create", "{p}", "--question", "?", "--classes", "a,b", "-s", "lease=long"], "wrong kind"),
        (["import", "{p}"], "give a file"),
        (["tokens", "{p}"], "is no project"),
        (["backup", "{p}", "-o", "{p}"], ""),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, tmp_path, words, says):
    _, err, code = run("project", *(word.format(p=tmp_path / "p") for word in words))
    assert code == 2
    assert err.startswith("crowdwise: ")
    assert err.count("\n") == 1
    assert says in err


def test_pictures_come_along(run, tmp_path):
    (tmp_path / "pictures").mkdir()
    for name in ("x.png", "y.jpg", "notes.txt"):
        (tmp_path / "pictures" / name).write_bytes(b"picture")
    run("project", "create", tmp_path / "p", "--question", "?", "--classes", "a,b", "--tasks", tmp_path / "pictures")
    assert sorted(each.name for each in (tmp_path / "p" / "media").iterdir()) == ["x.png", "y.jpg"]


def test_pairs_of_pictures_come_along(run, tmp_path):
    for name in ("x.png", "y.png"):
        (tmp_path / name).write_bytes(name.encode())
    table = tmp_path / "pairs.csv"
    table.write_text("id,left_image,right_image\np,x.png,y.png\nq,y.png,https://example.org/z.png\n")
    given = ["project", "create", tmp_path / "p", "--question", "?", "--kind", "comparisons", "--tasks"]
    assert run(*given, table)[2] == 0
    assert sorted(each.name for each in (tmp_path / "p" / "media").iterdir()) == ["x.png", "y.png"]
    table.write_text("id,left_image,right_image\np,x.png,\n")
    _, err, code = run("project", "import", tmp_path / "p", table)
    assert code == 2
    assert "right is missing" in err


def test_a_server_serves_and_ends(run, tmp_path, tasks):
    folder = tmp_path / "p"
    token = run("project", "create", folder, "--question", "?", "--classes", "a,b", "--tasks", tasks)[0].strip()
    words = [sys.executable, "-m", "crowdwise.cli", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        line = server.stderr.readline()
        url = line.split(" at ")[1].split()[0]
        for _ in range(200):
            try:
                got = httpx.get(f"{url}/projects/main/status", headers={"Authorization": f"Bearer {token}"})
                break
            except httpx.TransportError:
                time.sleep(0.1)
        assert got.json()["tasks"]["all"] == 3
        assert "server" not in got.headers
        _, err, code = run("serve", folder, "--port", 0)
        assert code == 2
        assert f"served already by process {server.pid}" in err
    finally:
        server.send_signal(signal.SIGTERM)
    assert server.wait(60) in (0, -signal.SIGTERM)
    assert (folder / "snapshots" / "state.npz").exists()
    assert run("serve", folder, "--host", "0.0.0.0", "--insecure-local")[1].startswith("crowdwise: --insecure-local")
