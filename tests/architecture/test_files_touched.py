"""How many of our files the most common command, on a plain CSV file, calls a function of, and how many it imports."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from .packages import SRC

MOST_TOUCHED, MOST_IMPORTED = 110, 214
# Class bodies and modules run too; only functions have the flag of optimised local variables.
SCRIPT = """
import contextlib, inspect, io, json, sys

root, touched = sys.argv[1], set()

def profile(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(root):
        touched.add(code.co_filename[len(root):].lstrip("/"))

from crowdwise.cli import main

sys.argv = ["crowdwise", "aggregate", sys.argv[2]]
sys.setprofile(profile)
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
sys.setprofile(None)
imported = [name for name in sys.modules if name.split(".")[0] == "crowdwise"]
print(json.dumps({"touched": sorted(touched), "imported": sorted(imported)}))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that `aggregate votes.csv` touches, and the modules that it imports."""
    votes = tmp_path_factory.mktemp("touched") / "votes.csv"
    rng = np.random.default_rng(0)
    lines = ["task,worker,label"]
    for task, truth in enumerate(rng.integers(2, size=300)):
        for worker in rng.choice(20, 4, replace=False):
            lines.append(f"{task},w{worker},{'ab'[truth if rng.random() < 0.8 else 1 - truth]}")
    votes.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(SRC), str(votes)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_files_touched(files):
    assert "cli/aggregate.py" in files["touched"]
    assert len(files["touched"]) <= MOST_TOUCHED, "\n".join(files["touched"])


def test_modules_imported(files):
    assert "crowdwise.cli.aggregate" in files["imported"]
    assert len(files["imported"]) <= MOST_IMPORTED, "\n".join(files["imported"])
