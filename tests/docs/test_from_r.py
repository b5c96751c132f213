"""The R blocks of docs/from-r.md, in order, in one folder: only where Rscript is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data import ROOT

PAGE = (ROOT / "docs" / "from-r.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```r\n(.*?)^```", PAGE, re.S | re.M)
COMMANDS = re.findall(r"^\$ (crowdwise .*)$", PAGE, re.M)


def in_r(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "block.R").write_text(code, encoding="utf-8")
    env = {**os.environ, "RETICULATE_PYTHON": sys.executable}
    return subprocess.run(["Rscript", "block.R"], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def test_the_page_has_r_before_and_after_the_commands():
    assert len(BLOCKS) == 3
    assert "write.csv" in BLOCKS[0]
    assert "read.csv" in BLOCKS[1]
    assert "reticulate" in BLOCKS[2]
    assert "only where `Rscript` is" in " ".join(PAGE.split())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_writes_what_the_commands_read_and_reads_what_they_write(tmp_path, monkeypatch, crowdwise_cli):
    import shlex

    monkeypatch.chdir(tmp_path)
    written = in_r(BLOCKS[0], tmp_path)
    assert written.returncode == 0, written.stderr
    for command in COMMANDS:
        code, _, err = crowdwise_cli(*shlex.split(command)[1:])
        assert code == 0, err
    read = in_r(BLOCKS[1], tmp_path)
    assert read.returncode == 0, read.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_reticulate_calls_the_package(tmp_path):
    if in_r("library(reticulate)", tmp_path).returncode:
        pytest.skip("R's package reticulate is not installed")
    ran = in_r(BLOCKS[2], tmp_path)
    assert ran.returncode == 0, ran.stderr
