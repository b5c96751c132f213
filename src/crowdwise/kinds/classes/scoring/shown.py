"""A saved result for people: its summary and the tables worth a look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.describe import common
from ....core.result import Result
from ....core.votes import Votes
from ....evaluation.scores import Table
from ....evaluation.statement import ERROR, TO_CHECK, outlook
from ...numbers.estimate import NumberEstimate
from ...similarities.estimate import SimilarityEstimate
from ..annotations import Annotations
from ..methods.ensemble.verdict import KEY, Independence
from .needs import Needs, needs

if TYPE_CHECKING:
    from ..annotations import Annotations

# ---------------------------------------------------------------- What is in a set of class labels, as plain values


def describe(votes: Annotations) -> dict[str, Any]:
    """Of classes also: how often each was said, unanimous tasks, agreement."""
    class_counts = np.bincount(votes.label, minlength=votes.n_classes)
    several = votes.labels_per_task >= 2
    few = votes.n_tasks * max(votes.n_classes, 1) < 200_000_000
    same = int((several & (votes.votes.astype(bool).sum(axis=1) == 1)).sum()) if few else None
    return {
        **common(votes),
        "classes": votes.n_classes,
        "class_counts": dict(zip(votes.classes.to_list(), class_counts.tolist(), strict=True)),
        "tasks_unanimous": same,
        "pairwise_agreement": _pairwise(votes),
    }


def _pairwise(votes: Annotations) -> float | None:
    """Share of agreeing pairs among all pairs of labels of one task; None without such pairs."""
    key = votes.task.astype(np.int64) * max(votes.n_classes, 1) + votes.label
    same = np.unique(key, return_counts=True)[1].astype(np.float64)
    n = votes.labels_per_task.astype(np.float64)
    pairs = float((n * (n - 1)).sum())
    return float((same * (same - 1)).sum()) / pairs if pairs else None


# ----------------------------------------------------------------
# Kinds whose estimates are not right or wrong task by task: what can be known of rankings and of clusters.


@dataclass(frozen=True)
class ByOrder:
    """That nothing was measured, and how to measure it: `truth` of `n` things shows `measure`."""

    n: int
    truth: str
    measure: str
    helped: bool

    def sentence(self, written: str = "") -> str:
        """The statement, without a full stop; `written` names a file to fill in."""
        first = f"{self.truth} were given to the fit" if self.helped else f"no {self.truth} were given"
        where = f"these {self.n:,} ({written})" if written else f"{self.n:,} drawn at random"
        others = "others, " if self.helped and not written else ""
        return f"{first}: {others}{where}, show {self.measure} (crowdwise evaluate)"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"checked": 0, "reason": self.sentence()}


def trust_rankings(result: Result, error: float = ERROR) -> ByOrder:
    """An order is not right or wrong as a whole."""
    del error  # nothing ships by itself
    n = min(TO_CHECK, result.n_tasks)
    return ByOrder(n, "known orders", "Kendall's tau of the estimated orders", result.gold is not None)


def trust_clusters(result: Result, error: float = ERROR) -> ByOrder:
    """Clusters have no names of their own, so that an item is not right or wrong by itself."""
    del error
    assert isinstance(result.estimate, SimilarityEstimate)
    helped, n = bool(result.extra.get("cluster_names")), min(TO_CHECK, len(result.estimate.items))
    return ByOrder(n, "known clusters of items", "how far the clusters go with them", helped)


# ----------------------------------------------------------------
# What a file of votes holds, for people: sizes, what was said, and what to watch out for.

Row = list[str]


def inspect_classes(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Rows for the table of sizes, tables, and advice."""
    agreement, several = facts["pairwise_agreement"], facts["tasks_with_several_labels"]
    rows = [
        ["classes", f"{facts['classes']:,}"],
        ["tasks with several labels", f"{several:,} ({facts['tasks_unanimous'] or 0:,} unanimous)"],
        ["two labels of a task agree", "–" if agreement is None else f"{agreement:.1%}"],
    ]
    counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
    total = max(facts["annotations"], 1)
    said = [[str(name), f"{n:,}", f"{n / total:.1%}"] for name, n in counts[:limit]]
    if len(counts) > limit:
        said.append([f"… {len(counts) - limit:,} more", "", ""])
    advice = []
    if facts["classes"] == 1:
        advice.append("there is only one class: is the label column the right one?")
    if facts["classes"] > 100 and facts["classes"] > facts["annotations"] / 20:
        advice.append("there are almost as many classes as labels: is the label column the right one?")
    return rows, [Table("Classes", ["class", "labels", "share"], said)], advice


def inspect_numbers(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """The same for numbers."""
    parts = [name for name in facts if name == "value" or name.startswith("value_")]
    rows = [["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"]]
    header = ["", "lowest", "median", "mean", "highest", "spread", "within tasks", "different"]
    keys = ("min", "median", "mean", "max", "sd", "sd_within_tasks")
    table = [
        [name, *(f"{facts[name][key]:.4g}" for key in keys), f"{facts[name]['different_values']:,}"] for name in parts
    ]
    advice = []
    for name in parts:
        if facts[name]["different_values"] == 1:
            advice.append(f"{name} is the same in every row: is it the right column?")
        elif facts[name]["sd_within_tasks"] >= facts[name]["sd"] * 0.999:
            advice.append(f"{name} differs within tasks as much as between them: do the task ids match?")
    return rows, [Table("Numbers", header, table)], advice


# ---------------------------------------------------------------- What a fit comes to, in a sentence or two for people


def sentences(annotations: Annotations, result: Result, error: float | None = None) -> list[str]:
    """What the labels need that cannot ship, and whether workers err together."""
    return [in_need(annotations, result, error), *err_together(result)]


def in_need(annotations: Annotations, result: Result, error: float | None = None) -> str:
    """What the labels need that cannot ship."""
    return need_in_words(needs(annotations, result, error))


def need_in_words(need: Needs) -> str:
    """How many tasks need another vote or an expert."""
    if not need.n_vote + need.n_expert:
        return "no task needs another vote or an expert"
    votes = f"{_tasks(need.n_vote)} another vote" if need.n_vote else ""
    who = f"{need.n_expert:,} {_verb(need.n_expert)}" if need.n_vote else _tasks(need.n_expert)
    expert = f"{who} an expert: more votes of this crowd would hardly help" if need.n_expert else ""
    return ", ".join(part for part in (votes, expert) if part)


def _tasks(n: int) -> str:
    return f"{n:,} {'task' if n == 1 else 'tasks'} {_verb(n)}"


def _verb(n: int) -> str:
    return "needs" if n == 1 else "need"


def err_together(result: Result) -> list[str]:
    """What the default's test of fit found, where it found something."""
    out = []
    for group in result.extra.get("copying") or []:
        names = ", ".join(str(name) for name in group[:5]) + (", ..." if len(group) > 5 else "")
        out.append(f"{len(group)} workers repeat each other's labels and count as one ({names})")
    test = result.extra.get(KEY)
    if test and Independence.of(test).together:
        out.append(Independence.of(test).sentence())
    return out


def number_sentences(votes: Votes[Any], result: Result) -> list[str]:
    """The range of the estimates; how wide their intervals are stands in the statement on top."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    out = []
    spread = votes.answers.value.std(axis=0) if len(votes) else np.zeros(len(estimate.parts))
    for j, part in enumerate(estimate.parts.to_list()):
        name = f"{part}: " if part else ""
        value = estimate.value[:, j]
        line = f"{name}estimates from {value.min():.4g} to {value.max():.4g}, mean {value.mean():.4g}"
        out.append(line + (f" (answers spread by {spread[j]:.3g})" if spread[j] > 0 else ""))
    return out


def show_classes(result: Result) -> tuple[str, list[Table]]:
    """How right the labels are; classes and the least certain tasks."""
    table = result.scan()
    counts = dict(table.group_by("label").len().collect().iter_rows())
    names = result.classes.to_list()
    rows = [[str(c), f"{p:.3f}", f"{counts.get(c, 0):,}"] for c, p in zip(names, result.class_prior, strict=True)]
    some = table.select("task", "label", "confidence", "n_labels")
    doubtful = some.bottom_k(5, by="confidence").collect().sort("confidence", maintain_order=True)
    least = [[str(t), str(lab), f"{c:.3f}", str(n)] for t, lab, c, n in doubtful.iter_rows()]
    return outlook(result), [
        Table("Classes", ["class", "prior", "tasks"], rows[:30]),
        Table("Least certain tasks", ["task", "label", "confidence", "labels"], least),
    ]


def show_numbers(result: Result) -> tuple[str, list[Table]]:
    """The range of the estimates; the tasks with the widest intervals."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = np.nan_to_num((estimate.high - estimate.low) / np.maximum(estimate.value.std(axis=0), 1e-300), nan=-1.0)
    order = np.argsort(-width.max(axis=1), kind="stable")[:5] if len(estimate) else np.empty(0, dtype=np.int64)
    table = result.to_table()[order.tolist()]
    rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.iter_rows()]
    return estimate.summary(), [Table("Least certain tasks", table.columns, rows)]
