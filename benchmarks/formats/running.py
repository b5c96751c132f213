"""A job of benchmarks/formats/jobs, run with a tool's own Python."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .. import ROOT


class JobError(RuntimeError):
    """A job that did not end well."""


def answer_of(python: Path, job: str, verb: str, folder: Path) -> dict[str, Any]:
    """What the job answers; `folder` is where it writes, or where its input lies."""
    command = [str(python), "-W", "ignore", "-m", f"benchmarks.formats.jobs.{job}", verb, str(folder)]
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(command, cwd=ROOT, stdout=said, stderr=said, timeout=600, check=False)
        said.seek(0)
        last = said.read().strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    if done.returncode:
        raise JobError(f"{job} {verb}: {last[0]}")
    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    (folder / "answer.json").unlink()
    return answer
