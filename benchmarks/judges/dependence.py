"""Errors made together: planted judges, and the 23 judges of judges_llmbar."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import crowdwise as cw
from crowdwise.judges.maths import effective_number, error_correlation, shrunk
from crowdwise.stats.temperature import best_temperature, soften
from tests.crowds import judges as planted

from . import fixed, llmbar

RUNS, TASKS = 10, 1_500
# Expected figures: n_eff, then accuracy / log-loss of each column.
EXPECTED = {
    "family": (3.3, (0.842, 0.417), (0.827, 1.94), (0.903, 0.276), (0.827, 0.481), (0.894, 0.323), (0.900, 0.280)),
    "attractor": (2.0, (0.756, 0.533), (0.757, 2.54), (0.758, 2.18), (0.757, 0.570), (0.788, 0.565), (0.788, 0.538)),
    "probit": (3.4, (0.926, 0.251), (0.924, 0.474), (0.930, 0.257), (0.924, 0.207), (0.936, 0.201), (0.940, 0.176)),
}
COLUMNS = ("majority share", "dawid_skene", "group_aware", "DS, temperature, 100 gold", "stack, 60 gold", "stack, 200")


def one_run(name, spread, seed):
    """n_eff, then (accuracy, log-loss) of each column on tasks without gold."""
    rng = np.random.default_rng(seed)
    truth, label = make(name, spread, TASKS, rng)
    votes = planted.as_votes(label)
    groups = tuple(tuple(int(j) for j in np.flatnonzero(f == planted.FAMILY)) for f in range(3))
    share = (votes.votes + 0.2) / (label.shape[1] + 0.6)
    dawid = cw.DawidSkene(smoothing=0.1).fit(votes).posterior
    order = rng.permutation(TASKS)
    some, rest = order[:100], order[100:]
    heat = best_temperature(dawid[some], np.eye(3)[truth[some]], np.ones(100), lowest=1.0)
    out = [planted.scores(share, truth), planted.scores(dawid, truth)]
    out += [planted.scores(cw.classes.GroupAware(groups=groups).fit(votes).posterior, truth)]
    out += [planted.scores(soften(dawid, heat), truth, rest)]
    for n in (60, 200):
        gold = {int(t): int(truth[t]) for t in order[:n]}
        out.append(planted.scores(cw.classes.JudgeStack(seed=seed).fit(votes, gold=gold).posterior, truth, order[n:]))
    n_eff = effective_number(error_correlation((label != truth[:, None]).astype(float)).r)
    return n_eff, np.array(out)


def make(name, spread, n, rng):
    """(truth, label[task, judge]) of a generator that is told what its marginals fix."""
    return planted.MAKE[name](n, rng, *fixed.together(name, spread)[0], spread=spread)


@cache
def measured(name, spread, runs=RUNS):
    """Mean n_eff and mean scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [one_run(name, spread, seed) for seed in range(runs)]
    return float(np.mean([n for n, _ in found])), np.mean([s for _, s in found], axis=0)


def near(found, stated):
    """How many figures lie within .015 of the accuracy and a tenth of the log-loss."""
    return sum(abs(a - c) <= 0.015 and abs(b - d) <= 0.1 * d for (a, b), (c, d) in zip(found, stated, strict=True))


def planted_rows():
    """Measured, a row a reason: judges alike, judges that differ, and what was expected."""
    rows = []
    for name, (n, *pairs) in EXPECTED.items():
        for spread in (0.0, fixed.SPREAD):
            n_eff, found = measured(name, spread)
            how = "differ" if spread else "alike"
            rows.append([f"{name}, judges {how}", f"{n_eff:.1f}", *(f"{a:.3f}/{b:.3f}" for a, b in found),
                         f"{near(found, pairs)} of {len(pairs)}"])  # fmt: skip
        rows.append([f"{name}, expected", f"{n}", *(f"{c:.3f}/{d:.3f}" for c, d in pairs), ""])
    return rows


def told_rows():
    """What the marginals fix."""
    names = {"family": ("hidden", "report"), "attractor": ("easy", "lured"), "probit": ("skill", "shared")}
    out = []
    for name, (n, share) in fixed.MARGINALS.items():
        for spread in (0.0, fixed.SPREAD):
            told, miss = fixed.together(name, spread)
            text = ", ".join(f"{key} {value:.3f}" for key, value in zip(names[name], told, strict=True))
            out.append([name, f"{spread:g}", f"n_eff {n}, majority {share}", text, f"{miss:.0e}"])
    return out


def pair_rows(n_gold=100, runs=300):
    """Error of single pairs' correlations, raw and shrunk to blocks, at 100 gold; coverage of the interval of n_eff."""
    from crowdwise.judges.maths import effective_interval

    rows = []
    for name in EXPECTED:
        truth, label = make(name, 0.0, 60_000, np.random.default_rng(99))
        true = error_correlation((label != truth[:, None]).astype(float)).r
        off, raw, better, inside = ~np.eye(len(true), dtype=bool), [], [], []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            truth, label = make(name, 0.0, n_gold, rng)
            wrong = (label != truth[:, None]).astype(float)
            found = error_correlation(wrong)
            raw.append(((found.r - true)[off] ** 2).mean())
            better.append(((shrunk(found, planted.FAMILY)[0] - true)[off] ** 2).mean())
            low, high = effective_interval(wrong, 0.95)
            inside.append(low <= effective_number(true) <= high)
        rows.append([name, *(f"{np.sqrt(np.mean(v)):.3f}" for v in (raw, better)), f"{np.mean(inside):.2f}"])
    return rows


@cache
def llmbar_scores(runs=40):
    """name -> (accuracy, log-loss) on judges_llmbar; stacks as means over draws of the gold."""
    base, pooled, truth = llmbar.base(), llmbar.pooled(), llmbar.truth()
    unsupervised = {
        "majority, one order": (llmbar.one_order(), "majority_vote", {}),
        "majority, both orders": (base, "majority_vote", {}),
        "dawid_skene, one order": (llmbar.one_order(), "dawid_skene", {}),
        "group_aware, families": (llmbar.one_order(), "group_aware", {"groups": llmbar.groups()}),
        "judge_symbols, both orders": (base, "judge_symbols", {}),
        "family_vote, both orders": (base, "family_vote", {}),
        "committee, both orders": (base, "committee", {}),
    }
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (votes, method, params) in unsupervised.items():
            result = cw.method(method, **params).fit(votes)
            out[name] = planted.scores(result.posterior, llmbar.codes(votes, truth))
        y = llmbar.codes(pooled, truth)
        for n in (30, 60, 120, 200):
            found = []
            for seed in range(runs):
                order = np.random.default_rng(seed).permutation(len(y))
                gold = {pooled.tasks[int(t)]: pooled.classes[int(y[t])] for t in order[:n]}
                result = cw.classes.JudgeStack(seed=seed).fit(pooled, gold=gold)
                found.append(planted.scores(result.posterior, y, order[n:]))
            out[f"judge_stack, {n} gold, 8 verdicts pooled"] = tuple(np.mean(found, axis=0))
    return out
