"""python -m benchmarks.active [saving|replay|advice|promised|speed]...: what docs/benchmarks/active.md says."""

from __future__ import annotations

import argparse
import warnings

from .. import DOCS
from ..markdown import figures, write_section
from . import advice, promised, replayed, saving, speed

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
        "of right labels among all tasks that stopped because they were sure. Whole fits: the default method is fitted "
        "every 40 labels, as the server does in the background; without checked tasks the doubt of the fit is that of "
        "the expected accuracy alone, with them tasks stop by calibrated confidence. Checked tasks count as right "
        "where they are looked at by the fit that knows them.\n\n" + figures(saving.HEADER, saving.rows(runs))
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
    header = [
        "set", "splits", "right before", "next", "entropy", "random", "tasks of next, workers drawn",
        "tasks of entropy, workers as by next", "next promised", "next − entropy", "next − random",
        "tasks of next − entropy, workers drawn",
    ]  # fmt: skip
    found = advice.rows(only_finished)
    ahead = {of: [row[0] for row in found if clear(row[place])] for of, place in (("entropy", -3), ("random", -2))}
    closing = "; ".join(
        f"beside {of} clearly more on {len(names)} of {len(found)} sets ({', '.join(names)})"
        for of, names in ahead.items()
    )
    return (
        f"{advice.KEEP:.0%} of the votes are kept, the default method is fitted, and a budget of {advice.SHARE:.0%} of "
        "all votes is spent on votes that were held back. `next` says which tasks get how many votes and whom to ask; "
        "only recorded pairs of task and worker can be asked. Entropy and chance choose tasks and know nothing of "
        "workers: theirs are drawn. Two columns take the advice apart: its tasks with drawn workers, and the tasks of "
        "entropy with the workers whom `next` would name. Points of accuracy gained by 100 votes after the default "
        "method is fitted again, means over the splits; differences with 95 % intervals. The rule was settled with an "
        "earlier default on other splits of these sets and of trec, sp, rte, temp, music, labelme, aircrowd6 and "
        "zencrowd_us.\n\n"
        + figures(header, found)
        + f"\n\nHeld to more than both on all of them: {closing}. The tasks alone are a smaller matter (last column): "
        "of other scores that were tried on other sets (margin, least confidence, information, expected accuracy, "
        "boosted trees over all of these) none was clearly better than entropy at choosing tasks for one vote each. "
        "What `next` adds is how many votes a task deserves and whom to ask."
    )


def clear(told: str) -> bool:
    """Whether a difference is above its interval."""
    mean, _, half = told.partition(" ± ")
    return float(mean) > float(half)


def promised_section(only_finished: bool) -> str:  # noqa: ARG001
    return (
        "About two labels a task are kept, and every task gets one, two or three of those that were held back. "
        "Promised is the expected rise of the share of right labels, as `next` prints it; came is the rise after the "
        "default method is fitted again; the last columns would be promised if the labels of one task were "
        f"independent. Sets with four labels a task or more, {promised.SPLITS} splits each, each set counts the same. "
        "That n labels count as n / (1 + .15 (n - 1)) was settled on other splits of these sets.\n\n"
        + figures(promised.HEADER, promised.rows(apart=False))
        + f"\n\nThe sets of the advice ({', '.join(promised.APART)}), which were left out when it was settled:\n\n"
        + figures(promised.HEADER, promised.rows(apart=True))
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
    "promised": ("What next promises, and what comes", promised_section),
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
