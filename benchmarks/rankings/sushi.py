"""rank_sushi: preferences without a truth. How likely are rankings that a model has not seen, and what does an order
cost?"""

from __future__ import annotations

from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.kinds.rankings.maths import cost, kemeny_places, log_norm
from tests.open_sets.rankings import load


def orders(votes: Any) -> np.ndarray:
    """items[ranking, place], first to last."""
    own = votes.answers
    return np.asarray(own.item.reshape(len(votes), -1))


def scores(votes: Any, method: Any) -> tuple[np.ndarray, Any]:
    """score[item] by a method, and its result."""
    result = method.fit(votes)
    out = np.empty(len(votes.answers.items))
    out[result.estimate.entry_item] = result.estimate.score
    return out, result


def plackett_luce(kept: Any, new: np.ndarray) -> float:
    """Mean log-likelihood of new rankings, workers all alike."""
    score = scores(kept, cw.rankings.PlackettLuce(spread=0.0))[0][new]
    left = np.logaddexp.accumulate(score[:, ::-1], axis=1)[:, ::-1]
    return float((score - left).sum(axis=1).mean())


def mallows(kept: Any, new: np.ndarray) -> float:
    """The same by the distance from the centre."""
    score, result = scores(kept, cw.rankings.Mallows(spread=0.0))
    phi = float(np.nanmean(result.worker_summary.dispersion))
    said = score[new]
    i, j = np.triu_indices(new.shape[1], 1)
    off = (said[:, i] < said[:, j]).sum(axis=1)
    return float((-phi * off - log_norm(np.array([phi]), new.shape[1])[0]).mean())


def preferences(every: np.ndarray) -> np.ndarray:
    """W[i, j]: how many rankings have i before j."""
    k = every.shape[1]
    place = np.argsort(every, axis=1)
    return np.array([[(place[:, i] < place[:, j]).sum() for j in range(k)] for i in range(k)], dtype=np.float64)


def section(splits: int = 5) -> tuple[list[list[str]], list[list[str]]]:
    """(log-likelihoods, costs), a row each."""
    votes = load("rank_sushi")
    found: dict[str, list[float]] = {"plackett_luce": [], "mallows": []}
    for seed in range(splits):
        kept, new = votes.split(0.2, seed=seed)
        found["plackett_luce"].append(plackett_luce(kept, orders(new)))
        found["mallows"].append(mallows(kept, orders(new)))
    every = orders(votes)
    k = every.shape[1]
    uniform = -float(np.log(np.arange(1, k + 1)).sum())
    likely = [[f"`{name}`, workers alike", f"{np.mean(each):.3f}"] for name, each in found.items()]
    table = preferences(every)
    rng = np.random.default_rng(0)
    borda = np.argsort(-table.sum(axis=1), kind="stable")
    costs = {"kemeny, exact": kemeny_places(table, rng)[1], "kemeny, local search": kemeny_places(table, rng, 2)[1],
             "borda": cost(table, borda)}  # fmt: skip
    return [*likely, ["every order alike", f"{uniform:.3f}"]], [
        [name, f"{each / len(every):.3f}"] for name, each in costs.items()
    ]
