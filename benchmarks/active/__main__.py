"""python -m benchmarks.active [saving|replay|advice|speed]...: live labelling. Writes docs/benchmarks/active.md."""

from __future__ import annotations

import argparse
import warnings

from .. import DOCS
from ..markdown import figures, write_section
from . import advice, replayed, saving, speed

PAGE = DOCS / "active.md"
HEAD = (
    "# Live labelling: whom to ask what next, and when to stop\n\nEvery figure was printed by the command above it.\n"
)


def saving_section(only_finished: bool) -> str:
    runs = saving.finished() if only_finished else saving.RUNS
    return (
        f"{saving.TASKS:,} tasks of {saving.CLASSES} classes, {saving.WORKERS} workers: {saving.SPAMMERS} guess, the "
        "others' skill is drawn from Beta(6, 3). Fixed overlap: workers come at random, every task gets as many labels "
        "as the next. Accuracy is taken every 40 labels after a sweep, for all ways by the same model. A task "
        f"stops at 95 % or 40 labels. Means of {runs} seeds with 95 % intervals; the last column is the share "
        "of right labels among all tasks that stopped because they were sure.\n\n"
        + figures(saving.HEADER, saving.rows(runs))
    )


def replay_section(only_finished: bool) -> str:
    header = ["set", "labels", "right with all", "runs", *(f"{policy}: share needed" for policy in replayed.POLICIES)]
    return (
        "How many rounds of EM a sweep makes, and how it starts, were settled with dog, web, sp and trec in view. A "
        "run that never comes so near counts as all labels. Only recorded (task, worker) pairs can be asked. The share "
        "of the labels after which the accuracy first comes "
        f"within a point of that of all labels, looked at every {replayed.EVERY:.0%} of the labels; the live model "
        f"after a sweep, for all policies alike. Means over the runs with 95 % intervals.\n\n"
        + figures(header, replayed.rows(only_finished))
    )


def advice_section(only_finished: bool) -> str:
    header = ["set", "splits", "right before", "next", "entropy", "random", "next − entropy", "next − random"]
    found = advice.rows(only_finished)
    ahead = {
        of: [row[0] for row in found if row[place].startswith("+")] for of, place in (("entropy", 6), ("random", 7))
    }
    closing = "; ".join(
        f"beside {of} the advice gains more on {len(names)} of {len(found)} sets ({', '.join(names)})"
        for of, names in ahead.items()
    )
    return (
        "That one vote is weighed exactly was settled after six of these splits, where web was behind entropy without "
        "it; the other splits were not looked at before. "
        f"{advice.KEEP:.0%} of the votes are kept, the default method is fitted, and a budget of {advice.SHARE:.0%} of "
        "all votes is spent on held-back votes of the tasks that each way chooses; the workers are drawn, so that only "
        "the choice of tasks is compared. Points of accuracy gained by 100 votes after the default method is fitted "
        f"again, means over the splits; differences with 95 % intervals.\n\n"
        + figures(header, found)
        + f"\n\nHeld to more than both on all of them: {closing}."
    )


def speed_section(only_finished: bool) -> str:  # noqa: ARG001
    found = speed.main()
    header = ["tasks", *(name for name in found[0] if name != "tasks")]
    body = [[f"{row['tasks']:,}", *(f"{row[name]:.2f}" for name in header[1:])] for row in found]
    return (
        f"Milliseconds of CPU for one answer: the update and the next task, at {speed.WORKERS:,} workers and "
        f"{speed.CLASSES} classes with three answers a task on average; the policy is information. `arrives`: a "
        "worker is there and gets a task; `chosen`: task and worker are both chosen. `sweep`: all tasks looked at "
        "again, which the caller does when it suits.\n\n" + figures(header, body)
    )


SECTIONS = {
    "saving": ("Saving, planted crowds", saving_section),
    "replay": ("Saving, replayed", replay_section),
    "advice": ("The advice of crowdwise next", advice_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    """Run the sections that are asked for, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.active", description=__doc__)
    parser.add_argument("sections", nargs="*", help=", ".join(SECTIONS))
    parser.add_argument("--finished", action="store_true", help="only what earlier runs have finished")
    asked = parser.parse_args()
    wanted = asked.sections or list(SECTIONS)
    warnings.simplefilter("ignore")
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in wanted:
        if name not in SECTIONS:
            parser.error(f"there is no section {name!r}; there are {', '.join(SECTIONS)}")
        title, made = SECTIONS[name]
        body = made(asked.finished)
        write_section(PAGE, name, title, f"python -m benchmarks.active {name}", body)
        print(body)


if __name__ == "__main__":
    main()
