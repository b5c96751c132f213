"""Size and CPU seconds of `crowdwise report` on a file of votes: `python -m benchmarks.report [CROWD]...`.

web and trec come from CROWDWISE_DATA; the large crowd (100,000 tasks, 1,000 workers, 5 labels a task) is simulated. The
whole command is measured in a process of its own (start, reading, the default method, the page); how it divides into
fit and page is measured in this one. The compiled kernels' cache is warm: each crowd is fitted once before.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import crowdwise as cw
from crowdwise import report
from crowdwise.core.errors import CrowdwiseError
from crowdwise.core.method_registry import DEFAULT

CROWDS = ("web", "trec", "simulated")


def crowd(name: str) -> cw.Annotations:
    """The votes of a crowd."""
    if name == "simulated":
        return cw.simulate.scenario("one_coin", tasks=100_000, workers=1000, labels=5, classes=4, seed=1).annotations
    return cw.datasets.load(name).annotations


def whole_command(votes: cw.Annotations) -> float:
    """CPU seconds of the command line from the file to the page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.csv"
        votes.to_frame().select("task", "worker", "label").write_csv(file)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "crowdwise.cli", "report", str(file), "-o", str(file.with_suffix(".html"))]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name: str, votes: cw.Annotations) -> str:
    """One line of the table."""
    start = time.process_time()
    result = cw.method(DEFAULT).fit(votes)
    fitted = time.process_time()
    page = report.render(votes, result)
    made = time.process_time()
    cells = [f"{votes.n_tasks:,} × {votes.n_workers:,}", f"{len(page.encode()) / 1e6:.2f}"]
    cells += [f"{seconds:.1f}" for seconds in (whole_command(votes), fitted - start, made - fitted)]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("crowds", nargs="*", default=CROWDS, metavar="CROWD", help=", ".join(CROWDS))
    print(f"| crowd | tasks × workers | MB | CPU s of the command | of these: {DEFAULT} | the page |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in parser.parse_args().crowds:
        try:
            print(measure(name, crowd(name)), flush=True)
        except CrowdwiseError as error:
            print(f"| {name} | {error} | | | | |")


if __name__ == "__main__":
    main()
