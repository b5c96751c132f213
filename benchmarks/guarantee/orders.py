"""By what should accept find the surest tasks? Orders without gold, on real crowds: the ten sets of the table of
promises, and all other sets, on which the rule was chosen."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.guarantee.order import ordered
from crowdwise.evaluation.guarantee.sequential import percentile_scale
from crowdwise.evaluation.guarantee.verdicts import as_verdicts

from .promise import REAL

# Sets that can tell orders apart, and votes that a run can afford.
TASKS, WRONG, VOTES = 150, 15, 200_000
# Parts of a set's own error that are asked for.
SHARES = (0.4, 0.6, 0.8)


@cache
def views(name: str) -> tuple[dict[str, np.ndarray], np.ndarray] | None:
    """(order by name, wrong) of the default's labels on the tasks with a known truth; None of small sets."""
    data = cw.datasets.load(name)
    votes = data.annotations
    if len(votes) > VOTES:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cw.method("committee").fit(votes)
        model = cw.method("hierarchical").fit(votes).posterior[np.arange(votes.n_tasks), result.labels]
        found, _, _ = ordered(as_verdicts(result, votes), result, votes, "places")
    truth = dict(zip(data.truth["task"].cast(pl.String), data.truth["label"].cast(pl.String), strict=True))
    true = [truth.get(str(task)) for task in votes.tasks.to_list()]
    known = np.array([t is not None for t in true]) & (votes.labels_per_task > 0)
    said = result.classes.cast(pl.String).to_numpy()[result.labels]
    wrong = np.array([a != b for a, b in zip(said, true, strict=True)])[known]
    if len(wrong) < TASKS or wrong.sum() < WRONG:
        return None
    mean = percentile_scale(result.confidence).percentile(result.confidence) + percentile_scale(model).percentile(model)
    every = {"committee's confidence": result.confidence, "model's confidence": model, "mean of the places": mean / 2}
    every["lower of the places"] = found.order
    return {key: values[known] for key, values in every.items()}, wrong


def told_apart(order: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """(chance that a right task stands above a wrong one, share of tasks above the first rung that fails)."""
    from scipy.stats import rankdata

    rank, n = rankdata(np.round(order, 9)), len(wrong)
    auc = (rank[~wrong].mean() - rank[wrong].mean()) / n + 0.5
    down = np.argsort(-rank, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(rank[down]) != 0, True)) + 1  # tasks of one confidence stand together
    error = np.cumsum(wrong[down])[ends - 1] / ends
    least, share = max(20, 0.05 * n), []
    for part in SHARES:
        failed = np.flatnonzero((error > part * wrong.mean()) & (ends >= least))
        passed = ends[: failed[0]] if len(failed) else ends
        share.append(passed[-1] / n if len(passed) and passed[-1] >= least else 0.0)
    return float(auc), float(np.mean(share))


def order_rows() -> list[list[str]]:
    """A row an order: AUC and acceptable share, mean over the other sets and over the ten."""
    found: dict[str, dict[str, list]] = {}
    for name in dict.fromkeys([*cw.datasets.INDEPENDENT, *REAL]):
        made = views(name)
        if made is None:
            continue
        for key, order in made[0].items():
            part = found.setdefault(key, {"other": [], "ten": []})
            part["ten" if name in REAL else "other"].append(told_apart(order, made[1]))
    out = []
    for key, parts in found.items():
        means = [np.mean(parts[part], axis=0) for part in ("other", "ten")]
        out.append([key, *(f"{x:.3f}" for x in np.concatenate(means))])
        print(*out[-1], [len(part) for part in parts.values()], flush=True)
    return out
