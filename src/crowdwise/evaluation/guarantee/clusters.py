"""Tasks in clusters: reading the clusters, checking how gold was drawn from them, and effective sample sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError, ParameterError
from ...core.side_tables import SideTable, column_by
from ...stats.clusters import clustered_variance, clusters_expected, design_effect
from ...stats.sampled import sample_tests
from .estimators import FittedMean
from .gold import GoldSample
from .verdicts import Verdicts, coded, group_table

# Share of the tasks of drawn clusters that may lack gold.
MISSING = 0.05
# Gold stated to be drawn task by task may lie in so few clusters once in a thousand samples.
BUNCHED = 0.001
FEW = 10
LEVEL = 0.01


def with_clusters(verdicts: Verdicts, cluster: Any) -> tuple[Verdicts, list[str]]:
    """Return the verdicts with the cluster of each task, and notes.

    Args:
        verdicts: Verdicts on all tasks.
        cluster: Name of a column about the tasks, or a table or mapping task, cluster; None for no clusters. A task
            without one is a cluster of its own.

    Raises:
        DataError: If no task has a cluster, or all have the same one.
    """
    if cluster is None:
        return verdicts, []
    code, names = verdicts.groups(cluster)
    code, notes = own_clusters(code, len(names))
    return replace(verdicts, cluster=code), notes


def own_clusters(code: I8, n_names: int) -> tuple[I8, list[str]]:
    """Return codes in which every task without a cluster (code `n_names`) has one of its own, and notes."""
    is_alone = code == n_names
    if is_alone.all():
        raise DataError("no task has a cluster; do the task ids match?")
    if n_names == 1 and not is_alone.any():
        raise DataError("all tasks are in one cluster; at least two are needed")
    code = np.where(is_alone, n_names + np.cumsum(is_alone) - 1, code).astype(np.int64)
    if not is_alone.any():
        return code, []
    return code, [f"{int(is_alone.sum()):,} tasks have no cluster; each of them is counted as a cluster of its own"]


def check_clusters(design: str, gold: GoldSample, verdicts: Verdicts, new: bool) -> tuple[dict[str, float], list[str]]:
    """Check that the gold was drawn from the clusters as stated; return p-values of the check, and notes.

    Raises:
        ParameterError: If clusters were drawn and none are given, or tasks are stated to be drawn and clusters were.
        DataError: If the gold of drawn clusters is incomplete, or these differ from the others.
    """
    if verdicts.cluster is None:
        if design == "clusters":
            raise ParameterError("a sample of clusters needs the clusters: --cluster COL or FILE")
        return {}, []
    sampled = verdicts.cluster[gold.task]
    n_clusters, notes = len(np.unique(sampled)), []
    if n_clusters < 2:
        raise DataError("all gold is from one cluster; at least two clusters with gold are needed")
    if design == "by truth":
        raise ParameterError("gold balanced by the true class gives no interval for clusters; leave out --cluster")
    if design == "clusters":
        checks = _whole_clusters(sampled, verdicts)
    else:
        checks = {}
        if design == "random":
            _check_spread(sampled, verdicts)
        if not new:
            notes.append(
                "the gold tasks were drawn one by one, so clusters do not widen an interval for these tasks; "
                "population new is about new clusters"
            )
    if counts_apply(verdicts, design, new):
        total = len(np.unique(verdicts.cluster))
        notes.append(f"the interval is for tasks in {total:,} clusters, of which {n_clusters:,} have gold")
    if n_clusters < FEW:
        notes.append(f"the gold is from {n_clusters} clusters only; the interval rests on few independent values")
    return checks, notes


def _whole_clusters(sampled: I8, verdicts: Verdicts) -> dict[str, float]:
    """Return p-values (Holm) for the drawn clusters being like the others."""
    assert verdicts.cluster is not None
    n = np.bincount(verdicts.cluster)
    is_drawn = np.bincount(sampled, minlength=len(n)) > 0
    n_missing = int(n[is_drawn].sum()) - len(sampled)
    if n_missing > MISSING * n[is_drawn].sum():
        raise DataError(
            f"{n_missing:,} of the {int(n[is_drawn].sum()):,} tasks of the drawn clusters have no gold label; label "
            "all tasks of a drawn cluster, or draw task by task and state --sampling random"
        )
    exists = n > 0
    if is_drawn[exists].all():
        return {}
    columns = {"size": n[exists].astype(float)}
    for name, values in (("confidence", verdicts.confidence), ("verdict", _common(verdicts))):
        columns[name] = (np.bincount(verdicts.cluster, weights=values) / np.maximum(n, 1))[exists]
    p_values = sample_tests(is_drawn[exists], None, columns)
    differing = min(p_values, key=p_values.__getitem__)
    if p_values[differing] <= LEVEL:
        raise DataError(
            f"the drawn clusters are not a random sample: their {differing} differs from that of the others "
            f"(p = {p_values[differing]:.0e}); draw clusters at random"
        )
    return p_values


def _common(verdicts: Verdicts) -> F8:
    """Return the verdict of numbers, else whether the verdict is the most frequent one."""
    if verdicts.value is not None:
        return verdicts.value
    return np.asarray(verdicts.label == np.bincount(verdicts.label).argmax(), dtype=float)


def _check_spread(sampled: I8, verdicts: Verdicts) -> None:
    """Raise if the gold lies in fewer clusters than tasks drawn one by one would."""
    assert verdicts.cluster is not None
    from scipy.stats import poisson

    n_clusters, expected = len(np.unique(sampled)), clusters_expected(verdicts.cluster, len(sampled))
    n_missed = len(np.unique(verdicts.cluster)) - n_clusters
    # The numbers of tasks by cluster are negatively associated, so their zeros vary less than a Poisson number.
    if poisson.sf(n_missed - 1, n_missed + n_clusters - expected) < BUNCHED:
        raise ParameterError(
            f"the {len(sampled):,} gold tasks are from {n_clusters:,} clusters; tasks drawn one by one would be from "
            f"about {expected:,.0f}. If whole clusters were drawn, state --sampling clusters"
        )


def counts_apply(verdicts: Verdicts, design: str, new: bool) -> bool:
    """Return whether clusters change the interval: not if tasks were drawn one by one from the tasks in question."""
    return verdicts.cluster is not None and (new or design == "clusters")


def effect(
    verdicts: Verdicts, gold: GoldSample, y: F8, stratum: I8, *, design: str, new: bool, level: float
) -> tuple[float, float]:
    """Return the design effects of a mean that is adjusted by strata, and of the mean of the gold alone; 1 without
    clusters.

    Args:
        verdicts: Verdicts on all tasks, with clusters.
        gold: Gold labels.
        y: Score of each gold task.
        stratum: Stratum of each task.
        design: How the gold was drawn.
        new: Whether the interval is for new tasks.
        level: Level of the interval.
    """
    if not counts_apply(verdicts, design, new):
        return 1.0, 1.0
    assert verdicts.cluster is not None
    of_gold = stratum[gold.task]
    size = int(stratum.max()) + 1
    tasks, n = (np.bincount(codes, minlength=size).astype(float) for codes in (stratum, of_gold))
    mean = np.where(n > 0, np.bincount(of_gold, weights=y, minlength=size) / np.maximum(n, 1), y.mean())
    value = float(tasks @ mean / tasks.sum())
    residual = y - mean[of_gold]
    influence = (mean[stratum] - value) / len(stratum) if new else np.zeros(len(stratum))
    influence = influence + sum_at(gold.task, residual * (tasks / np.maximum(n, 1))[of_gold], len(stratum)) / len(
        stratum
    )
    alone = sum_at(gold.task, (y - y.mean()) / len(y), len(stratum))
    adjusted, unadjusted = (
        design_effect(part, verdicts.cluster, values, gold.task, level)
        for part, values in ((influence, residual), (alone, y))
    )
    return adjusted, unadjusted


def spread(drawn: F8, effect_: float, low: float, high: float) -> F8:
    """Return draws whose variance is that of the draws times a design effect, within the range of the score.

    They are spread about their median on the logit scale, as surveys do for shares.
    """
    if effect_ == 1.0 or high <= low:
        return drawn
    from scipy.special import expit, logit

    place = logit(np.clip((drawn - low) / (high - low), 1e-9, 1 - 1e-9))
    middle = float(np.median(place))
    return np.asarray(low + (high - low) * expit(middle + (place - middle) * np.sqrt(effect_)))


def widened(
    fit: FittedMean, verdicts: Verdicts, gold: GoldSample, y: F8, f: F8, *, design: str, new: bool
) -> FittedMean:
    """Return a regression estimate with the standard errors and degrees of freedom of clusters, if there are any."""
    if not counts_apply(verdicts, design, new):
        return fit
    assert verdicts.cluster is not None
    weight = np.full(len(y), 1 / len(y)) if gold.chance is None else 1 / gold.chance / (1 / gold.chance).sum()
    residual = y - fit.lam * f[gold.task]
    residual = residual - weight @ residual
    influence = sum_at(gold.task, weight * residual, len(f)) + (fit.lam * (f - f.mean()) / len(f) if new else 0.0)
    alone = sum_at(gold.task, weight * (y - weight @ y), len(f))
    # Of the clusters that there are, some were drawn.
    sampled = np.unique(verdicts.cluster[gold.task])
    share = 1.0 if new else 1 - len(sampled) / len(np.unique(verdicts.cluster))
    parts = [
        clustered_variance(part, verdicts.cluster, values, gold.task)
        for part, values in ((influence, residual), (alone, y))
    ]
    error, alone_error = (float(np.sqrt(part.variance * share)) for part in parts)
    return fit._replace(error=error, freedom=parts[0].freedom, alone=(fit.alone[0], alone_error, parts[1].freedom))


def sum_at(task: I8, values: F8, n_tasks: int) -> F8:
    """Return the sum of the values of each task."""
    return np.asarray(np.bincount(task, weights=values, minlength=n_tasks), dtype=float)


def task_clusters(cluster: Any, tasks: pl.Series, about: SideTable = None) -> I8:
    """Return the cluster of each of these tasks, for scores of labels; see `with_clusters`."""
    if isinstance(cluster, str):
        column = column_by(about, cluster, tasks)
        if column is None:
            raise ParameterError(f"there is no column {cluster!r} about the tasks; give a table task,cluster")
    else:
        column = column_by(group_table(cluster, "task"), "group", tasks)
    code, names = coded(column)
    return own_clusters(code, len(names))[0]
