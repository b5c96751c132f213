"""crowd-kit's Dawid-Skene on the same labels, in its own environment, with a bound on memory and time."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

from ..environments import Environment

# Where crowd-kit is installed already (CROWDKIT_PYTHON), or an environment of our own making.
KIT = Environment("crowdkit", packages=("crowd-kit==1.4.2", "pyarrow"), module="crowdkit")
LIMIT_GB, SECONDS = 14, 900
CODE = """
import glob, json, resource, sys, time
import pandas as pd
from crowdkit.aggregation import DawidSkene
begin = time.perf_counter()
frames = [pd.read_parquet(path) for path in sorted(glob.glob(sys.argv[1]))]
votes = pd.concat(frames, ignore_index=True)
del frames
read = time.perf_counter() - begin
print(json.dumps({"read": read, "rows": len(votes)}), flush=True)
begin = time.perf_counter()
DawidSkene(n_iter=3, tol=0).fit_predict(votes)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({"fit": time.perf_counter() - begin, "peak_gb": peak}), flush=True)
"""


def crowd_kit(pattern: str) -> dict[str, Any]:
    """Time and peak memory of three iterations, or what it died of."""
    python = os.environ.get("CROWDKIT_PYTHON") or (str(KIT.python) if KIT.ready() else None)
    if python is None:
        return {"failed": "crowd-kit could not be installed"}
    command = ["prlimit", f"--as={LIMIT_GB * 10**9}", python, "-c", CODE, pattern]
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode()
        return {"limit_gb": LIMIT_GB, "timeout": SECONDS, **_said(said)}
    found = {"limit_gb": LIMIT_GB, "wall": time.perf_counter() - begin, **_said(done.stdout)}
    if done.returncode:
        found["failed"] = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:160]
    return found


def _said(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.splitlines():
        found |= json.loads(line)
    return found
