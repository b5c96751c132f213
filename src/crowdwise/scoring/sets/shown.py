"""Label sets for people: what a fit comes to, a saved result, what a file holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.sets.answers import Sets
from ...kinds.sets.estimate import SetPosterior
from ..outlook import outlook
from ..scored import Table

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
