"""Size and CPU seconds of the report, with the fit before it apart: `python -m benchmarks.report`.

web and trec come from CROWDWISE_DATA; the large crowd (100,000 tasks, 1,000 workers, 5 labels a task) is simulated.
"""

from __future__ import annotations

import time

import crowdwise as cw
from crowdwise import report
from crowdwise.errors import CrowdwiseError

METHOD = "hierarchical"


def measure(name: str, votes: cw.Annotations, truth: object) -> str:
    """One line of the table."""
    start = time.process_time()
    result = cw.method(METHOD).fit(votes)
    fitted = time.process_time()
    page = report.render(votes, result, truth=truth)
    made = time.process_time()
    size = len(page.encode()) / 1e6
    shape = f"{votes.n_tasks:,} × {votes.n_workers:,}"
    return f"| {name} | {shape} | {size:.2f} | {made - fitted:.1f} | {fitted - start:.1f} |"


def main() -> None:
    """Print a Markdown table."""
    print(f"| crowd | tasks × workers | MB | CPU s of the page | CPU s of the fit ({METHOD}) |\n|---|---|---|---|---|")
    for name in ("web", "trec"):
        try:
            data = cw.datasets.load(name)
        except CrowdwiseError as error:
            print(f"| {name} | {error} | | | |")
            continue
        print(measure(name, data.annotations, data.truth))
    crowd = cw.simulate.scenario("one_coin", tasks=100_000, workers=1000, labels=5, classes=4, seed=1)
    print(measure("simulated", crowd.annotations, crowd.truth_table()))


if __name__ == "__main__":
    main()
