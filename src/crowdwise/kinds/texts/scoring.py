"""How good are texts, given the truth: word and character error rates, GLEU, and how many are right to the word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.evaluate import ALL_GOLD, among
from ...evaluation.scores import Scored, Table
from ...evaluation.statement import outlook
from ...stats.bootstrap import central, times_drawn
from .answers import Texts, letter_runs, texts_of, word_runs
from .estimate import TextEstimate, TextWorkers
from .fitting import text_truth
from .maths import F8, edit_counts, gleu

# The scores as people call them, in the order in which they read them.
SCORES = {
    "wer": "word error rate",
    "cer": "character error rate",
    "gleu": "GLEU",
    "exact": "right to the word",
}
_BLOCK = 200


@dataclass(frozen=True, repr=False)
class TextEvaluation(Scored):
    """Scores over the tasks whose truth is known; case, punctuation and hyphens do not count, except in GLEU, where
    punctuation does.

    `wer` and `cer`: words (letters) to change over those of the truth, all tasks pooled; `gleu`: the mean over tasks;
    `exact`: the share of texts with the words of the truth. `intervals` holds the 95 % interval of each.
    """

    n: int
    wer: float
    cer: float
    gleu: float
    exact: float
    truths_without_labels: int = 0
    n_gold_left_out: int = 0
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        some = "; ".join(f"{name} {getattr(self, key):.4f}" for key, name in SCORES.items())
        return f"TextEvaluation({self.n:,} task{'s' * (self.n != 1)}: {some})"

    def headline(self) -> dict[str, float]:
        """Words right (one minus the word error rate), and GLEU."""
        return {"words_right": 1 - self.wer, "gleu": self.gleu}

    def rows(self) -> list[list[str]]:
        """Name, value and 95 % interval of every score, for people."""
        out = []
        for key, name in SCORES.items():
            between = self.intervals.get(key)
            shown = "–" if between is None else f"{between[0]:.4f} – {between[1]:.4f}"
            out.append([name, f"{getattr(self, key):.4f}", shown])
        return out

    def tables(self) -> list[Table]:
        """Nothing more to show."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def evaluate(
    found: Result | pl.DataFrame, truth: Any, *, told: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> TextEvaluation:
    """Score a Result, or a table task, output, against the truth."""
    tasks, outputs = _said(found)
    table = text_truth(truth)
    at, known = lookup(tasks, table["task"])
    if not known.any():
        raise DataError("none of the tasks in the truth has a text here; do the task ids match?")
    gone = known & among(table["task"], told)
    fair = np.flatnonzero(known & ~gone)
    if not len(fair):
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    mine = outputs.gather(at[fair].tolist()).fill_null("").to_list()
    theirs = table["output"].gather(fair.tolist()).to_list()
    terms = _terms(mine, theirs)
    scores = {key: float(value) for key, value in _ratios(terms.sum(axis=0), len(fair)).items()}
    return TextEvaluation(
        n=len(fair),
        truths_without_labels=int((~known).sum()),
        n_gold_left_out=int(gone.sum()),
        intervals=_intervals(terms, resamples, seed) if resamples else {},
        **scores,
    )


def _terms(mine: list[str], theirs: list[str]) -> F8:
    """terms[task]: words to change, words; letters to change, letters; GLEU; whether right."""
    n = len(mine)
    i, j = np.arange(n), n + np.arange(n)
    words, letters, marks = word_runs(mine + theirs), letter_runs(mine + theirs), word_runs(mine + theirs, marks=True)
    wrong = edit_counts(words, i, j)
    columns = [wrong, words.size[j], edit_counts(letters, i, j), letters.size[j], gleu(marks, i, j), wrong == 0]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def _ratios(total: F8, n: int) -> dict[str, F8]:
    c = np.moveaxis(np.asarray(total), -1, 0)
    return {
        "wer": c[0] / np.maximum(c[1], 1),
        "cer": c[2] / np.maximum(c[3], 1),
        "gleu": c[4] / n,
        "exact": c[5] / n,
    }


def _intervals(terms: F8, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    rng, n = np.random.default_rng(seed), len(terms)
    drawn: dict[str, list[F8]] = {}
    for lo in range(0, resamples, _BLOCK):
        times = times_drawn(min(_BLOCK, resamples - lo), n, rng)
        for key, value in _ratios(times @ terms, n).items():
            drawn.setdefault(key, []).append(value)
    return {key: central(np.concatenate(values), n, 0.95) for key, values in drawn.items()}


def _said(found: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    if isinstance(found, Result):
        estimate = found.estimate
        assert isinstance(estimate, TextEstimate)
        return found.tasks, pl.Series("output", estimate.outputs, dtype=pl.String)
    name = next((each for each in ("output", "label", "text") if each in found.columns), "output")
    for needed in ("task", name):
        if needed not in found.columns:
            raise DataError(f"the texts have no column {needed!r}; they have {', '.join(found.columns)}")
    if found["task"].is_duplicated().any():
        raise DataError(f"task {found['task'].filter(found['task'].is_duplicated())[0]!r} has two texts")
    return found["task"], found[name].cast(pl.String)


def said(votes: Any, result: Result) -> Texts:  # noqa: ARG001
    """The estimates as one answer a task."""
    return texts_of(_said(result)[1])


def known(votes: Any, gold: Any) -> tuple[Any, Texts]:
    """Codes of the known tasks, and their texts."""
    table = text_truth(gold)
    at, there = lookup(votes.tasks, table["task"])
    return at[there], texts_of(table["output"].filter(pl.Series(there)))


# ----------------------------------------------------------------
# Texts for people: what a fit comes to, its workers, what is in a file.

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
