"""python -m benchmarks.active advice: what the tasks that `next` chooses gain per vote, beside entropy and chance.

A part of the recorded votes is kept, the rest held back. Each way of choosing spends the same budget on held-back
votes (whose worker is drawn: only the choice of tasks is compared), the default method is fitted again, and the gain
in accuracy is divided by the votes.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

import crowdwise as cw
from crowdwise.active.allocate import allocate
from crowdwise.active.trials import known_codes
from crowdwise.maths.information import entropy
from crowdwise.scoring.needs import EXPERT, gains, needs

from .. import ROOT

SETS = ("bluebird", "web", "dog", "relevance4")
RUNS, KEEP, SHARE = 20, 0.4, 0.1
STORE = ROOT / "build" / "active-advice.json"


def right(result, truth):
    """Share of right labels, ties shared."""
    q = result.posterior[truth >= 0]
    best = q >= q.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(len(q)), truth[truth >= 0]] / best.sum(axis=1)).mean())


def one(name: str, seed: int, keep: float = KEEP, share: float = SHARE) -> dict[str, float]:
    """Gain in accuracy per 100 votes of each way."""
    data = cw.datasets.load(name)
    votes, truth = data.annotations, known_codes(data.truth, data.annotations)
    rng = np.random.default_rng([seed, 5])
    mask = rng.random(len(votes)) < keep
    kept, held = votes.take(np.flatnonzero(mask)), rng.permutation(np.flatnonzero(~mask))
    fit = cw.Committee().fit(kept)
    before = right(fit, truth)
    left = np.bincount(votes.task[held], minlength=votes.n_tasks)
    budget = int(share * len(votes))
    need = needs(kept, fit)
    ways = {
        "next": allocate(np.where((need.kind == EXPERT)[:, None], 0.0, gains(kept, fit, need)), left, budget),
        "entropy": by_score(entropy(fit.posterior) + 1e-9 * rng.random(votes.n_tasks), left, budget),
        "random": by_score(rng.random(votes.n_tasks), left, budget),
    }
    out = {"before": before}
    for way, wanted in ways.items():
        taken, chosen = np.zeros(votes.n_tasks, int), []
        for row in held.tolist():
            t = int(votes.task[row])
            if taken[t] < wanted[t]:
                taken[t] += 1
                chosen.append(row)
        more = votes.take(np.sort(np.concatenate([np.flatnonzero(mask), np.array(chosen, dtype=int)])))
        out[way] = (right(cw.Committee().fit(more), truth) - before) / max(len(chosen), 1) * 100
        out[f"{way} votes"] = len(chosen)
    return out


def by_score(score, left, budget):
    """One vote each for the tasks of the highest score, then a second round, while there are any."""
    out, order = np.zeros(len(score), int), np.argsort(-score, kind="stable")
    while budget > 0:
        some = [t for t in order.tolist() if out[t] < left[t]][:budget]
        if not some:
            break
        out[some] += 1
        budget -= len(some)
    return out


def found(name: str, runs: int) -> list[dict[str, float]]:
    """The splits of one set; finished ones are kept between calls."""
    done = json.loads(STORE.read_text()) if STORE.is_file() else {}
    have = done.setdefault(name, [])
    for seed in range(len(have), runs):
        have.append(one(name, seed))
        STORE.parent.mkdir(exist_ok=True)
        STORE.write_text(json.dumps(done))
    return have[:runs]


def rows(runs: int = RUNS) -> list[list[str]]:
    """A row a set: splits, means in points per 100 votes, differences with 95 % intervals."""
    out = []
    for name in SETS:
        each = found(name, runs)
        got = {key: 100 * np.array([one_[key] for one_ in each]) for key in ("before", "next", "entropy", "random")}
        line = [name, str(len(each)), f"{got['before'].mean():.1f}"]
        line += [f"{got[way].mean():.3f}" for way in ("next", "entropy", "random")]
        for other in ("entropy", "random"):
            gap = got["next"] - got[other]
            line.append(f"{gap.mean():+.3f} ± {1.96 * gap.std(ddof=1) / np.sqrt(len(gap)):.3f}")
        out.append(line)
    return out


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in sys.argv[2:]:
        print(each, len(found(each, int(sys.argv[1]))), flush=True)
