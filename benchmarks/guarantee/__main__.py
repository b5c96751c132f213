"""python -m benchmarks.guarantee: promises against planted and real truth. Writes docs/benchmarks/guarantee.md."""

from __future__ import annotations

import argparse

from .. import DOCS
from ..markdown import figures, table, write_section
from . import bars, cascades, coverage, differences, judges, orders, peer, promise, refusal, saved, sets, speed

PAGE = DOCS / "guarantee.md"
HEAD = (
    "# Guarantees: estimate, accept, label sets\n\nEvery figure here was printed by the command above its table. How "
    "it works: [guarantees](../guarantee.md).\n"
)


def coverage_section() -> str:
    header = [
        "prevalence, TPR, TNR",
        "double, these",
        "double, new",
        "PPI++, new",
        "gold alone (Wilson)",
        "width / PPI++",
    ]
    table = figures(header, coverage.coverage_rows())
    more = figures(["", "coverage of every class", "width / gold alone"], coverage.many_classes_row())
    ratings = figures(["", "regression estimator", "PPI++"], coverage.rating_rows())
    return (
        f"Coverage / mean width of 95 % intervals of a share, {coverage.TASKS:,} tasks, {coverage.RUNS:,} runs. "
        "These: the share among these tasks; new: the probability behind them. PPI++ is ppi-python's estimator (see "
        f"below). The last column is double, new, against PPI++.\n\n{table}\n\n{more}\n\n{ratings}"
    )


def peer_section() -> str:
    return (
        f'Largest difference over {peer.RUNS:,} random inputs between `method="ppi++"` and ppi-python 0.2.3 in its own '
        f"environment.\n\n{figures(['figure', 'largest difference'], peer.peer_rows())}"
    )


def saved_section() -> str:
    header = [
        "set",
        "random label: coverage (worst class)",
        "labels saved",
        "Dawid-Skene: coverage (worst class)",
        "labels saved",
    ]
    return (
        f"Shares of classes from {saved.GOLD} gold labels (the set's truth) and a verdict on every task: one random "
        f"label of the crowd, or Dawid-Skene's. {saved.RUNS:,} draws of the gold. Labels saved: (width of the gold "
        f"alone for the same tasks / width)², mean over draws and classes.\n\n{figures(header, saved.saved_rows())}"
    )


def refusal_section() -> str:
    header = ["gold that is stated to be random", "refused", "95 % interval covers"]
    return (
        f"{refusal.TASKS:,} tasks, {refusal.GOLD} gold labels, {refusal.RUNS:,} runs. The test looks at verdicts, "
        "confidences and labels per task (Holm, 1 %). It cannot see gold that was picked by what only people know: the "
        f"last line. `crowdwise accept --draw` needs no test.\n\n{figures(header, refusal.refusal_rows())}"
    )


PROMISED = (
    "`accept` at risk 10 %: share of runs in which more than the promised share of accepted, unchecked tasks is wrong, "
    "and share of tasks accepted. Naive: the largest set with at most that share wrong in the gold.\n\n"
)
PROMISE = ["tasks", "broken", "accepted", "naive: broken", "naive: accepted"]


def promise_section() -> str:
    planted = figures(PROMISE, promise.planted_rows())
    other = figures(["promise", "mean wrongly accepted", "above 5 %", "accepted"], promise.other_rows())
    looks = figures(["eight looks while gold grows from 100 to 800", "broken"], promise.looks_rows())
    return (
        f"{PROMISED}Planted, error 5 %, {promise.RUNS:,} runs.\n\n{planted}\n\nErrors among all tasks, planted (72 % "
        f"acceptable).\n\n{other}\n\n{looks}"
    )


def crowds_section() -> str:
    real = figures(["set", "wrong in all", *PROMISE[1:]], promise.real_rows())
    return (
        f"{PROMISED}Real crowds, {promise.REAL_RUNS} draws of the gold. Dawid-Skene with smoothing 1; the default "
        "method, where accept finds the surest tasks by the lower of two places; the same by confidence alone, which "
        f"stops early on rte: tasks on which many agree share the top, whoever these many are.\n\n{real}"
    )


def order_section() -> str:
    header = ["surest by", "other sets: AUC", "acceptable", "ten sets: AUC", "acceptable"]
    return (
        "Orders of the default method's labels that need no gold. A promise holds in any of them; the better one "
        "accepts more. AUC: the chance that a right label stands above a wrong one. Acceptable: the share of tasks "
        "above the first rung with more errors than asked for, mean over .4, .6 and .8 of the set's error. The rule "
        "(the lower of the places) was chosen on the other sets; the ten are those of the table of promises.\n\n"
        f"{figures(header, orders.order_rows())}"
    )


def judges_section() -> str:
    header = ["judges_llmbar", "wrong in all", "broken", "accepted", "naive: broken", "naive: accepted"]
    rows = figures(header, judges.judge_rows())
    return (
        "25 language models judge 419 pairs (four prompts, both orders, one voice a judge); `accept` at risk 10 % "
        f"after a stack that itself needs gold, {judges.RUNS} draws of both golds.\n\n{rows}"
    )


def sets_section() -> str:
    header = ["set", "plain: coverage (worst class), size", "per class", "posterior's own 90 %"]
    return (
        f"Label sets at 90 %, Dawid-Skene's posterior, half of the truth (at most 1,000) as gold, {sets.RUNS} draws."
        f"\n\n{figures(header, sets.set_rows())}"
    )


def cascade_section() -> str:
    header = ["prices, errors, error asked for, gold", "cheap alone", "strong alone", "cascade", "broken"]
    return (
        "Cost a task of three ways to labels (prices of a cheap verdict, a strong verdict, a person's label); broken: "
        f"share of {cascades.RUNS} runs in which the cheapest way broke its promise.\n\n"
        f"{figures(header, cascades.cascade_rows())}"
    )


def speed_section() -> str:
    return (
        f"{speed.TASKS:,} verdicts, {speed.GOLD:,} gold labels, CPU seconds, best of three.\n\n"
        f"{figures(['what', 'seconds'], speed.speed_rows())}"
    )


def difference_section() -> str:
    header = ["difference of", "coverage", "width", "width, gold alone", "labels saved"]
    return (
        f"Two systems on {differences.TASKS:,} tasks, {differences.GOLD} gold labels, {differences.RUNS} runs, 95 % "
        f"intervals.\n\n{figures(header, differences.difference_rows())}"
    )


def bars_section() -> str:
    return (
        "What was to be shown, read off the sections of this page, of [judges](judges.md) and of "
        "[fairness](fairness.md), which the commands print. Why planted figures of dependence, repeats and confidences "
        "differ from the expected ones stands there: what is planted is fixed by two marginals each, not fitted.\n\n"
        + table(["area", "bar", "figure", "met", "command"], bars.bar_rows())
    )


SECTIONS = {
    "coverage": ("Intervals of a share", coverage_section),
    "peer": ("The same as ppi-python", peer_section),
    "saved": ("Labels saved on real crowds", saved_section),
    "refusal": ("Gold that is no random sample", refusal_section),
    "promise": ("Accepted tasks", promise_section),
    "crowds": ("Accepted tasks of real crowds", crowds_section),
    "order": ("By what the surest tasks are found", order_section),
    "judges": ("Judges that are models", judges_section),
    "sets": ("Label sets", sets_section),
    "cascade": ("A cheap and a strong judge", cascade_section),
    "speed": ("Speed", speed_section),
    "difference": ("Two systems", difference_section),
    "bars": ("Bars", bars_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    for name in parser.parse_args().sections or SECTIONS:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.guarantee {name}", make())


if __name__ == "__main__":
    main()
