"""Scores of label sets against the truth: F1, Jaccard, exact sets, log loss, and F1 of each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, Mask
from ...core.describe import common
from ...core.errors import DataError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import check_estimates, scored_tasks
from ...evaluation.scores import Scores, Table
from ...evaluation.statement import outlook
from .answers import Sets, lists_of, set_truth
from .estimate import SetPosterior
from .maths import f1_of, set_scores

# Displayed names of the scores, in the order of display.
SCORES = {
    "micro_f1": "F1 (micro)",
    "macro_f1": "F1 (macro, mean over classes)",
    "jaccard": "Jaccard (mean over tasks)",
    "exact": "exact sets",
    "hamming": "correct single classes",
    "log_loss": "log loss per class (nats)",
    "brier": "Brier score per class",
}
# Maximum number of classes whose scores are shown.
MAX_SHOWN = 30


@dataclass(frozen=True, repr=False, kw_only=True)
class SetEvaluation(Scores):
    """Scores over the tasks whose sets are known completely or in part; unknown classes of a task are not counted.

    Attributes:
        classes: One entry per class: label, f1, precision, recall, and the number of tasks with the class in the truth
            (true) and in the estimate (said).
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    HEADLINE: ClassVar[tuple[str, ...]] = ("micro_f1", "macro_f1", "jaccard", "exact")
    FLAT: ClassVar[bool] = True

    classes: list[dict[str, Any]]

    def f1(self, name: str) -> float:
        """Return the F1 of one class."""
        for row in self.classes:
            if row["label"] == name:
                return float(row["f1"])
        raise DataError(f"there is no class {name!r} in the truth")

    def tables(self) -> list[Table]:
        """Return a table with F1, precision and recall of each class."""
        rows = [
            [str(row["label"]), *(_shown(row[key]) for key in ("f1", "precision", "recall")), f"{row['true']:,}",
             f"{row['said']:,}"]
            for row in self.classes[:MAX_SHOWN]
        ]  # fmt: skip
        title = "Classes" if len(self.classes) <= MAX_SHOWN else f"Classes ({MAX_SHOWN} of {len(self.classes)})"
        return [Table(title, ["class", "F1", "precision", "recall", "true", "estimated"], rows)]

    def details(self) -> dict[str, Any]:
        """Return the scores of each class."""
        return {"classes": self.classes}


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> SetEvaluation:
    """Score a result, or a table with the columns task, labels and, optionally, p_<class>, against the true sets.

    The arguments are those of `evaluation.evaluate.evaluate`; `fit_gold` are the tasks that were gold in the fit.
    """
    tasks, classes, estimated, p, offered = _parts(result)
    truth_tasks, names, true_sets = set_truth(truth, classes)
    scored = scored_tasks(tasks, truth_tasks, fit_gold, "a set")
    rows, true_sets, more = scored.estimate, true_sets[scored.truth], len(names) - len(classes)
    estimated = np.pad(estimated[rows], ((0, 0), (0, more)))
    p = None if p is None else np.pad(p[rows], ((0, 0), (0, more)))
    if offered is not None:  # classes that were not offered are not scored
        true_sets = np.where(np.pad(offered[rows], ((0, 0), (0, more)), constant_values=True), true_sets, -1)
    scores = set_scores(estimated, p, true_sets, resamples, seed)
    class_counts = scores.by_class
    class_f1 = f1_of(class_counts)
    table = [
        {
            "label": name,
            "f1": None if np.isnan(class_f1[j]) else float(class_f1[j]),
            "precision": float(class_counts[j, 0] / class_counts[j, 1]) if class_counts[j, 1] else None,
            "recall": float(class_counts[j, 0] / class_counts[j, 2]) if class_counts[j, 2] else None,
            "true": int(class_counts[j, 2]),
            "said": int(class_counts[j, 1]),
        }
        for j, name in enumerate(names.to_list())
        if (true_sets[:, j] >= 0).any()
    ]
    return SetEvaluation(
        n=len(rows), scores=scores.values, intervals=scores.intervals, classes=table, **scored.left_out
    )


def _parts(result: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series, Mask, F8 | None, Mask | None]:
    if isinstance(result, Result):
        estimate = result.estimate
        assert isinstance(estimate, SetPosterior)
        return result.tasks, estimate.classes.cast(pl.String), estimate.member, estimate.posterior, estimate.asked
    check_estimates(result, "labels")
    lists = lists_of(result["labels"], "labels")
    columns = [c for c in result.columns if c.startswith("p_")]
    names = [c[2:] for c in columns] if columns else sorted(lists.names())
    start, code = lists.rows({name: j for j, name in enumerate(names)})
    is_named = np.zeros((len(result), len(names)), dtype=bool)
    is_named[np.repeat(np.arange(len(result)), np.diff(start)), code] = True
    p = None
    if columns:
        try:
            p = result.select(pl.col(columns).cast(pl.Float64)).to_numpy()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the columns {columns[0]}... must hold probabilities") from error
        if not ((p >= 0) & (p <= 1)).all():
            raise DataError(f"the columns {columns[0]}... must hold probabilities, numbers from 0 to 1 in every row")
    return result["task"], pl.Series("label", names, dtype=pl.String), is_named, p, None


# ----------------------------------------------------------------
# Facts and summaries for display.

# Classes with a probability between 1 - SURE and SURE are reported as uncertain.
SURE = 0.9


# Maximum number of pairs of answers to the same task that are compared.
MAX_PAIRS = 200_000


def describe(votes: Votes[Sets]) -> dict[str, Any]:
    """Return how often each class was named, the size of the answers, and how often two answers are equal."""
    answers = votes.answers
    sizes = answers.sizes
    counts = np.bincount(answers.code, minlength=len(answers.classes))
    i, j = _pairs(votes)
    apart = answers.distance(i, j)
    offered = None if answers.menus is None or answers.menu is None else answers.menus[answers.menu].sum(axis=1)
    return {
        **common(votes),
        "classes": len(answers.classes),
        "class_counts": dict(zip(answers.classes.to_list(), counts.tolist(), strict=True)),
        "classes_per_answer": float(sizes.mean()) if len(sizes) else 0.0,
        "largest_answer": int(sizes.max()) if len(sizes) else 0,
        "empty_answers": int((sizes == 0).sum()),
        "offered": None if offered is None or not len(offered) else float(offered.mean()),
        "equal_pairs": float((apart == 0).mean()) if len(apart) else None,
        "mean_masi_distance": float(apart.mean()) if len(apart) else None,
    }


def _pairs(votes: Votes[Sets]) -> tuple[Any, Any]:
    """Return pairs of each answer with the next two answers of its task, at most MAX_PAIRS."""
    rows = np.arange(len(votes))
    out: list[Any] = []
    for step in (1, 2):
        rows_ = rows[:-step][votes.task[:-step] == votes.task[step:]] if len(rows) > step else rows[:0]
        out.append((rows_, rows_ + step))
    i, j = (np.concatenate(side)[:MAX_PAIRS] for side in zip(*out, strict=True))
    return i, j


def sentences(votes: Votes[Sets], result: Result) -> list[str]:
    """Return the mean size of the sets, the expected share of correct sets and the number of uncertain tasks."""
    estimate = result.estimate
    assert isinstance(estimate, SetPosterior)
    has_votes = votes.labels_per_task > 0
    if not has_votes.any():
        return ["there are no answers"]
    p = estimate.posterior[has_votes]
    unsure = (p > 1 - SURE) & (p < SURE)
    if estimate.asked is not None:
        unsure &= estimate.asked[has_votes]
    sizes, n = estimate.member[has_votes].sum(axis=1), int(unsure.any(axis=1).sum())
    line = f"{sizes.mean():.2f} classes per set on average, {int((sizes == 0).sum()):,} empty sets"
    if estimate.sure is None:  # otherwise the share is measured on gold
        line += f"; the method expects {estimate.confidence[has_votes].mean():.1%} of the sets to be correct"
    if not n:
        return [line, "every class has a probability of at most 10 % or at least 90 %"]
    return [line, f"in {n:,} tasks some class has a probability between 10 % and 90 %"]


def show(result: Result) -> tuple[str, list[Table]]:
    """Return a summary, and tables of the classes and of the least certain tasks."""
    estimate = result.estimate
    assert isinstance(estimate, SetPosterior)
    counts = estimate.member.sum(axis=0)
    order = np.argsort(-counts, kind="stable")[:30]
    names = estimate.classes.to_list()
    rows = [[str(names[j]), f"{estimate.rate[j]:.3f}", f"{counts[j]:,}"] for j in order]
    least = result.to_table().sort("confidence").head(5).select("task", "labels", "confidence", "n_labels")
    doubtful = [[str(t), str(s), f"{c:.3f}", str(n)] for t, s, c, n in least.iter_rows()]
    return outlook(result), [
        Table("Classes", ["class", "rate", "tasks"], rows),
        Table("Least certain tasks", ["task", "labels", "confidence", "answers"], doubtful),
    ]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
    """Return rows for the table of sizes, further tables, and advice."""
    equal = facts["equal_pairs"]
    rows = [
        ["classes", f"{facts['classes']:,}"],
        ["classes per answer", f"{facts['classes_per_answer']:.2f}, at most {facts['largest_answer']:,}"],
        ["empty answers", f"{facts['empty_answers']:,}"],
        ["offered", "all classes" if facts["offered"] is None else f"{facts['offered']:.1f} classes on average"],
        ["pairs of equal answers", "–" if equal is None else f"{equal:.1%}"],
    ]
    counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
    total = max(facts["annotations"], 1)
    table = [[str(name), f"{n:,}", f"{n / total:.1%}"] for name, n in counts[:limit]]
    if len(counts) > limit:
        table.append([f"… {len(counts) - limit:,} more", "", ""])
    advice = []
    if facts["largest_answer"] <= 1:
        advice.append("no answer names two classes; if only one can be true, read the file with --kind classes")
    return rows, [Table("Classes", ["class", "answers", "share"], table)], advice


def f1_of_tasks(votes: Votes[Sets], result: Result, gold: Any) -> tuple[npt.NDArray[np.int64], F8]:
    """Return the codes of the tasks whose whole set is known, and the F1 of their sets; 1 for two empty sets."""
    from .fitting import gold_answers

    tasks, answers = gold_answers(votes, gold)
    member = result.estimate_as(SetPosterior).member[tasks] > 0
    true = np.zeros_like(member)
    true[np.repeat(np.arange(len(tasks)), np.diff(answers.start)), answers.code] = True
    counts = np.stack([(member & true).sum(axis=1), member.sum(axis=1), true.sum(axis=1)], axis=1)
    return tasks, np.nan_to_num(f1_of(counts.astype(np.float64)), nan=1.0)
