"""Every bar beside its figure, read off the sections of the pages: which command prints it, and whether it is met."""

from __future__ import annotations

import re
from collections.abc import Callable

from .. import DOCS
from ..markdown import section

Table = list[list[str]]


def tables(page: str, name: str) -> list[Table]:
    """The tables of a section, as cells, without their rules."""
    out: list[Table] = []
    for block in re.split(r"\n\s*\n", section(DOCS / f"{page}.md", name)):
        lines = [line for line in block.splitlines() if line.startswith("| ")]
        rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if "---" not in line]
        if rows:
            out.append(rows)
    return out


def numbers(text: str) -> list[float]:
    """All numbers in a cell."""
    return [float(x) for x in re.findall(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", text.replace(",", ""))]


def row(table: Table, start: str) -> list[str]:
    """The row whose first cell begins so."""
    return next(cells for cells in table if cells[0].startswith(start))


def coverage() -> tuple[str, bool]:
    rows = tables("guarantee", "coverage")[0][1:]
    least = min(numbers(cells[i])[0] for cells in rows for i in (1, 2))
    wide = max(numbers(cells[5])[0] for cells in rows if numbers(cells[3])[0] >= 0.93)
    return f"coverage at least {least:.3f}; width at most {wide:.2f} × PPI++", least >= 0.93 and wide <= 1.05


def peer() -> tuple[str, bool]:
    worst = max(numbers(cells[1])[0] for cells in tables("guarantee", "peer")[0][1:])
    return f"largest difference {worst:.1e}", worst <= 1e-9


def saved() -> tuple[str, bool]:
    rows = {cells[0]: cells for cells in tables("guarantee", "saved")[0][1:]}
    got = {name: numbers(cells[2])[0] for name, cells in rows.items()}
    least = min(min(numbers(cells[i])) for cells in rows.values() for i in (1, 3))
    three = {"convabuse": 2.9, "cifar10n": 2.2, "md_agreement": 1.45}
    text = ", ".join(f"{name} {got[name]:.2f}" for name in three)
    met = all(got[name] >= bar for name, bar in three.items()) and min(got.values()) >= 1 and least >= 0.92
    return f"{text}; least {min(got.values()):.2f}; coverage at least {least:.3f}", met


def refusal() -> tuple[str, bool]:
    of = {cells[0]: numbers(cells[1])[0] for cells in tables("guarantee", "refusal")[0][1:]}
    unsure, balanced = of["where the judge is unsure"], of["balanced by truth"]
    text = f"unsure {unsure:.3f}, balanced {balanced:.3f}, random {of['random']:.3f}"
    return text, min(unsure, balanced) >= 0.99 and of["random"] <= 0.015


def promise() -> tuple[str, bool]:
    planted, real = tables("guarantee", "promise")[0], tables("guarantee", "crowds")[0]
    judges = tables("guarantee", "judges")[0][1:]
    worst = max(numbers(cells[1])[0] for cells in planted[1:])
    worst_real = max(numbers(cells[2])[0] for cells in [*real[1:], *judges])
    naive = [numbers(cells[i])[0] for part, i in ((planted[1:], 3), (real[1:], 4), (judges, 4)) for cells in part]
    text = f"broken at most {worst:.3f} planted, {worst_real:.3f} real; naive up to {max(naive):.2f}"
    # Two standard errors of 1,000, 300 and 150 runs.
    limits = worst <= 0.1 + 2 * (0.09 / 1000) ** 0.5 and worst_real <= 0.1 + 2 * (0.09 / 300) ** 0.5
    return text, limits


def accepted() -> tuple[str, bool]:
    rows = [cells for cells in tables("guarantee", "crowds")[0][1:] if cells[0].endswith(", default")]
    got = {cells[0].split(" ")[0]: numbers(cells[3])[0] for cells in rows}
    bars = {"cifar10n": 0.75, "md_agreement": 0.85, "rte": 0.75, "web": 0.55}
    return ", ".join(f"{name} {got[name]:.3f}" for name in bars), all(got[name] >= b for name, b in bars.items())


def sets() -> tuple[str, bool]:
    rows = tables("guarantee", "sets")[0][1:]
    plain, worst = [numbers(cells[1])[0] for cells in rows], [numbers(cells[2])[1] for cells in rows]
    text = f"marginal {min(plain):.3f} to {max(plain):.3f}; worst class, per class, {min(worst):.3f}"
    return text, min(plain) >= 0.89 and max(plain) <= 0.915 and min(worst) >= 0.89


def dependence() -> tuple[str, bool]:
    rows = [cells for cells in tables("judges", "dependence")[0][1:] if "judges" in cells[0]]
    near = "; ".join(f"{cells[0]} {cells[-1]}" for cells in rows)
    return f"columns near: {near}", all(cells[-1] == "6 of 6" for cells in rows)


def llmbar() -> tuple[str, bool]:
    rows = tables("judges", "llmbar")[0][1:]
    stack = numbers(row(rows, "judge_stack, 60")[1])[0]
    best = max(numbers(cells[1])[0] for cells in rows if not cells[0].startswith("judge_stack"))
    n_eff = numbers(section(DOCS / "judges.md", "bias").split("judges count as")[1])[0]
    text = f"n_eff {n_eff}; stack {stack:.3f}, best without gold {best:.3f}"
    return text, abs(n_eff - 2.5) <= 0.1 and stack >= 0.86 and stack - best >= 0.15


def repeats() -> tuple[str, bool]:
    one, two, three, _ = tables("judges", "repeats")
    off = [abs(numbers(cells[i])[0] / numbers(cells[3])[0] - 1) for cells in one[1:] for i in (1, 2)]
    off += [abs(a / b - 1) for cells in two[1:] for a, b in zip(numbers(cells[1]), numbers(cells[2]), strict=True)]
    off += [abs(a / b - 1) for cells in three[1:4] for a, b in (numbers(cell) for cell in cells[1:])]
    return f"{sum(x <= 0.05 for x in off)} of {len(off)} figures within 5 %", max(off) <= 0.05


def voices() -> tuple[str, bool]:
    apart, together = (numbers(cells[3])[0] for cells in tables("judges", "repeats")[3][1:])
    return f"ECE {apart:.3f} → {together:.3f}", together <= apart / 2


def bias() -> tuple[str, bool]:
    rates, real = tables("judges", "bias")
    false = [numbers(row(rates, name)[1])[0] for name in
             ("position, none", "length, none planted, with gold", "groups of raters")]  # fmt: skip
    found = [row(real, name)[1] for name in ("position", "length")]
    text = f"false alarms at most {max(false):.3f}; position {found[0]}, length {found[1]}"
    return text, max(false) <= 0.06 and found == ["20 of 23", "23 of 23"]


def fairness() -> tuple[str, bool]:
    rows = tables("fairness", "recid")[2][1:]
    got = {cells[0]: (numbers(cells[2])[1], numbers(cells[5])[0]) for cells in rows}
    lp = max(numbers(cells[1])[0] for cells in tables("fairness", "programmes")[1][1:])
    text = ", ".join(f"{name} {got[name][0]:.3f} at {got[name][1]:+.4f}" for name in ("opportunity", "odds"))
    met = all(got[name][0] <= 0.06 and got[name][1] >= -0.01 for name in ("opportunity", "odds")) and lp <= 1
    return f"{text}; LP {lp:.3f} s", met


def subjective() -> tuple[str, bool]:
    rows = [list(map(float, cells[1:])) for cells in tables("judges", "subjective")[0][1:]]
    wins = sum(shares < min(pooled, raw) for _, shares, pooled, raw in rows)
    return f"{wins} of {len(rows)} sets", wins == len(rows)


def speed() -> tuple[str, bool]:
    ours = {cells[0]: float(cells[1]) for cells in tables("guarantee", "speed")[0][1:]}
    judges = tables("judges", "speed")[0]
    million = "a million verdicts, 1,000 gold: "
    names = ("stack", million + "judge_stack", million + "cw.judges")
    stack, *verdicts = (float(row(judges, name)[1]) for name in names)
    text = f"accept {ours['accept, error 5 %']:.2f} s, estimate {ours['estimate a share']:.3f} s, stack {stack:.2f} s; "
    text += f"a million verdicts: judge_stack {verdicts[0]:.1f} s, cw.judges {verdicts[1]:.1f} s"
    return text, ours["accept, error 5 %"] <= 1 and ours["estimate a share"] <= 0.1 and stack <= 1


GUARANTEE, JUDGES, FAIRNESS = (f"`python -m benchmarks.{room} " for room in ("guarantee", "judges", "fairness"))
BARS: list[tuple[str, str, str, Callable[[], tuple[str, bool]]]] = [
    ("coverage", "every one ≥ .93; width ≤ 1.05 × PPI++ where that covers ≥ .93", GUARANTEE + "coverage`", coverage),
    ("same as ppi-python", "1e-9 on 1,000 inputs", GUARANTEE + "peer`", peer),
    ("labels saved", "convabuse 2.9, cifar10n 2.2, md_agreement 1.45, none < 1; coverage ≥ .92", GUARANTEE + "saved`",
     saved),
    ("refusal", "≥ .99 where unsure or balanced, random ≤ .015", GUARANTEE + "refusal`", refusal),
    ("promise", "broken ≤ .1 and two standard errors", GUARANTEE + "promise crowds judges`", promise),
    ("accepted, default method", "cifar10n .75, md_agreement .85, rte .75, web .55", GUARANTEE + "crowds`", accepted),
    ("label sets", "marginal .89 to .915; worst class ≥ .89", GUARANTEE + "sets`", sets),
    ("dependence, planted", "within .015 and 10 %", JUDGES + "dependence`", dependence),
    ("dependence, real", "n_eff 2.5 ± .1; stack ≥ .86, ahead by ≥ .15", JUDGES + "llmbar bias`", llmbar),
    ("repeats, confidences", "within 5 %", JUDGES + "repeats`", repeats),
    ("184 repeats as voices", "ECE at least halved", JUDGES + "repeats`", voices),
    ("bias", "false alarms ≤ .06; position 20 of 23, length 23 of 23", JUDGES + "bias`", bias),
    ("fairness", "recall gap ≤ .06 at ≥ -.01 accuracy; LP ≤ 1 s", FAIRNESS + "recid programmes`", fairness),
    ("subjective", "chosen strength beats pooled and raw on all four", JUDGES + "subjective`", subjective),
    ("speed, a million tasks", "accept ≤ 1 s, estimate ≤ .1 s, stack of 400 × 30 ≤ 1 s", GUARANTEE + "speed`", speed),
]  # fmt: skip


def bar_rows() -> list[list[str]]:
    """Area, bar, figure, met, command."""
    out = []
    for area, bar, command, read in BARS:
        text, met = read()
        out.append([area, bar, text, "yes" if met else "no", command])
        print(*out[-1], flush=True)
    return out
