"""python -m benchmarks.active advice: what the votes that `next` asks for bring, beside entropy and chance.

A part of the recorded votes is kept, the rest held back. Each way of choosing spends the same budget on held-back
votes, the default method is fitted again, and the gain in accuracy is divided by the votes. `next` says which tasks
deserve how many votes and whom to ask; only recorded pairs of task and worker can be asked. Entropy and chance choose
tasks and know nothing of workers: theirs are drawn. What the tasks alone are worth is shown beside: those of `next`
with drawn workers, and those of entropy with the workers whom `next` would name.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.active.plan import plan
from crowdwise.active.trials import known_codes
from crowdwise.kinds.classes.scoring.recommendations import confusions
from crowdwise.stats.information import entropy, expected_gain
from crowdwise.stats.ties import tie_shares

from .. import ROOT

SETS = ("bluebird", "web", "dog", "relevance4")
KEEP, SHARE = 0.4, 0.1
# Splits of each set: small sets need more of them to say anything.
RUNS = {"bluebird": 200, "web": 50, "dog": 100, "relevance4": 20}
# Splits 0 to 219 were looked at when the rule was settled.
FIRST = 1000
WAYS = ("next", "entropy", "random", "tasks of next", "entropy, named")
STORE = ROOT / "build" / "active-advice.json"


def hits(result, truth):
    """1 where the label is right, ties shared; what it is where the truth is not known says nothing."""
    return tie_shares(result.posterior)[np.arange(len(truth)), truth]


def right(result, truth):
    """Share of right labels."""
    return float(hits(result, truth)[truth >= 0].mean())


def one(name: str, seed: int, keep: float = KEEP, share: float = SHARE) -> dict[str, float]:
    """Gain in accuracy per 100 votes of each way."""
    data = cw.datasets.load(name)
    votes, truth = data.annotations, known_codes(data.truth, data.annotations)
    rng = np.random.default_rng([seed, 5])
    mask = rng.random(len(votes)) < keep
    kept, held = votes.take(np.flatnonzero(mask)), rng.permutation(np.flatnonzero(~mask))
    fit = cw.Adaptive().fit(kept)
    before = right(fit, truth)
    left = np.bincount(votes.task[held], minlength=votes.n_tasks)
    budget = int(share * len(votes))
    asked, wanted, promised = named(kept, fit, votes, held, budget)
    doubt = entropy(fit.posterior) + 1e-9 * rng.random(votes.n_tasks)
    by_entropy = by_score(doubt, left, budget)
    ways = {
        "next": asked,
        "entropy": drawn(by_entropy, votes, held),
        "random": drawn(by_score(rng.random(votes.n_tasks), left, budget), votes, held),
        "tasks of next": drawn(wanted, votes, held),
        "entropy, named": by_worker(kept, fit, votes, held, by_entropy),
    }
    out = {"before": before, "promised": promised / max(len(asked), 1) * 100}
    for way, chosen in ways.items():
        more = votes.take(np.sort(np.concatenate([np.flatnonzero(mask), chosen])))
        out[way] = (right(cw.Adaptive().fit(more), truth) - before) / max(len(chosen), 1) * 100
        out[f"{way} votes"] = len(chosen)
    return out


def drawn(wanted, votes, held):
    """The first so many held-back votes of each task; their order is drawn."""
    order = np.argsort(votes.task[held], kind="stable")
    task = votes.task[held][order]
    rank = np.arange(len(order)) - np.searchsorted(task, task)
    return held[order][rank < wanted[task]]


def named(kept, fit, votes, held, budget):
    """The held-back votes that `next` asks for, how many of each task, and the rise in accuracy that it promises.

    Nobody is spared, for nobody has more than they once answered.
    """
    pairs = pl.DataFrame(
        {"task": votes.tasks.gather(votes.task[held]), "worker": votes.workers.gather(votes.worker[held])}
    )
    made = plan(kept, budget=budget, result=fit, pairs=pairs, load=len(votes))
    asked = made.tasks.select("task", worker="ask").explode("worker").drop_nulls()
    rows = pairs.with_columns(row=pl.Series(held)).join(asked, on=["task", "worker"], how="semi")
    found = rows["row"].to_numpy()
    return found, np.bincount(votes.task[found], minlength=votes.n_tasks), made.accuracy[1] - made.accuracy[0]


def by_worker(kept, fit, votes, held, wanted):
    """Held-back votes of tasks that another way chose, by those first who tell most."""
    theta = confusions(kept, fit)
    order = np.argsort(votes.task[held], kind="stable")
    rows, offsets = held[order], np.searchsorted(votes.task[held][order], np.arange(votes.n_tasks + 1))
    out = []
    for t in np.flatnonzero(wanted).tolist():
        here = rows[offsets[t] : offsets[t + 1]]
        told = expected_gain(fit.posterior[t : t + 1], theta[votes.worker[here]])[0]
        out.append(here[np.argsort(-told, kind="stable")[: wanted[t]]])
    return np.concatenate(out)


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
        have.append(one(name, FIRST + seed))
        STORE.parent.mkdir(exist_ok=True)
        STORE.write_text(json.dumps(done))
    return have[:runs]


def finished(name: str) -> int:
    """Splits that are done."""
    return len(json.loads(STORE.read_text()).get(name, [])) if STORE.is_file() else 0


def rows(only_finished: bool = False) -> list[list[str]]:
    """A row a set: splits, means in points per 100 votes; the advice less entropy and chance, its tasks less those of
    entropy, with 95 % intervals."""
    out = []
    for name in SETS:
        runs = finished(name) if only_finished else RUNS[name]
        if runs < 2:
            continue
        each = found(name, runs)
        got = {key: 100 * np.array([one_[key] for one_ in each]) for key in ("before", "promised", *WAYS)}
        line = [name, str(len(each)), f"{got['before'].mean():.1f}"]
        line += [f"{got[way].mean():.3f}" for way in WAYS]
        line.append(f"{got['promised'].mean():.3f}")
        for way, other in (("next", "entropy"), ("next", "random"), ("tasks of next", "entropy")):
            gap = got[way] - got[other]
            line.append(f"{gap.mean():+.3f} ± {1.96 * gap.std(ddof=1) / np.sqrt(len(gap)):.3f}")
        out.append(line)
    return out


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in sys.argv[2:]:
        print(each, len(found(each, int(sys.argv[1]))), flush=True)
