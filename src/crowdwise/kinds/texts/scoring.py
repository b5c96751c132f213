"""Evaluation of texts (word and character error rates, GLEU, exact matches), and descriptions of votes and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.describe import common
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import check_estimates, scored_tasks
from ...evaluation.scores import Scores, Table
from ...evaluation.statement import outlook
from ...stats.bootstrap import resampled_intervals
from .answers import Texts, letter_runs, word_runs
from .estimate import TextEstimate, TextWorkers
from .fitting import text_truth
from .maths import edit_counts, gleu

# Display names of the scores, in display order.
SCORES = {
    "wer": "word error rate",
    "cer": "character error rate",
    "gleu": "GLEU",
    "exact": "exact matches",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class TextEvaluation(Scores):
    """Scores of texts over the tasks with a known truth, ignoring case, hyphens and (except in GLEU) punctuation.

    - `wer`, `cer`: word and character edits relative to the length of the truth, pooled over tasks
    - `gleu`: mean GLEU over tasks
    - `exact`: share of texts with the same words as the truth
    """

    NAMES: ClassVar[Mapping[str, str]] = SCORES
    FLAT: ClassVar[bool] = True

    def headline(self) -> dict[str, float]:
        """Return the share of right words (one minus the word error rate), and GLEU."""
        return {"words_right": 1 - self.wer, "gleu": self.gleu}


def evaluate(
    result: Result | pl.DataFrame, truth: Any, *, fit_gold: pl.Series | None = None, resamples: int = 0, seed: int = 0
) -> TextEvaluation:
    """Score a result, or a table with the columns task, output, against the true texts.

    The arguments are those of `evaluation.evaluate.evaluate`; `fit_gold` are the tasks that were gold in the fit.
    """
    tasks, outputs = _estimated_texts(result)
    table = text_truth(truth)
    scored = scored_tasks(tasks, table["task"], fit_gold, "a text")
    n = len(scored)
    estimated = outputs.gather(scored.estimate).fill_null("").to_list()
    terms = _terms(estimated, table["output"].gather(scored.truth).to_list())
    return TextEvaluation(
        n=n,
        scores={key: float(value) for key, value in _ratios(terms.sum(axis=0), n).items()},
        intervals=resampled_intervals(n, resamples, seed, lambda times: _ratios(times @ terms, n)),
        **scored.left_out,
    )


def _terms(estimated: list[str], true: list[str]) -> F8:
    """terms[task]: word edits, words, letter edits, letters, GLEU, exact match."""
    n = len(estimated)
    i, j = np.arange(n), n + np.arange(n)
    words, letters, marks = (
        word_runs(estimated + true),
        letter_runs(estimated + true),
        word_runs(estimated + true, marks=True),
    )
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


def _estimated_texts(result: Result | pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    if isinstance(result, Result):
        estimate = result.estimate
        assert isinstance(estimate, TextEstimate)
        return result.tasks, pl.Series("output", estimate.outputs, dtype=pl.String)
    name = next((column for column in ("output", "label", "text") if column in result.columns), "output")
    check_estimates(result, name)
    return result["task"], result[name].cast(pl.String)


# ----------------------------------------------------------------
# Descriptions of votes and results.

Row = list[str]
# Texts with a lower confidence are reported as doubtful.
DOUBTFUL = 0.6


def describe(votes: Votes[Texts]) -> dict[str, Any]:
    """Describe votes: the common facts plus the number of different texts and their lengths."""
    size = votes.answers.word_runs.size[votes.answers.text]
    used = len(np.unique(votes.answers.text))
    words = {
        "min": int(size.min()) if len(size) else 0,
        "median": float(np.median(size)) if len(size) else 0.0,
        "max": int(size.max(initial=0)),
    }
    return {**common(votes), "different_texts": used, "words": words, "texts_without_words": int((size == 0).sum())}


def sentences(votes: Votes[Any], result: Result) -> list[str]:  # noqa: ARG001
    """Describe how many texts are doubtful."""
    estimate = result.estimate
    assert isinstance(estimate, TextEstimate)
    answered = result.labels_per_task > 0
    n_doubtful = int((estimate.sure[answered] < DOUBTFUL).sum())
    return [f"{n_doubtful:,} of {int(answered.sum()):,} texts are doubtful and need review"]


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """Return a header and rows of the workers closest to and farthest from the others."""
    summary = result.worker_summary
    assert isinstance(summary, TextWorkers)
    active = np.flatnonzero(result.labels_per_worker > 0)
    order = active[np.argsort(summary.error[active], kind="stable")]
    shown = order if len(order) <= 2 * limit else np.concatenate([order[:limit], order[-limit:]])
    names = result.workers.gather(shown.tolist()).to_list()
    rows = [
        [str(name), f"{result.labels_per_worker[w]:,}", f"{summary.error[w]:.3f}", f"{summary.off[w]:.3f}",
         f"{summary.weight[w]:.3g}"]
        for name, w in zip(names, shown, strict=True)
    ]  # fmt: skip
    if len(shown) < len(order):
        rows.insert(limit, ["…", "", "", "", ""])
    return ["worker", "answers", "from the others", "from the estimate", "weight"], rows


def show(result: Result) -> tuple[str, list[Table]]:
    """Return the summary and a table of the least certain texts."""
    estimate = result.estimate
    assert isinstance(estimate, TextEstimate)
    table = result.to_table().sort("confidence").head(5)
    rows = [[str(t), s if len(s) <= 60 else f"{s[:59]}…", f"{c:.3f}", str(n)] for t, s, c, n in table.iter_rows()]
    return outlook(result), [Table("Least certain tasks", ["task", "text", "confidence", "answers"], rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Return rows, tables and advice for `crowdwise inspect`."""
    words = facts["words"]
    rows = [
        ["different texts", f"{facts['different_texts']:,}"],
        ["words in a text", f"{words['min']:,} to {words['max']:,}, median {words['median']:g}"],
        ["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"],
    ]
    advice = []
    if facts["texts_without_words"]:
        advice.append(f"{facts['texts_without_words']:,} answers contain no words, only punctuation")
    if facts["different_texts"] <= 20 < facts["annotations"]:
        advice.append("there are only a few different texts: are they classes (--kind classes)?")
    return rows, [], advice
