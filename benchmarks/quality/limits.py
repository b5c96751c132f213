"""What bounds the default: how far labels alone can tell a crowd's accuracy, and which averages of methods there are.

    python -m benchmarks.quality.limits

Two searches over the sets with independent truth. First: twelve numbers that can be seen of a crowd without truth, and
a ridge regression of the default's accuracy (log odds) on every choice of up to four of them. The best choice in
hindsight is an upper mark; the honest figure chooses within the families that are not left out. Second: averages of
methods beside the default's, by accuracy and by how often they fall behind the vote. Writes docs/benchmarks/limits.md.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass

import numpy as np

import crowdwise as cw
from crowdwise.core.errors import CrowdwiseWarning
from crowdwise.datasets import family
from crowdwise.kinds.classes.methods.ensemble.committee import MEMBERS, variant
from crowdwise.kinds.classes.methods.ensemble.pool import leaning
from crowdwise.stats.ties import tie_shares

from .. import DOCS
from ..markdown import figures, table
from ..speed import machine
from . import cells, sets
from .score import score

COMMAND = "python -m benchmarks.quality.limits"
MODEL = "hierarchical"
OTHERS = ("one_coin", "bwa", "glad", "ebcc", "zero_based_skill", "hierarchical_even")
# Left out on sets with more labels than this: they take minutes there, and the vote stands in.
SLOW, LARGE = ("glad", "ebcc", "bwa"), 120_000
SEEN = ("pool", "vote", "early", "model", "labels a task", "classes", "agreement", "spread of workers",
        "spread of tasks", "members disagree", "labels a worker", "workers")  # fmt: skip
MOST, RIDGE, NEAR, BEHIND = 4, (1.0, 5.0), 0.12, 0.01


@dataclass(frozen=True)
class Crowd:
    """One set: every method's posterior of the tasks with a truth, and what can be seen of the crowd."""

    name: str
    truth: np.ndarray
    posterior: dict[str, np.ndarray]
    lean: float
    seen: np.ndarray

    def pooled(self, members: tuple[str, ...]) -> np.ndarray:
        mean = np.mean([self.posterior[m] for m in members], axis=0)
        return (1 - self.lean) * mean + self.lean * self.posterior[MODEL]

    def accuracy(self, members: tuple[str, ...]) -> float:
        return score(self.pooled(members), self.truth)["accuracy"]


def crowd(name: str) -> Crowd:
    data = sets.load(name)
    votes, known = data.annotations, data.truth >= 0
    found = {}
    for m in (*MEMBERS, MODEL, *OTHERS):
        stand_in = "majority_vote" if m in SLOW and len(votes) > LARGE else m
        path = cells.HOME / "limits" / f"{name}, {m}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CrowdwiseWarning)
                np.save(path, variant(stand_in, 0).fit(votes).posterior)
        found[m] = np.load(path)
    lean = leaning(found["majority_vote"].mean(axis=0), found[MODEL].mean(axis=0))
    return Crowd(name, data.truth[known], {m: p[known] for m, p in found.items()}, lean, seen_of(votes, found))


def seen_of(votes: cw.Annotations, found: dict[str, np.ndarray]) -> np.ndarray:
    """Twelve numbers that need no truth, in the order of SEEN."""
    pool = np.mean([found[m] for m in MEMBERS], axis=0)
    hit = tie_shares(pool)[votes.task, votes.label]
    given, n = votes.votes, votes.labels_per_task.astype(float)
    pairs = n * (n - 1)
    agree = ((given**2).sum(axis=1) - n)[pairs > 0].sum() / max(pairs.sum(), 1.0)
    top = {m: found[m].argmax(axis=1) for m in ("majority_vote", MODEL, "wawa", "mace_once")}
    apart = [(top[a] != top[b]).mean() for a, b in (("majority_vote", MODEL), ("wawa", "mace_once"))]
    return np.array([
        odds(pool.max(axis=1).mean()), odds(found["majority_vote"].max(axis=1).mean()),
        odds(found["hierarchical_early"].max(axis=1).mean()), odds(found[MODEL].max(axis=1).mean()),
        np.log(n.mean()), np.log(votes.n_classes), odds(agree), beyond_luck(votes.worker, hit, 5),
        beyond_luck(votes.task, hit, 2), float(np.mean(apart)), np.log(len(votes) / votes.n_workers),
        np.log(votes.n_workers),
    ])  # fmt: skip


def beyond_luck(group: np.ndarray, hit: np.ndarray, enough: int) -> float:
    """The spread of the groups' shares of hits, less what chance alone would make."""
    n = np.bincount(group)
    share = np.bincount(group, hit)[n >= enough] / n[n >= enough]
    if len(share) < 3:
        return 0.0
    return float(np.sqrt(max(share.var() - (hit.mean() * (1 - hit.mean()) / n[n >= enough]).mean(), 0.0)))


def odds(p: float) -> float:
    p = min(max(float(p), 0.02), 0.995)
    return float(np.log(p / (1 - p)))


def told(x: np.ndarray, y: np.ndarray, of: np.ndarray, ridge: float) -> np.ndarray:
    """y by ridge regression on x, every family by the others."""
    out = np.empty(len(y))
    for one in np.unique(of):
        rest = of != one
        mean, sd = x[rest].mean(axis=0), x[rest].std(axis=0) + 1e-9
        z = (x - mean) / sd
        slope = np.linalg.solve(
            z[rest].T @ z[rest] + ridge * np.eye(x.shape[1]), z[rest].T @ (y[rest] - y[rest].mean())
        )
        out[~rest] = y[rest].mean() + z[~rest] @ slope
    return out


def missed(log_odds: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds)) - accuracy


def best_choice(x: np.ndarray, y: np.ndarray, accuracy: np.ndarray, of: np.ndarray) -> tuple[list[int], float]:
    """The columns and the ridge with the smallest squared miss, families left out."""
    choices = [
        (list(c), r) for k in range(1, MOST + 1) for c in itertools.combinations(range(x.shape[1]), k) for r in RIDGE
    ]
    return min(choices, key=lambda c: float((missed(told(x[:, c[0]], y, of, c[1]), accuracy) ** 2).mean()))


def claims(crowds: list[Crowd]) -> list[list[str]]:
    """How near the accuracy comes that is predicted from what can be seen."""
    of = np.array([family(c.name) for c in crowds])
    accuracy = np.array([c.accuracy(MEMBERS) for c in crowds])
    y = np.array([odds((a * len(c.truth) + 0.5) / (len(c.truth) + 1)) for a, c in zip(accuracy, crowds, strict=True)])
    x = np.array([c.seen for c in crowds])
    columns, ridge = best_choice(x, y, accuracy, of)
    nested = np.empty(len(y))
    for one in np.unique(of):
        rest = of != one
        inner, r = best_choice(x[rest], y[rest], accuracy[rest], of[rest])
        nested[~rest] = told(x[:, inner], y, of, r)[~rest]
    ways = {
        "the mean accuracy of the other families": told(np.zeros((len(y), 1)), y, of, 1.0),
        "the pool's mean confidence": told(x[:, :1], y, of, 1.0),
        "all twelve": told(x, y, of, 5.0),
        "up to four, chosen on the other families": nested,
        "up to four, the best in hindsight (" + ", ".join(SEEN[c] for c in columns) + ")": told(
            x[:, columns], y, of, ridge
        ),
    }
    lines = []
    for way, found in ways.items():
        gap = missed(found, accuracy)
        lines.append([way, f"{np.sqrt((gap**2).mean()):.3f}", f"{(np.abs(gap) <= NEAR).sum()} of {len(gap)}"])
    return lines


def averages(crowds: list[Crowd]) -> list[list[str]]:
    """The default's members with one left out or up to two others, those at the edge of what can be had."""
    vote = np.array([score(c.posterior["majority_vote"], c.truth)["accuracy"] for c in crowds])
    rows = []
    for more in (m for k in range(3) for m in itertools.combinations((MODEL, *OTHERS), k)):
        for drop in (None, *MEMBERS):
            members = (*(m for m in MEMBERS if m != drop), *more)
            accuracy = np.array([c.accuracy(members) for c in crowds])
            rows.append(
                (members, float(accuracy.mean()), int((vote - accuracy > BEHIND).sum()), float((vote - accuracy).max()))
            )
    edge = [r for r in rows if not any(o[1] >= r[1] and o[2] <= r[2] and (o[1], o[2]) != (r[1], r[2]) for o in rows)]
    own = next(r for r in rows if r[0] == MEMBERS)
    shown = {r[0]: r for r in [own, *sorted(edge, key=lambda r: r[2])]}
    return [[", ".join(m), f"{a:.4f}", str(b), f"{w:.3f}"] for m, a, b, w in shown.values()]


WORDS = """Two earlier goals, since withdrawn ([why](../limits.md)), asked for more than anything tried here reaches:
without gold a claim within .12 of the true accuracy on 50 of 58 sets, and at most 4 sets more than a point below the
vote with a mean accuracy of .783. The averages below are those of the committee, the robust part of the default. {n}
sets in {families} families; predictions are for families left out, but for the line that says hindsight."""


def main() -> None:
    crowds = [crowd(name) for name in cw.datasets.INDEPENDENT]
    text = "\n\n".join([
        "# What bounds the default",
        f"Written by `{COMMAND}`; do not edit by hand.",
        table(["", "measured on"], [list(fact) for fact in machine.own_facts()]),
        WORDS.format(n=len(crowds), families=len({family(c.name) for c in crowds})),
        "## The committee's accuracy, predicted from what can be seen without truth",
        "Seen: " + ", ".join(SEEN) + ".",
        figures(["from", "root mean square miss", "within .12"], claims(crowds)),
        "## Averages of methods",
        "The committee first, then those that no other average beats in both columns.",
        figures(["members", "mean accuracy", "sets a point below the vote", "furthest below"], averages(crowds)),
    ]) + "\n"  # fmt: skip
    print(text)
    (DOCS / "limits.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
