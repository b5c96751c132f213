"""False alarms, and drops found, of the gate of a certificate: `python -m benchmarks.gate` writes gate.md.

Planted: a judge that agrees with people in 88 % of the tasks. Its certificate has 1,500 anchors; every look judges some
of them again. "Flips": share of all verdicts that turn from right to wrong when the judge is asked again; as many turn
from wrong to right. A drop turns further right verdicts into wrong ones from the first look on.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from crowdwise.evaluation.guarantee.judge_certificate import anchors_needed
from crowdwise.stats.betting import log_capital

from . import DOCS
from .markdown import figures, write_section

PAGE = DOCS / "gate.md"
HEAD = (
    "# The gate of a judge's certificate\n\nEvery figure here was printed by the command above its table. How it "
    "works: [guarantees](../guarantee.md#a-certificate-for-ci).\n"
)
RUNS, AGREEMENT, ALPHA, LOOKS = 2000, 0.88, 0.05, 200
FLIPS = (0.0, 0.03, 0.06)
LIMIT = np.log(2 / ALPHA)


def world(flips: float, drop: float, anchors: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Whether the judge was right on the anchors when it was certified, and now."""
    before = rng.random(anchors) < AGREEMENT
    lost = before & (rng.random(anchors) < (flips + drop) / AGREEMENT)
    won = ~before & (rng.random(anchors) < flips / (1 - AGREEMENT))
    return before.astype(float), ((before & ~lost) | won).astype(float)


def floor_of(before: np.ndarray, gold: int) -> float:
    """The low end of the 95 % interval from the certified gold (Wilson)."""
    z, share = ndtri(0.975), before[:gold].mean()
    return float(
        (share + z**2 / (2 * gold) - z * np.sqrt(share * (1 - share) / gold + z**2 / (4 * gold**2))) / (1 + z**2 / gold)
    )


def first_alarm(crossed: np.ndarray) -> float:
    """Place of the first alarm, or infinity."""
    return float(np.argmax(crossed)) + 1 if crossed.any() else np.inf


def alarms(before: np.ndarray, after: np.ndarray, looks: int) -> dict[str, float]:
    """Look of the first alarm of each rule; the anchors are divided among the looks."""
    ends = np.linspace(0, len(before), looks + 1).astype(int)[1:] - 1
    drift = log_capital((after - before + 1) / 2, 0.5)[ends] >= LIMIT
    promise = log_capital(after, floor_of(before, len(before)))[ends] >= LIMIT
    worse, better = np.cumsum(after < before)[ends], np.cumsum(after > before)[ends]
    p = binom.sf(worse - 1, worse + better, 0.5)
    return {
        "gate": first_alarm(drift | promise), "drift": first_alarm(drift), "promise": first_alarm(promise),
        "repeated": first_alarm(p <= ALPHA), "corrected": first_alarm(p <= ALPHA / looks),
    }  # fmt: skip


RULES = {
    "gate": "gate", "drift": "gate, drift test alone", "promise": "gate, promise test alone",
    "repeated": "sign test at 5 % at every look", "corrected": "sign test at 5 % / 200 at every look",
}  # fmt: skip


def alarm_rows(runs: int) -> list[list[str]]:
    """Share of runs with an alarm when nothing has changed."""
    out = []
    for flips in FLIPS:
        rng, outcomes = np.random.default_rng([34, int(flips * 100)]), []
        for _ in range(runs):
            outcomes.append(alarms(*world(flips, 0.0, 1500, rng), LOOKS))
        shares = {rule: np.mean([np.isfinite(row[rule]) for row in outcomes]) for rule in RULES}
        out.append([f"{100 * flips:g} %", *(f"{shares[rule]:.3f}" for rule in RULES)])
        print(*out[-1], flush=True)
    return out


def same_anchors_rows(runs: int) -> list[list[str]]:
    """Share of runs in which the promise test is wrong when the same 300 anchors are judged again at every look."""
    out = []
    for slack in (0.0, 0.02):
        rng, wrong = np.random.default_rng([35, int(slack * 100)]), 0
        for _ in range(runs // 4):
            chance = rng.beta(0.88 * 3, 0.12 * 3, 300)  # of agreeing, for every anchor
            passes = (rng.random((LOOKS, 300)) < chance).astype(float).ravel()
            wrong += bool((log_capital(passes, float(chance.mean()) - slack)[299::300] >= LIMIT).any())
        out.append([f"{100 * slack:g} points above the floor", f"{wrong / (runs // 4):.3f}"])
        print(*out[-1], flush=True)
    return out


def drop_rows(runs: int) -> list[list[str]]:
    """Anchors until a drop of five points is found, one anchor at a look."""
    out = []
    for flips in FLIPS:
        rng, outcomes = np.random.default_rng([36, int(flips * 100)]), []
        for _ in range(runs):
            outcomes.append(alarms(*world(flips, 0.05, 1500, rng), 1500))
        line = [f"{100 * flips:g} %"]
        for rule in RULES:
            if rule != "corrected":
                stops = np.array([row[rule] for row in outcomes])
                line.append(" / ".join(_count(x) for x in np.quantile(stops, [0.5, 0.8, 0.95], method="higher")))
        out.append(line)
        print(*line, flush=True)
    return out


def _count(x: float) -> str:
    return f"{x:,.0f}" if np.isfinite(x) else "> 1,500"


def main() -> None:
    """Write the sections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    command = "python -m benchmarks.gate" + ("" if runs == RUNS else f" --runs {runs}")
    header = ["flips", *RULES.values()]
    body = (
        f"Share of {runs:,} runs with an alarm in {LOOKS} looks, 1,500 anchors judged again one after another. The "
        f"gate's risk over all looks is {ALPHA:g}; the promise is the low end of the 95 % interval that 1,500 "
        f"anchors give.\n\n{figures(header, alarm_rows(runs))}\n\nThe same 300 anchors judged again at all {LOOKS} "
        f"looks: share of {runs // 4:,} runs in which the promise test is broken though the promise holds.\n\n"
        f"{figures(['mean agreement', 'alarms'], same_anchors_rows(runs))}"
    )
    write_section(PAGE, "alarms", "No change: false alarms", command, body)
    header = ["flips", *(RULES[rule] for rule in RULES if rule != "corrected")]
    body = (
        f"Anchors judged again until a drop from {AGREEMENT:g} to {AGREEMENT - 0.05:g} is found, a look after every "
        f"anchor: median / 80 % / 95 % of {runs:,} runs. A certificate states {anchors_needed(0.05, ALPHA):,} for a "
        "drop of 5 points (80 %, no flips). The sign test that looks as often is early because it is "
        f"wrong as often as the first table shows.\n\n{figures(header, drop_rows(runs))}"
    )
    write_section(PAGE, "drops", "A drop of five points", command, body)


if __name__ == "__main__":
    main()
