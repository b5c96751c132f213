"""Comparisons: CrowdBT's planted crowd, and a reward net on arguments that a crowd compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import kendalltau

import crowdwise as cw
from crowdwise.learn import CrowdRanker

from .. import data_folder
from .experiment import Cell, Claim, Experiment, Scale, mean_table
from .verdict import judged, mean_of, percents

F8 = npt.NDArray[np.float64]


class CrowdBT(Experiment):
    """Who finds the order among a coin and an adversary?"""

    name = "kinds_crowd_bt"
    paper = "CrowdBT"
    title = "Planted: a coin and an adversary among ten workers"
    about = """
Chen et al. (2013) hold CrowdBT against Bradley-Terry on readers' comparisons and on planted crowds; their figures are
pictures. Here: 30 items with standard normal scores, 3,000 comparisons by ten workers of whom eight follow the better
item with chance .9 (of the logistic model's coin), one with .5 and one with .1. Kendall's tau to the planted order,
and the reliabilities that are found. The real set of the paper's kind is on the page of comparisons."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 20, "paper": 50}
    methods = ("win_rate", "bradley_terry", "crowd_bt", "noisy_bt", "tournament")

    def conditions(self, scale: Scale) -> Iterator[Cell]:  # noqa: ARG002
        """Every method."""
        for method in self.methods:
            yield {"method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:  # noqa: ARG002
        """Kendall's tau; the adversary's and the coin's reliability."""
        rng = np.random.default_rng([cell["seed"], 11])
        score = rng.normal(size=30)
        left = rng.integers(0, 30, 3000)
        right = (left + rng.integers(1, 30, 3000)) % 30
        worker = rng.integers(0, 10, 3000)
        follow = np.array([0.9] * 8 + [0.5, 0.1])[worker]
        better = rng.random(3000) < 1 / (1 + np.exp(-(score[left] - score[right])))
        won = np.where(rng.random(3000) < follow, better, ~better)
        votes = cw.comparisons.comparison_votes(
            left, right, np.where(won, "left", "right"), worker=worker, items=range(30), duplicates="keep"
        )
        found = cw.method(cell["method"]).fit(votes)
        trust = found.worker_table()["reliability"].to_numpy()
        tau = float(kendalltau(found.estimate.score, score).statistic)
        return {"tau": tau, "adversary": float(trust[9]), "coin": float(trust[8])}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Order and workers."""
        long = rows.unpivot(["tau", "coin", "adversary"], index=["method", "seed"], variable_name="what")
        return [("Kendall's tau × 100, and the reliabilities found, per cent",
                 mean_table(long, ["method"], "what", "value"))]  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Above Bradley-Terry; the adversary found."""
        at = {m: mean_of(rows, "tau", {"method": m}) for m in self.methods}
        low, coin = (mean_of(rows, what, {"method": "crowd_bt"}) for what in ("adversary", "coin"))
        return [
            judged("CrowdBT orders items better than Bradley-Terry (tau × 100)", "figure only", percents(at),
                   list(at.values()), at["crowd_bt"] > at["bradley_terry"]),
            judged("the adversary is below one half, the coin near it", "figure only",
                   f"adversary {low:.2f}, coin {coin:.2f}", [low, coin], low < 0.3 and abs(coin - 0.5) < 0.15),
        ]  # fmt: skip


@cache
def arguments() -> tuple[list[str], list[str], npt.NDArray[np.float32], F8, pl.DataFrame]:
    """Items, their topics, features and published ranks, and the comparisons."""
    folder = data_folder() / "convarg"
    text = pl.read_csv(folder / "text.csv")
    said = pl.read_csv(folder / "labels.csv.gz")
    x = np.stack([argument_features(each) for each in text["text"].to_list()])
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-6)
    rank = -text["rank_score"].to_numpy()  # smaller is more convincing
    return text["item"].to_list(), text["topic"].to_list(), x.astype(np.float32), rank, said


def argument_features(text: str, width: int = 192) -> F8:
    """How long, how it is written, and its words hashed."""
    words = re.findall(r"[A-Za-z']+", text)
    long = [len(w) for w in words] or [0]
    plain = [
        np.log1p(len(text)), np.log1p(len(words)), np.mean(long), len(set(words)) / max(len(words), 1),
        text.count("."), text.count(","), text.count("?"), text.count("!"), text.isupper(),
        sum(w.isupper() for w in words) / max(len(words), 1), sum(n > 7 for n in long) / max(len(words), 1),
    ]  # fmt: skip
    bag = np.zeros(width)
    for word in {w.lower() for w in words}:
        code = crc32(word.encode())
        bag[code % width] += 1 if code >> 16 & 1 else -1
    return np.concatenate([np.array(plain, dtype=float), bag / np.sqrt(max(len(words), 1))])


class Rewards(Experiment):
    """A reward net on arguments: the order within topics that it has not seen."""

    name = "kinds_rewards"
    paper = "CrowdBT"
    title = "End to end: a reward net on convarg, topics left out"
    about = """
The slides give the end-to-end form (scores by a net, a reliability of every worker) without an experiment. Here:
1,052 arguments of 32 topics that 3,815 workers compared; a linear net on 203 plain features of the text (length,
punctuation, hashed words) is trained on 24 topics and orders the arguments of the other eight. Kendall's tau to the
source's own rank, mean over those topics. *as it is*: the answers themselves, a clean crowd. *spoilt*: 30 % of the
workers answer at random and 10 % are turned around. 15 epochs of Adam at 3e-3, the epoch by held-out answers."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 4, "paper": 20}
    methods = ("majority_reward", "reward_net")

    def conditions(self, scale: Scale) -> Iterator[Cell]:  # noqa: ARG002
        """Crowd × method."""
        for crowd in ("as it is", "spoilt"):
            for method in self.methods:
                yield {"crowd": crowd, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Mean tau over the topics left out."""
        items, topic, x, rank, said = arguments()
        rng = np.random.default_rng([cell["seed"], 13])
        every = sorted(set(topic))
        out = set(rng.permutation(every)[:8].tolist())
        of = dict(zip(items, topic, strict=True))
        kept = said.filter(pl.col("left").replace_strict(of, return_dtype=pl.String).is_in(out).not_())
        if scale == "smoke":
            kept = kept.head(400)
        votes = spoilt(kept, cell["crowd"] == "spoilt", rng)
        place = {name: i for i, name in enumerate(items)}
        train = [place[name] for name in votes.answers.items.to_list()]
        fitted = CrowdRanker(
            "linear", cell["method"], epochs=1 if scale == "smoke" else 15, lr=3e-3, seed=cell["seed"]
        ).fit(x[train], votes)
        score = fitted.predict(x)
        own = np.array(topic)
        taus = [kendalltau(score[own == t], rank[own == t]).statistic for t in sorted(out)]
        return {"tau": float(np.nanmean(taus))}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """By crowd."""
        return [("Kendall's tau × 100 in topics left out", mean_table(rows, ["method"], "crowd", "tau"))]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """No worse in the clean crowd, better in the spoilt one."""
        found = []
        for crowd in ("as it is", "spoilt"):
            at = {m: mean_of(rows, "tau", {"crowd": crowd, "method": m}) for m in self.methods}
            found.append(judged(f"{crowd}: reliabilities help the net (tau × 100)", "not shown", percents(at),
                                list(at.values()), at["reward_net"] >= at["majority_reward"], only=True))  # fmt: skip
        return found


def spoilt(said: pl.DataFrame, bad: bool, rng: np.random.Generator) -> Any:
    """The comparisons, some workers' turned or drawn where asked."""
    name = {"a1": "left", "a2": "right", "equal": "tie"}
    won = np.array([name[each] for each in said["label"].to_list()], dtype=object)
    if bad:
        workers = said["worker"].unique().sort().to_list()
        draw = dict(zip(workers, rng.random(len(workers)), strict=True))
        lot = np.array([draw[w] for w in said["worker"].to_list()])
        won[lot < 0.3] = rng.choice(["left", "right"], int((lot < 0.3).sum()))
        turn = {"left": "right", "right": "left", "tie": "tie"}
        flip = (lot >= 0.3) & (lot < 0.4)
        won[flip] = [turn[each] for each in won[flip]]
    return cw.comparisons.comparison_votes(
        said["left"], said["right"], won.tolist(), worker=said["worker"], duplicates="keep"
    )
