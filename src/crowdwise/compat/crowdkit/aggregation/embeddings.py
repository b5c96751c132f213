"""crowd-kit's aggregators of answers with embeddings: ClosestToAverage, RASA and HRRASA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ....kinds.texts.answers import runs_of
from ....kinds.texts.kernels import squared_distances, weighted_means
from ....kinds.texts.maths import gleu, pairs_within
from .base import InputError, select_columns

F8 = npt.NDArray[np.float64]
# Lower bound of distances, so that a worker who is always at the mean has a finite weight.
LEAST = 1e-5
COLUMNS = ("task", "worker", "output", "embedding")


def cosine_distance(embedding: Any, average: Any) -> float:
    """Return 1 - the cosine; infinite if one of the two is zero."""
    size = float(np.linalg.norm(embedding) * np.linalg.norm(average))
    return float("inf") if size == 0 else 1 - float(np.dot(embedding, average)) / size


def _table(embeddings: list[Any]) -> F8:
    """Stack embeddings of one length."""
    if embeddings and all(type(e) is np.ndarray and e.ndim == 1 and e.shape == embeddings[0].shape for e in embeddings):
        return np.ascontiguousarray(np.concatenate(embeddings).reshape(len(embeddings), -1), dtype=np.float64)
    return np.array([np.asarray(e, dtype=np.float64).ravel() for e in embeddings]).reshape(len(embeddings), -1)


class EmbeddedAnswers:
    """Answers with embeddings as arrays, rows sorted by task (stably)."""

    def __init__(self, data: Any, true_embeddings: Any = None) -> None:
        frame = select_columns(data, COLUMNS)
        if true_embeddings is not None and not true_embeddings.index.is_unique:
            raise InputError("true_embeddings has a task twice; one true embedding a task is supported")
        self.frame = frame.sort_values("task", kind="stable").reset_index(drop=True)
        self.task, self.tasks = pd.factorize(self.frame["task"], sort=True)
        self.worker, self.workers = pd.factorize(self.frame["worker"])
        self.x: F8 = _table(list(self.frame["embedding"]))
        self.count = np.bincount(self.task, minlength=len(self.tasks))
        self.begin = np.concatenate([[0], np.cumsum(self.count)]).astype(np.int64)
        self.true_embeddings = {} if true_embeddings is None else dict(true_embeddings.items())

    def averages(self, weight: F8) -> F8:
        """Return weighted means by task; true embeddings replace them."""
        out = np.zeros((len(self.tasks), self.x.shape[1]))
        weighted_means(self.x, self.begin, weight, out)
        for i, name in enumerate(self.tasks) if self.true_embeddings else ():
            if name in self.true_embeddings:
                out[i] = np.asarray(self.true_embeddings[name], dtype=np.float64).ravel()
        return out

    def off(self, averages: F8) -> F8:
        """Return each row's squared distance from its task's mean."""
        out = np.empty(len(self.task))
        squared_distances(self.x, self.begin, averages, out)
        return out

    def cosines(self, averages: F8) -> F8:
        """Return 1 - the cosine of each row with its task's mean; infinite if one of the two is zero."""
        norm = np.sqrt(np.einsum("ed,ed->e", self.x, self.x))
        size = norm * np.sqrt(np.einsum("td,td->t", averages, averages))[self.task]
        dot = np.einsum("ed,ed->e", self.x, averages[self.task])
        return np.asarray(np.where(size > 0, 1 - dot / np.where(size > 0, size, 1.0), np.inf))

    def by_task(self, averages: F8) -> Any:
        """Return a Series of embeddings by task."""
        return pd.Series(list(averages), index=pd.Index(self.tasks, name="task"))


@dataclass(eq=False)
class ClosestToAverage:
    """Choose the answer of each task whose embedding is closest to their mean, by a `distance` of two embeddings.

    >>> import pandas as pd
    >>> data = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "output": ["x", "y", "z"],
    ...                      "embedding": [np.array([1.0]), np.array([2.0]), np.array([6.0])]})
    >>> ClosestToAverage(lambda a, b: abs(float(a[0] - b[0]))).fit_predict(data)["output"].to_dict()
    {1: 'y'}
    """

    distance: Callable[[Any, Any], float]
    embeddings_and_outputs_: Any = field(init=False, repr=False)
    scores_: Any = field(init=False, repr=False)

    def fit(self, data: Any, aggregated_embeddings: Any = None, true_embeddings: Any = None) -> ClosestToAverage:
        """Fit to `data` with task, worker, output, embedding."""
        rows = EmbeddedAnswers(data, true_embeddings)
        mean = rows.averages(np.ones(len(rows.task)))
        if aggregated_embeddings is not None:
            aligned = aggregated_embeddings.reindex(rows.tasks) if hasattr(aggregated_embeddings, "reindex") else None
            mean = _table(
                list(aligned) if aligned is not None else [aggregated_embeddings[name] for name in rows.tasks]
            )
        return self._choose(rows, mean)

    def _choose(self, rows: EmbeddedAnswers, mean: F8) -> ClosestToAverage:
        if self.distance is cosine_distance:
            score = rows.cosines(mean)
        else:
            pairs = zip(rows.frame["embedding"], rows.task, strict=True)
            score = np.array([self.distance(e, mean[t]) for e, t in pairs], dtype=np.float64)
        scores = rows.frame.assign(score=score)[["task", "output", "score", "embedding"]]
        # The first of the nearest of each task.
        best = np.sort(np.lexsort((np.arange(len(score)), score, rows.task))[rows.begin[:-1]])
        self.scores_ = scores.set_index("task")
        self.embeddings_and_outputs_ = scores.iloc[best][["task", "output", "embedding"]].set_index("task")
        return self

    def fit_predict_scores(self, data: Any, aggregated_embeddings: Any = None) -> Any:
        """scores_ of the data."""
        return self.fit(data, aggregated_embeddings).scores_

    def fit_predict(self, data: Any, aggregated_embeddings: Any = None) -> Any:
        """embeddings_and_outputs_ of the data."""
        return self.fit(data, aggregated_embeddings).embeddings_and_outputs_


@dataclass(eq=False)
class RASA:
    """Reliability-aware sequence aggregation.

    Workers are weighted by chi²(1 - alpha/2, answers) / their squared distances from the weighted means, iteratively;
    the answer closest to its task's mean (by cosine) is chosen.
    """

    n_iter: int = 100
    tol: float = 1e-9
    alpha: float = 0.05
    loss_history_: list[float] = field(init=False, default_factory=list, repr=False)
    skills_: Any = field(init=False, repr=False)
    prior_skills_: Any = field(init=False, repr=False)
    aggregated_embeddings_: Any = field(init=False, repr=False)
    _rows: EmbeddedAnswers = field(init=False, repr=False)
    scores_: Any = field(init=False, repr=False)
    embeddings_and_outputs_: Any = field(init=False, repr=False)

    def fit(self, data: Any, true_embeddings: Any = None) -> Any:
        """Fit to `data` with task, worker, output, embedding; `true_embeddings` is a Series by task."""
        self._rows = rows = EmbeddedAnswers(data, true_embeddings)
        self._fit(rows, self._local(rows))
        return self

    def _local(self, rows: EmbeddedAnswers) -> F8:
        """Return the weight of each answer by its similarity to the others of its task; here 1."""
        return np.ones(len(rows.task))

    def _fit(self, rows: EmbeddedAnswers, local: F8) -> None:
        from scipy.stats import chi2

        n = np.bincount(rows.worker, minlength=len(rows.workers))
        prior = chi2.isf(self.alpha / 2, n)
        skill, last, self.loss_history_ = np.ones(len(n)), None, []
        mean = rows.averages(skill[rows.worker] * local)
        for _ in range(self.n_iter):
            mean = rows.averages(skill[rows.worker] * local)
            distance = rows.off(mean) / local
            skill = prior / np.maximum(np.bincount(rows.worker, weights=distance, minlength=len(n)), LEAST)
            if last is not None:
                self.loss_history_.append(float(((mean - last) ** 2).sum() / (mean**2).sum()))
                if self.loss_history_[-1] < self.tol:
                    break
            last = mean
        index = pd.Index(rows.workers, name="worker")
        self.prior_skills_, self.skills_ = pd.Series(prior, index=index), pd.Series(skill, index=index)
        self.aggregated_embeddings_ = rows.by_task(mean)

    def _apply(self) -> Any:
        rows = self._rows
        chosen = ClosestToAverage(cosine_distance)._choose(rows, _table(list(self.aggregated_embeddings_)))
        self.scores_, self.embeddings_and_outputs_ = chosen.scores_, chosen.embeddings_and_outputs_
        return self

    def fit_predict_scores(self, data: Any, true_embeddings: Any = None) -> Any:
        """scores_ of the data."""
        return self.fit(data, true_embeddings)._apply().scores_

    def fit_predict(self, data: Any, true_embeddings: Any = None) -> Any:
        """embeddings_and_outputs_ of the data."""
        return self.fit(data, true_embeddings)._apply().embeddings_and_outputs_


@dataclass(eq=False, init=False)
class HRRASA(RASA):
    """RASA in which every answer is also weighted by its similarity to the others of its task.

    The similarity is `lambda_emb` times that of embeddings plus `lambda_out` times that of outputs (GLEU, or
    `output_similarity(a, [[words of b]])`). crowd-kit passes the second output without splitting it into words, so that
    its GLEU compares words with letters.
    """

    lambda_emb: float = 0.5
    lambda_out: float = 0.5
    calculate_ranks: bool = False
    output_similarity: Callable[[str, list[list[str]]], float] | None = None
    ranks_: Any = field(init=False, repr=False)

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-9,
        lambda_emb: float = 0.5,
        lambda_out: float = 0.5,
        alpha: float = 0.05,
        calculate_ranks: bool = False,
        output_similarity: Callable[[str, list[list[str]]], float] | None = None,
    ) -> None:
        super().__init__(n_iter, tol, alpha)
        self.lambda_emb, self.lambda_out = lambda_emb, lambda_out
        self.calculate_ranks, self.output_similarity = calculate_ranks, output_similarity

    def _local(self, rows: EmbeddedAnswers) -> F8:
        offsets = np.concatenate([[0], np.cumsum(rows.count)]).astype(np.int64)
        i, j = pairs_within(offsets)
        size = (rows.x**2).sum(axis=1)
        embedding_similarity = np.exp(
            -((rows.x[i] - rows.x[j]) ** 2).sum(axis=1) / np.maximum(size[i] * size[j], 1e-300)
        )
        texts = [str(text) for text in rows.frame["output"]]
        if self.output_similarity is None:
            text_similarity = gleu(runs_of([text.split() for text in texts]), i, j)
        else:
            pairs = zip(i.tolist(), j.tolist(), strict=True)
            text_similarity = np.array([self.output_similarity(texts[a], [texts[b].split()]) for a, b in pairs])
        similarity = np.bincount(
            i,
            weights=self.lambda_emb * embedding_similarity + self.lambda_out * text_similarity,
            minlength=len(texts),
        )
        is_single = rows.count[rows.task] < 2
        return np.asarray(np.where(is_single, 1.0, similarity / np.maximum(rows.count[rows.task] - 1, 1)))

    def fit(self, data: Any, true_embeddings: Any = None) -> Any:
        """Fit as RASA; with `calculate_ranks` also compute the table ranks_ of task, output, rank."""
        self._rows = rows = EmbeddedAnswers(data, true_embeddings)
        local = np.maximum(self._local(rows), 1e-12)
        self._fit(rows, local)
        if self.calculate_ranks:
            mean = np.stack(list(self.aggregated_embeddings_))[rows.task]
            distance = np.maximum(((rows.x - mean) ** 2).sum(axis=1), LEAST)
            norms = np.maximum((rows.x**2).sum(axis=1) * (mean**2).sum(axis=1), 1e-300)
            rank = self.skills_.to_numpy()[rows.worker] * np.exp(-distance / norms) + local
            self.ranks_ = rows.frame[["task", "output"]].assign(rank=rank)
        return self
