"""python -m benchmarks.judges: judges among people's labels. Writes docs/benchmarks/judges.md."""

from __future__ import annotations

import argparse

from .. import DOCS
from ..markdown import figures, table, write_section
from . import bias, dependence, fixed, others, repeats

PAGE = DOCS / "judges.md"
HEAD = "# Judges\n\nEvery figure here was printed by the command above its table.\n"


def dependence_section() -> str:
    return (
        f"Nine judges in families of 5, 2 and 2, three classes, {dependence.TASKS:,} tasks, {dependence.RUNS} runs: "
        "accuracy/log-loss on tasks without gold, below them the expected figures. Errors are made together because "
        "of a hidden answer of the family, of hard tasks (a quarter) with a common wrong answer, or of common and "
        "family draws of a probit (of equal variance). The expected figures came with n_eff and scores, not with "
        "numbers of their judges. So each generator is told the two numbers that give the expected n_eff and accuracy "
        f"of the majority, and nothing else; judges are alike, or their own skills lie {fixed.SPREAD:g} on either "
        "side. Near: columns within .015 of the accuracy and 10 % of the log-loss.\n\n"
        + figures(["errors because of", "n_eff", *dependence.COLUMNS, "near"], dependence.planted_rows())
        + "\n\nWhat the marginals fix (`benchmarks/judges/fixed.py`; hidden: how often a family is right; report: how "
        "often a judge says what the family means; easy, lured: how often a judge is right, and falls for the wrong "
        "answer; skill, shared: share of right verdicts, variance of the common draw).\n\n"
        + table(["errors because of", "spread", "fixed by", "told", "missed by"], dependence.told_rows())
        + "\n\nSingle pairs at 100 gold: root mean squared error of the correlation, raw and shrunk to blocks; "
        "coverage of the 95 % interval of the effective number (judges alike).\n\n"
        + figures(["errors because of", "raw", "shrunk", "coverage"], dependence.pair_rows())
    )


def llmbar_section() -> str:
    rows = [[name, f"{a:.3f}", f"{b:.2f}"] for name, (a, b) in dependence.llmbar_scores().items()]
    return (
        "judges_llmbar: 419 pairs, 23 open models with both orders (the stack: all 25, four prompts, both orders, "
        "pooled to one voice a judge; mean over 40 draws of the gold, scored on the other pairs).\n\n"
        + figures(["", "accuracy", "log-loss"], rows)
    )


def repeats_section() -> str:
    ways = [repeats.repeat_scores(way) for way in ("opinion", "draws")]
    one = [[name, *(f"{way[name][0]:.3f} ({way[name][1]:.3f})" for way in ways), f"{stated:.3f}"]
           for name, stated in repeats.REPEATS.items()]  # fmt: skip
    two = [[name, f"{a:.3f}/{b:.3f}", "{:.3f}/{:.3f}".format(*repeats.CONFIDENT[name])]
           for name, (a, b) in repeats.confidence_scores().items()]  # fmt: skip
    three = []
    for name, values in repeats.platt_scores().items():
        stated = repeats.PLATT.get(name)
        three.append([name, *(f"{v:.3f}" + (f" ({stated[i]:.3f})" if stated else "") for i, v in enumerate(values))])
    four = [[name, *(f"{v:.3f}" for v in values)] for name, values in repeats.llmbar_voices().items()]
    (hidden, firm), (lead, spread), told = fixed.repeated("opinion"), fixed.repeated("draws"), fixed.overstated()
    return (
        "Planted: 3 judges × 5 repeats, three classes; log-loss (ECE). Opinion: a judge has an opinion of a task, "
        f"right in {hidden:.3f}, and on each occasion utters it ({firm:.3f}) or another class. Draws: every repeat is "
        f"drawn from a softmax of normal scores (sd {spread:.2f}), to which the true class adds {lead:.2f}. Two "
        "numbers each, fixed by the expected log-loss of one repeat and of the modes; the other rows come out.\n\n"
        + figures(["", "opinion", "draws", "expected"], one)
        + "\n\nPlanted: 4 judges who know some tasks better than others and overstate it, in eight round values. Mean "
        f"and spread of what they know (right in {told[0]:.3f} of typical tasks, sd {told[1]:.2f} in log odds) are "
        "fixed by the expected accuracy of labels alone (.823) and of calibrated confidences (.906), the overstatement "
        f"(shift {told[2]:.2f}, slope {told[3]:.2f}) by the expected excess log-loss of raw (.157) and tempered "
        "(.0145) confidences, as near as these go together.\n\n"
        + figures(["", "accuracy/log-loss", "expected"], two)
        + "\n\nExcess log-loss over the best map of one such judge's confidence, by gold tasks (expected in brackets). "
        "Two free numbers lose 1/n on average: where Platt's line is at or below the last one the estimator does what "
        "can be done, and what remains against the expected figures is the shape of the judge.\n\n"
        + figures(["", *map(str, repeats.SIZES)], three)
        + "\n\njudges_llmbar with 60 gold: each prompt and order a worker, against one voice a judge (20 draws).\n\n"
        + figures(["", "accuracy", "log-loss", "ECE"], four)
    )


def bias_section() -> str:
    none, cover = bias.position(0.0)
    power, cover_half = bias.position(0.5)
    by_rater, by_row = bias.raters()
    found, n_eff = bias.found_on_llmbar()
    rows = [
        ["position, none planted: rejected (interval covers)", f"{none:.3f} ({cover:.3f})"],
        ["position, beta .5: rejected (interval covers)", f"{power:.3f} ({cover_half:.3f})"],
        ["position, beta .5, 30 pairs: rejected", f"{bias.position(0.5, n=30)[0]:.2f}"],
        ["length, none planted, with gold: rejected", f"{bias.rectifier(0.0):.3f}"],
        ["length, .6 a sd, with gold: rejected", f"{bias.rectifier(0.6):.2f}"],
        ["length, none planted, without gold: 'found' (an association)", f"{bias.rectifier(0.0, people=False):.2f}"],
        ["groups of raters, fake groups on popquorn, raters permuted: rejected", f"{by_rater:.3f}"],
        ["the same, rows permuted", f"{by_row:.2f}"],
    ]
    real = [[check, f"{n} of {m}", f"{low:+.2f}", f"{mean:+.2f}"] for check, (n, m, low, mean) in found.items()]
    return (
        "False alarms and power at level .05; 200 pairs or tasks unless said.\n\n"
        + figures(["", "share"], rows)
        + f"\n\njudges_llmbar, both orders: {n_eff.sentence()}.\n\n"
        + figures(["check", "biased", "smallest effect", "mean effect"], real)
    )


def subjective_section() -> str:
    rows = [[name, f"{a:g}", *(f"{v:.3f}" for v in rest)] for name, (a, *rest) in others.subjective_scores().items()]
    return "Log-loss on held-out raters (each rater left out in turn).\n\n" + figures(
        ["set", "chosen strength", "shares", "pooled", "raw shares"], rows
    )


def predictions_section() -> str:
    found = others.prediction_scores()
    names = list(next(iter(found.values())))
    rows = [[name, *(f"{found[s][name][0]:.3f}/{found[s][name][1]:.2f}" for s in found)] for name in names]
    return "Accuracy/log-loss where people also predict what others will say.\n\n" + figures(["", *found], rows)


def money_section() -> str:
    offers, note, spend = others.frontier_rows()
    rows = [
        [row["judges"], f"{row['cost']:.2f}", f"{row['accuracy']:.3f}", f"{row['log_loss']:.3f}", "*" * row["chosen"]]
        for row in offers.iter_rows(named=True)
    ]
    return (
        f"judges_llmbar under a made-up price list (0.01 a billion parameters, a person 100); {note}.\n\n"
        + table(["judges", "price a task", "accuracy", "log-loss", "chosen"], rows)
        + (f"\n\n{spend}." if spend else "")
    )


def speed_section() -> str:
    return "CPU seconds; a million verdicts are those of ten judges on 100,000 tasks.\n\n" + figures(
        ["what", "seconds"], others.speed_rows()
    )


SECTIONS = {
    "dependence": ("Errors made together", dependence_section),
    "llmbar": ("Real judges", llmbar_section),
    "repeats": ("Repeats and stated confidence", repeats_section),
    "bias": ("Bias checks", bias_section),
    "subjective": ("No single truth", subjective_section),
    "predictions": ("Answers with predictions of others", predictions_section),
    "money": ("Whom to pay", money_section),
    "speed": ("Speed", speed_section),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=", ".join(SECTIONS))
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    wanted = parser.parse_args().sections or list(SECTIONS)
    if set(wanted) - set(SECTIONS):
        parser.error(f"sections are {', '.join(SECTIONS)}")
    for name in wanted:
        title, make = SECTIONS[name]
        write_section(PAGE, name, title, f"python -m benchmarks.judges {name}", make())


if __name__ == "__main__":
    main()
