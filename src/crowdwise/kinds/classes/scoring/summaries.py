"""Summaries of votes and results that are printed by the command line: facts, tables, advice and sentences."""

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
from .recommendations import Recommendations, recommend

if TYPE_CHECKING:
    from ..annotations import Annotations

# ---------------------------------------------------------------- Description of class labels as plain values


def describe(votes: Annotations) -> dict[str, Any]:
    """Return the common facts of the votes, and class counts, unanimous tasks and agreement."""
    class_counts = np.bincount(votes.label, minlength=votes.n_classes)
    has_several = votes.labels_per_task >= 2
    is_small = votes.n_tasks * max(votes.n_classes, 1) < 200_000_000
    n_unanimous = int((has_several & (votes.votes.astype(bool).sum(axis=1) == 1)).sum()) if is_small else None
    return {
        **common(votes),
        "classes": votes.n_classes,
        "class_counts": dict(zip(votes.classes.to_list(), class_counts.tolist(), strict=True)),
        "tasks_unanimous": n_unanimous,
        "pairwise_agreement": _pairwise(votes),
        **_scales(votes, is_small),
    }


def _scales(votes: Annotations, is_small: bool) -> dict[str, Any]:
    """Return alpha at three levels of measurement, and which level is asked for, for whole numbers without an order."""
    from ..workers.agreement import alpha_by_scale, scale_question

    alphas = alpha_by_scale(votes) if is_small and len(votes) else {}
    return {"alpha_by_level": alphas, "level_question": scale_question(votes.classes)} if alphas else {}


def _pairwise(votes: Annotations) -> float | None:
    """Share of agreeing pairs among all pairs of labels on the same task; None without such pairs."""
    key = votes.task.astype(np.int64) * max(votes.n_classes, 1) + votes.label
    same = np.unique(key, return_counts=True)[1].astype(np.float64)
    n = votes.labels_per_task.astype(np.float64)
    pairs = float((n * (n - 1)).sum())
    return float((same * (same - 1)).sum()) / pairs if pairs else None


# ----------------------------------------------------------------
# Accuracy statements for kinds whose estimates are not right or wrong task by task: rankings and clusters.


@dataclass(frozen=True)
class UnmeasuredAccuracy:
    """Statement that accuracy was not measured, and how to measure it.

    Attributes:
        n: Number of tasks or items to check.
        truth: The truth to collect, such as "known orders".
        measure: The score that it allows to compute.
        in_fit: Whether such truth was given to the fit.
    """

    n: int
    truth: str
    measure: str
    in_fit: bool

    def sentence(self, written: str = "") -> str:
        """Return the statement without a full stop; `written` names a file to fill in."""
        first = f"{self.truth} were given to the fit" if self.in_fit else f"no {self.truth} were given"
        sample = f"these {self.n:,} ({written})" if written else f"{self.n:,} drawn at random"
        remainder = "others, " if self.in_fit and not written else ""
        return f"{first}: {remainder}{sample}, show {self.measure} (crowdwise evaluate)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"checked": 0, "reason": self.sentence()}


def trust_rankings(result: Result, error: float = ERROR) -> UnmeasuredAccuracy:
    """Statement about rankings, which are not right or wrong as a whole."""
    del error  # no ranking ships without a check
    n = min(TO_CHECK, result.n_tasks)
    return UnmeasuredAccuracy(n, "known orders", "Kendall's tau of the estimated orders", result.gold is not None)


def trust_clusters(result: Result, error: float = ERROR) -> UnmeasuredAccuracy:
    """Statement about clusters, which have no names, so that a single item is not right or wrong."""
    del error
    assert isinstance(result.estimate, SimilarityEstimate)
    in_fit, n = bool(result.extra.get("cluster_names")), min(TO_CHECK, len(result.estimate.items))
    return UnmeasuredAccuracy(n, "known clusters of items", "how well the clusters agree with them", in_fit)


# ----------------------------------------------------------------
# Contents of a file of votes: sizes, answers, and warnings.

Row = list[str]


def inspect_classes(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Return rows for the table of sizes, further tables, and advice, for class labels."""
    agreement, n_several = facts["pairwise_agreement"], facts["tasks_with_several_labels"]
    rows = [
        ["classes", f"{facts['classes']:,}"],
        ["tasks with several labels", f"{n_several:,} ({facts['tasks_unanimous'] or 0:,} unanimous)"],
        ["two labels of a task agree", "–" if agreement is None else f"{agreement:.1%}"],
    ]
    alphas = facts.get("alpha_by_level", {})
    if alphas:
        shown = (f"{name} {'–' if value is None else f'{value:.3f}'}" for name, value in alphas.items())
        rows.append(["Krippendorff's alpha", ", ".join(shown)])
    counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
    total = max(facts["annotations"], 1)
    class_rows = [[str(name), f"{n:,}", f"{n / total:.1%}"] for name, n in counts[:limit]]
    if len(counts) > limit:
        class_rows.append([f"… {len(counts) - limit:,} more", "", ""])
    advice = [facts["level_question"]] if alphas else []
    if facts["classes"] == 1:
        advice.append("there is only one class: is the label column the right one?")
    if facts["classes"] > 100 and facts["classes"] > facts["annotations"] / 20:
        advice.append("there are almost as many classes as labels: is the label column the right one?")
    return rows, [Table("Classes", ["class", "labels", "share"], class_rows)], advice


def inspect_numbers(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows for the table of sizes, further tables, and advice, for numbers."""
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


# ---------------------------------------------------------------- Summary of a fit in a few sentences


def sentences(votes: Annotations, result: Result, error: float | None = None) -> list[str]:
    """Return the recommendations for labels that cannot ship, and findings about dependent workers."""
    return [recommendation_sentence(votes, result, error), *dependence_sentences(result)]


def recommendation_sentence(votes: Annotations, result: Result, error: float | None = None) -> str:
    """Return the recommendations for labels that cannot ship as a sentence."""
    return describe_recommendations(recommend(votes, result, error))


def describe_recommendations(recommendations: Recommendations) -> str:
    """Return how many tasks need another vote or an expert, in words."""
    if not recommendations.n_vote + recommendations.n_expert:
        return "no task needs another vote or an expert"
    votes = f"{_tasks(recommendations.n_vote)} another vote" if recommendations.n_vote else ""
    experts = (
        f"{recommendations.n_expert:,} {_verb(recommendations.n_expert)}"
        if recommendations.n_vote
        else _tasks(recommendations.n_expert)
    )
    expert = f"{experts} an expert: more votes of this crowd would hardly help" if recommendations.n_expert else ""
    return ", ".join(part for part in (votes, expert) if part)


def _tasks(n: int) -> str:
    return f"{n:,} {'task' if n == 1 else 'tasks'} {_verb(n)}"


def _verb(n: int) -> str:
    return "needs" if n == 1 else "need"


def dependence_sentences(result: Result) -> list[str]:
    """Return the findings of the default method's tests for copying and shared errors."""
    out = []
    for group in result.extra.get("copying") or []:
        names = ", ".join(str(name) for name in group[:5]) + (", ..." if len(group) > 5 else "")
        out.append(f"{len(group)} workers copy each other's labels and count as one ({names})")
    test = result.extra.get(KEY)
    if test and Independence.of(test).together:
        out.append(Independence.of(test).sentence())
    return out


def number_sentences(votes: Votes[Any], result: Result) -> list[str]:
    """Return the range of the estimates; the accuracy statement covers the width of their intervals."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    out = []
    spread = votes.answers.value.std(axis=0) if len(votes) else np.zeros(len(estimate.parts))
    for j, part in enumerate(estimate.parts.to_list()):
        name = f"{part}: " if part else ""
        value = estimate.value[:, j]
        line = f"{name}estimates from {value.min():.4g} to {value.max():.4g}, mean {value.mean():.4g}"
        out.append(line + (f" (standard deviation of the answers {spread[j]:.3g})" if spread[j] > 0 else ""))
    return out


def show_classes(result: Result) -> tuple[str, list[Table]]:
    """Return the expected accuracy of the labels, and tables of the classes and the least certain tasks."""
    table = result.scan()
    counts = dict(table.group_by("label").len().collect().iter_rows())
    names = result.classes.to_list()
    rows = [[str(c), f"{p:.3f}", f"{counts.get(c, 0):,}"] for c, p in zip(names, result.class_prior, strict=True)]
    columns = table.select("task", "label", "confidence", "n_labels")
    doubtful = columns.bottom_k(5, by="confidence").collect().sort("confidence", maintain_order=True)
    least = [[str(t), str(lab), f"{c:.3f}", str(n)] for t, lab, c, n in doubtful.iter_rows()]
    return outlook(result), [
        Table("Classes", ["class", "prior", "tasks"], rows[:30]),
        Table("Least certain tasks", ["task", "label", "confidence", "labels"], least),
    ]


def show_numbers(result: Result) -> tuple[str, list[Table]]:
    """Return the range of the estimates, and a table of the tasks with the widest intervals."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    width = np.nan_to_num((estimate.high - estimate.low) / np.maximum(estimate.value.std(axis=0), 1e-300), nan=-1.0)
    order = np.argsort(-width.max(axis=1), kind="stable")[:5] if len(estimate) else np.empty(0, dtype=np.int64)
    table = result.to_table()[order.tolist()]
    rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.iter_rows()]
    return estimate.summary(), [Table("Least certain tasks", table.columns, rows)]
