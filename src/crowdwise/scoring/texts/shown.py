"""Texts for people: what a fit comes to, its workers, what is in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.texts.estimate import TextEstimate, TextWorkers
from ..outlook import outlook
from ..scored import Table

Row = list[str]
# Below this a text deserves another look.
DOUBTFUL = 0.6


def sentences(votes: Votes[Any], result: Result) -> list[str]:  # noqa: ARG001
    """How sure the texts are, and how many are in doubt."""
    estimate = result.estimate
    assert isinstance(estimate, TextEstimate)
    heard = result.labels_per_task > 0
    doubt = int((estimate.sure[heard] < DOUBTFUL).sum())
    return [f"{doubt:,} of {int(heard.sum()):,} texts are so much in doubt that they need a look"]


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """The nearest to the others and the farthest, those without answers left out."""
    picture = result.picture
    assert isinstance(picture, TextWorkers)
    heard = np.flatnonzero(result.labels_per_worker > 0)
    order = heard[np.argsort(picture.error[heard], kind="stable")]
    some = order if len(order) <= 2 * limit else np.concatenate([order[:limit], order[-limit:]])
    names = result.workers.gather(some.tolist()).to_list()
    rows = [
        [str(name), f"{result.labels_per_worker[w]:,}", f"{picture.error[w]:.3f}", f"{picture.off[w]:.3f}",
         f"{picture.weight[w]:.3g}"]
        for name, w in zip(names, some, strict=True)
    ]  # fmt: skip
    if len(some) < len(order):
        rows.insert(limit, ["…", "", "", "", ""])
    return ["worker", "answers", "from the others", "from the estimate", "weight"], rows


def show(result: Result) -> tuple[str, list[Table]]:
    """The texts that are least sure."""
    estimate = result.estimate
    assert isinstance(estimate, TextEstimate)
    table = result.to_table().sort("confidence").head(5)
    rows = [[str(t), s if len(s) <= 60 else f"{s[:59]}…", f"{c:.3f}", str(n)] for t, s, c, n in table.iter_rows()]
    return outlook(result), [Table("Least certain tasks", ["task", "text", "confidence", "answers"], rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    words = facts["words"]
    rows = [
        ["different texts", f"{facts['different_texts']:,}"],
        ["words in a text", f"{words['min']:,} to {words['max']:,}, median {words['median']:g}"],
        ["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    advice = []
    if facts["texts_without_words"]:
        advice.append(f"{facts['texts_without_words']:,} answers hold no word, only marks")
    if facts["different_texts"] <= 20 < facts["annotations"]:
        advice.append("there are few different texts: are they classes (--kind classes)?")
    return rows, [], advice
