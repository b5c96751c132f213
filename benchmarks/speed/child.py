"""Run one job in a fresh process and take its answer and its peak memory back as JSON.

`python -m benchmarks.speed.child MODULE:FUNCTION '{"argument": ...}'` is what runs in the process. Only the standard
library is imported here, so that a peer's environment can run it too.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from .. import ROOT

_MARK = "@@result "


class JobError(RuntimeError):
    """A job that did not end well."""


def run(job: str, python: str | None = None, threads: int | None = None, **arguments: Any) -> dict[str, Any]:
    """The job's own answer (a dict) with `peak_mb` added. `threads` limits every thread pool that we know of."""
    env = dict(os.environ)
    if threads is not None:
        for name in ("CROWDWISE_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            env[name] = str(threads)
    command = [python or sys.executable, "-m", "benchmarks.speed.child", f"benchmarks.speed.jobs.{job}"]
    done = subprocess.run(
        [*command, json.dumps(arguments)], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode or not answers:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise JobError(f"{job}: {last[0]}")
    return json.loads(answers[-1].removeprefix(_MARK))


def peak_mb() -> float:
    """Peak resident memory of this process in MB (10^6 bytes).

    VmHWM where there is one: on Linux ru_maxrss also remembers the process that started this one.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def main() -> None:
    module, _, function = sys.argv[1].partition(":")
    answer = getattr(importlib.import_module(module), function)(**json.loads(sys.argv[2]))
    print(_MARK + json.dumps({**answer, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
