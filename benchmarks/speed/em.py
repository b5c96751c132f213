"""One EM iteration of Dawid-Skene beside crowd-kit's, scipy.sparse's and a bare loop in C; and SQUAREM."""

from __future__ import annotations

from . import child, peers
from .data import Size
from .jobs.bare import compiler
from .plan import Plan
from .section import Section, at_least, at_most, ms, ratio

# Passes from which and up to which a fit is timed: what happens once per fit does not count.
WINDOW = (3, 13)
CONTENDERS = {
    "ours": "crowdwise",
    "bare": "bare loop (C)",
    "prefetch": "with prefetch",
    "sparse": "scipy.sparse",
    "crowdkit": "crowd-kit",
}


def em(plan: Plan) -> Section:
    """Section 1."""
    section = Section(
        "EM iteration",
        "Milliseconds of CPU per iteration of `dawid_skene` on one thread (M-step, E-step and objective, float64), "
        "each in its own process, in turns, the best of three (crowd-kit at more than 1 M labels: of two). crowd-kit: "
        "the difference of a run of 20 iterations and one of 5, divided by 15. Bare loop: what the machine needs to "
        "gather and scatter the same cells in C (`-O3`), without any logarithm, normalisation or objective; with "
        "prefetch, it asks for memory 16 labels in advance, as our kernel does: a harder yardstick than the bar's.",
        ["size", *CONTENDERS.values(), "crowd-kit / ours", "ours / bare loop", "ours / with prefetch"],
    )
    if compiler() is None:
        section.notes.append("no C compiler here: the bare loop is left out")
    if peers.crowd_kit() is None:
        section.notes.append("crowd-kit could not be installed here")
    for size, bar, floor in ((plan.small, 35, None), (plan.large, 20, 2)):
        best = _compare(plan, size)
        ours = best["ours"]
        faster, slower = ratio(best.get("crowdkit"), ours), ratio(ours, best.get("bare"))
        ratios = ((faster, 0), (slower, 2), (ratio(ours, best.get("prefetch")), 2))
        section.rows.append(
            [
                str(size),
                *(ms(best.get(name)) for name in CONTENDERS),
                *("-" if value is None else f"{value:.{digits}f}" for value, digits in ratios),
            ]
        )
        once = child.run("ours:whole", threads=1, path=plan.crowd(size), passes=10, repeats=5)
        section.notes.append(
            f"{size}: a fit of ten passes takes {ms(once['fit'])} ms, its passes {ms(once['passes'])} ms; the workers' "
            f"skills take {ms(once['skills'])} ms more, once they are asked for"
        )
        over = ratio(once["fit"], once["passes"])
        section.bars.append(at_most(f"{size}: a fit of ten passes against its passes", 1.7, over, judged=plan.judged))
        section.bars.append(at_least(f"{size}: faster than crowd-kit", bar, faster, judged=plan.judged))
        if floor is not None:
            section.bars.append(at_most(f"{size}: against the bare loop", floor, slower, judged=plan.judged))
    return section


def _compare(plan: Plan, size: Size) -> dict[str, float]:
    """Best CPU seconds per iteration of each contender, taking turns."""
    path = plan.crowd(size)
    first, last = WINDOW
    seen: dict[str, list[float]] = {}
    for turn in range(plan.rounds):
        found = {"ours": child.run("ours:iteration", threads=1, path=path, first=first, last=last, repeats=3)}
        if compiler() is not None:
            found["bare"] = child.run("bare:iteration", threads=1, path=path, repeats=10)
            found["prefetch"] = child.run("bare:iteration", threads=1, path=path, repeats=10, ahead=16)
        found["sparse"] = child.run("sparse:iteration", threads=1, path=path, first=2, last=7)
        python = peers.crowd_kit()
        if python is not None and (turn < 2 or size.labels <= 1_000_000):
            found["crowdkit"] = child.run("crowdkit:iteration", python=python, threads=1, path=path, first=5, last=20)
        for name, answer in found.items():
            seen.setdefault(name, []).append(answer["cpu"])
    return {name: min(times) for name, times in seen.items()}


def squarem(plan: Plan) -> Section:
    """Section 7."""
    section = Section(
        "SQUAREM",
        "Passes over the data until plain EM's final objective is reached within 1e-8 (relative); a leap that is "
        "refused counts as a pass.",
        ["size", "plain", "accelerate=True", "plain / accelerated"],
    )
    size = Size(2_000, 5, 50, 4) if plan.quick else Size(10_000, 5, 200, 4)
    gains = []
    for seed in (0, 1, 2):
        found = child.run("ours:squarem", path=plan.crowd(size, seed), relative=1e-8)
        gains.append(found["plain"] / found["accelerated"])
        section.rows.append(
            [f"{size}, seed {seed}", str(found["plain"]), str(found["accelerated"]), f"{gains[-1]:.1f}"]
        )
    section.bars.append(at_least("fewer passes than plain EM, worst of the seeds", 1, min(gains), judged=plan.judged))
    return section
