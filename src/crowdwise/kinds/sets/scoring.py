"""How good are label sets, given the truth: F1, Jaccard, exact sets, log-loss, and F1 of each class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...evaluation.statement import outlook
from .answers import Sets, lists_of, set_truth
from .estimate import SetPosterior
from .maths import f1_of, set_scores

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# The scores as people call them, in the order in which they read them.
SCORES = {
    "micro_f1": "F1 (micro)",
    "macro_f1": "F1 (macro, mean over classes)",
    "jaccard": "Jaccard (mean over tasks)",
    "exact": "exact sets",
    "hamming": "single classes right",
    "log_loss": "log-loss of a class (nats)",
    "brier": "Brier score of a class",
}
# Classes whose scores are shown.
SHOWN = 30


@dataclass(frozen=True, repr=False)
class SetEvaluation(Scored):
    """Scores over the tasks whose sets are known, wholly or in part; what is not known of a task is not counted.

    `classes` has a row for each class: label, f1, precision, recall, true, said. `intervals` holds the 95 % interval of
    each score, where resamples were asked for.
    """

    n: int
    scores: dict[str, float]
    classes: list[dict[str, Any]]
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> float:
        """micro_f1, macro_f1, jaccard, exact, hamming, log_loss, brier."""
        if name in SCORES and name in self.scores:
            return self.scores[name]
        raise AttributeError(name)

    def __repr__(self) -> str:
        some = [f"{row[0]} {row[1]}" for row in self.rows()[:4]]
        return f"SetEvaluation({self.n:,} task{'s' * (self.n != 1)}: {'; '.join(some)})"

    def f1(self, name: str) -> float:
        """F1 of one class."""
        for row in self.classes:
            if row["label"] == name:
                return float(row["f1"])
        raise DataError(f"there is no class {name!r} in the truth")

    def headline(self) -> dict[str, float]:
        """The scores that stand in a comparison."""
        return {name: self.scores[name] for name in ("micro_f1", "macro_f1", "jaccard", "exact")}

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            if key in self.scores:
                low, high = self.intervals.get(key, (None, None))
                out.append([name, f"{self.scores[key]:.4f}", "–" if low is None else f"{low:.4f} – {high:.4f}"])
        return out

    def tables(self) -> list[Table]:
        """F1, precision and recall of each class."""
        rows = [
            [str(row["label"]), *(_shown(row[key]) for key in ("f1", "precision", "recall")), f"{row['true']:,}",
             f"{row['said']:,}"]
            for row in self.classes[:SHOWN]
        ]  # fmt: skip
        title = "Classes" if len(self.classes) <= SHOWN else f"Classes ({SHOWN} of {len(self.classes)})"
        return [Table(title, ["class", "F1", "precision", "recall", "true", "said"], rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        rest = {"truths_without_labels": self.truths_without_labels, "n_gold_left_out": self.n_gold_left_out}
        return {"n": self.n, **self.scores, "intervals": self.intervals, "classes": self.classes, **rest}


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> SetEvaluation:
    """Score a Result, or a table task, labels (with or without p_<class>), against the truth."""
    tasks, classes, said, p, asked = _parts(found)
    own, names, known = set_truth(truth, classes)
    at, here = lookup(tasks, own)
    if not here.any():
        raise DataError("none of the tasks in the truth has a set here; do the task ids match?")
    gone = here & among(own, told)
    fair = here & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    rows, known, more = at[fair], known[fair], len(names) - len(classes)
    said = np.pad(said[rows], ((0, 0), (0, more)))
    p = None if p is None else np.pad(p[rows], ((0, 0), (0, more)))
    if asked is not None:  # where nobody was offered a class, nothing is claimed
        known = np.where(np.pad(asked[rows], ((0, 0), (0, more)), constant_values=True), known, -1)
    judged = set_scores(said, p, known, resamples, seed)
    by = judged.by_class
    each = f1_of(by)
    table = [
        {
            "label": name,
            "f1": None if np.isnan(each[j]) else float(each[j]),
            "precision": float(by[j, 0] / by[j, 1]) if by[j, 1] else None,
            "recall": float(by[j, 0] / by[j, 2]) if by[j, 2] else None,
            "true": int(by[j, 2]),
            "said": int(by[j, 1]),
        }
        for j, name in enumerate(names.to_list())
        if (known[:, j] >= 0).any()
    ]
    return SetEvaluation(len(rows), judged.values, table, int((~here).sum()), int(gone.sum()), judged.intervals)


def _parts(found: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series, Mask, F8 | None, Mask | None]:
    if isinstance(found, Result):
        own = found.estimate
        assert isinstance(own, SetPosterior)
        return found.tasks, own.classes.cast(pl.String), own.member, own.posterior, own.asked
    for name in ("task", "labels"):
        if name not in found.columns:
            raise DataError(f"the sets have no column {name!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two sets")
    lists = lists_of(found["labels"], "labels")
    columns = [c for c in found.columns if c.startswith("p_")]
    names = [c[2:] for c in columns] if columns else sorted(lists.names())
    start, code = lists.rows({name: j for j, name in enumerate(names)})
    said = np.zeros((len(found), len(names)), dtype=bool)
    said[np.repeat(np.arange(len(found)), np.diff(start)), code] = True
    p = None
    if columns:
        try:
            p = found.select(pl.col(columns).cast(pl.Float64)).to_numpy()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the columns {columns[0]}... must hold probabilities") from error
        if not ((p >= 0) & (p <= 1)).all():
            raise DataError(f"the columns {columns[0]}... must hold probabilities, numbers from 0 to 1 in every row")
    return found["task"], pl.Series("label", names, dtype=pl.String), said, p, None


# ----------------------------------------------------------------
# Label sets for people: what a fit comes to, a saved result, what a file holds.

# A class this sure, either way, is settled.
SURE = 0.9


def said(votes: Votes[Sets], result: Result) -> Sets:
    """The estimates as one answer a task."""
    own = result.estimate
    assert isinstance(own, SetPosterior)
    row, code = np.nonzero(own.member)
    start = np.searchsorted(row, np.arange(len(own) + 1))
    assert len(own) == votes.n_tasks
    return Sets(start.astype(np.int64), code.astype(np.int32), own.classes)


def sentences(votes: Votes[Sets], result: Result) -> list[str]:
    """How many classes a set holds, how sure they are, and what is not settled."""
    own = result.estimate
    assert isinstance(own, SetPosterior)
    heard = votes.labels_per_task > 0
    if not heard.any():
        return ["nobody has answered anything"]
    p = own.posterior[heard]
    unsure = (p > 1 - SURE) & (p < SURE)
    if own.asked is not None:
        unsure &= own.asked[heard]
    sizes, n = own.member[heard].sum(axis=1), int(unsure.any(axis=1).sum())
    line = f"{sizes.mean():.2f} classes in a set on average, {int((sizes == 0).sum()):,} sets are empty"
    if own.sure is None:  # a measurement replaces what the method expects of itself
        line += f"; the method expects {own.confidence[heard].mean():.1%} of the sets to be wholly right"
    rest = f"in {n:,} tasks some class is less than 90 % sure, either way" if n else "every class is at least 90 % sure"
    return [line, rest]


def show(result: Result) -> tuple[str, list[Table]]:
    """Classes, and the least certain tasks."""
    own = result.estimate
    assert isinstance(own, SetPosterior)
    counts = own.member.sum(axis=0)
    order = np.argsort(-counts, kind="stable")[:30]
    names = own.classes.to_list()
    rows = [[str(names[j]), f"{own.rate[j]:.3f}", f"{counts[j]:,}"] for j in order]
    least = result.to_table().sort("confidence").head(5).select("task", "labels", "confidence", "n_labels")
    doubtful = [[str(t), str(s), f"{c:.3f}", str(n)] for t, s, c, n in least.iter_rows()]
    return outlook(result), [
        Table("Classes", ["class", "rate", "tasks"], rows),
        Table("Least certain tasks", ["task", "labels", "confidence", "answers"], doubtful),
    ]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
    """Rows for the table of sizes, tables, and advice."""
    equal = facts["equal_pairs"]
    rows = [
        ["classes", f"{facts['classes']:,}"],
        ["classes in an answer", f"{facts['classes_per_answer']:.2f}, at most {facts['largest_answer']:,}"],
        ["empty answers", f"{facts['empty_answers']:,}"],
        ["offered", "all classes" if facts["offered"] is None else f"{facts['offered']:.1f} classes on average"],
        ["two answers to a task are equal", "–" if equal is None else f"{equal:.1%}"],
    ]
    counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
    total = max(facts["annotations"], 1)
    table = [[str(name), f"{n:,}", f"{n / total:.1%}"] for name, n in counts[:limit]]
    if len(counts) > limit:
        table.append([f"… {len(counts) - limit:,} more", "", ""])
    advice = []
    if facts["largest_answer"] <= 1:
        advice.append("no answer names two classes; if only one may be true, --kind classes is the better reading")
    return rows, [Table("Classes", ["class", "answers that name it", "share"], table)], advice
