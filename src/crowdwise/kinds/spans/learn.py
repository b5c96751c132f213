"""Taggers trained on features of tokens and crowd spans.

Spans count tokens, or characters if the positions of the tokens are known.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...core.arrays import F8, I8
from ...core.errors import CrowdwiseWarning, DataError
from ...core.params import NonNegative, Positive, Share
from ...core.result import Result
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...learn.answers import AnswerMethod, HeldOutAnswers
from ...learn.data.batch import CrowdBatch
from ...learn.data.crowd import AnswerRows, Crowd
from ...learn.data.dataset import CrowdData, FeatureError, as_features
from ...learn.data.folder import read_with
from ...learn.fitting import CrowdEstimator
from ...learn.method import Defaults, Output
from ...learn.pairs import item_rows
from ...learn.probe import as_floats, evaluating
from ...learn.simplex import diagonal_matrix, rows_to_one
from ...learn.tables import WorkerTable
from ...learn.training.loop import Criterion
from ...learn.training.sweep import ROWS, sweep_answers
from ...stats.ragged import ranges, starts
from ..classes.learn.tables import ConfusionLogits, annotations_of
from ..classes.methods.confusion.hierarchical import Hierarchical
from .answers import Spans
from .estimate import SpanEstimate
from .fitting import estimate_of, from_path, span_layer, summarize_workers
from .maths import TextUnits, cells, covered_units, has_overlapping_tags, viterbi


@dataclass(frozen=True, eq=False)
class Sentences:
    """Features of the tokens of sentences.

    Args:
        x: x[token, ...], one sentence after the other.
        offsets: The tokens of sentence s are offsets[s] .. offsets[s + 1].
        start: First position of each token in its text.
        end: Position after the last one.
        by_characters: Whether positions count characters; otherwise they count tokens.
    """

    x: Tensor
    offsets: I8
    start: I8
    end: I8
    by_characters: bool = False

    @classmethod
    def of(cls, X: Any, places: Any = None) -> Self:
        """Return sentences from a list of arrays [token, d].

        `places` is a list of arrays [token, 2] with start and end of each token in characters.
        """
        x, count = _flat(X, "X must be a list of arrays [token, features], one per sentence")
        features = as_features(x)
        assert isinstance(features, Tensor)
        offsets = starts(count)
        if places is None:
            start = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
            return cls(as_floats(features), offsets, start, start + 1)
        at, n_places = _flat(places, "places must be a list of arrays [token, 2], one per sentence")
        if at.shape[1:] != (2,) or not np.array_equal(count, n_places):
            raise FeatureError("places must have start and end of each token of X")
        start, end = at.T.astype(np.int64)
        sentence = np.repeat(np.arange(len(count)), count)
        bad = (start < 0) | (end <= start)
        bad[1:] |= (start[1:] < end[:-1]) & (sentence[1:] == sentence[:-1])
        if bad.any():
            n = int(sentence[int(np.flatnonzero(bad)[0])])
            raise FeatureError(f"the tokens of sentence {n} are empty, overlap or are not in text order")
        return cls(as_floats(features), offsets, start, end, True)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def units(self) -> TextUnits:
        """Tokens as units of the sentences."""
        return TextUnits(self.offsets, self.start, self.end)

    def cut(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Split values[token, ...] by sentence."""
        return np.split(values, self.offsets[1:-1])

    def refuse_spans_beyond(self, votes: Votes[Spans], task: I8) -> None:
        """Raise a DataError if a span covers no token of its sentence; task[row] is the sentence of each vote."""
        rows, count = votes.answers.rows, np.diff(self.offsets)
        sentence = task[rows.row]
        if self.by_characters:
            first, after = covered_units(rows, task, self.units)
            first_token = np.minimum(first, max(len(self.start) - 1, 0))
            beyond = (
                (after <= first)
                | (self.start[first_token] >= rows.end)
                | (self.end[np.maximum(after, 1) - 1] <= rows.start)
            )
        else:
            beyond = rows.end > count[sentence]
        if not beyond.any():
            return
        at = int(np.flatnonzero(beyond)[0])
        name = votes.tasks[int(votes.task[rows.row[at]])]
        if self.by_characters:
            raise DataError(
                f"a span from {rows.start[at]} to {rows.end[at]} marks no token of its text (task {name!r})"
            )
        raise DataError(
            f"a span ends at token {int(rows.end[at])} in a sentence of {int(count[sentence[at]])} tokens (task "
            f"{name!r}); spans must count tokens, from 0; if they count characters, pass the positions of the tokens "
            "(places=, or start and end in the file of features)"
        )


def _flat(arrays: Any, message: str) -> tuple[npt.NDArray[Any], I8]:
    """Return the arrays [token, ...] of all sentences concatenated, and the number of tokens of each sentence."""
    if not isinstance(arrays, Sequence) or isinstance(arrays, str) or not len(arrays):
        raise FeatureError(message)
    try:
        parts = [np.asarray(part) for part in arrays]
        if len({part.shape[1:] for part in parts}) > 1 or parts[0].ndim != 2:
            raise ValueError(f"sentence 0 has shape {parts[0].shape}")
        flat = np.concatenate(parts)
    except ValueError as error:
        raise FeatureError(f"{message}, all with the same columns ({error})") from None
    return flat, np.array([len(part) for part in parts], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SequenceCrowd(AnswerRows):
    """Labels of the tokens of sentences, one task per sentence: label[row] is (position of the token, its state).

    States are 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside a span. Missing labels have no row.
    """

    n_tasks: int
    n_workers: int
    n_states: int
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    @property
    def n_outputs(self) -> int:
        """Number of outputs of the network: one per state."""
        return self.n_states

    @classmethod
    def of(cls, votes: Votes[Spans], place: I8, sentences: Sentences) -> Self:
        """Return the labels of all tokens of the answered sentences; place[task] is the sentence of each task."""
        rows, task, units = votes.answers.rows, place[votes.task], sentences.units
        sentences.refuse_spans_beyond(votes, task)
        unit_cells = cells(rows, task, units)
        sentence = task[unit_cells.row]
        order = np.argsort(sentence, kind="stable")
        row, unit = unit_cells.row[order], unit_cells.unit[order]
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        label = np.stack([unit - sentences.offsets[sentence[order]], unit_cells.label[order]], axis=1)
        return cls(
            len(sentences), votes.n_workers, 1 + 2 * len(votes.answers.tags),
            torch.from_numpy(sentence[order].astype(np.int64)), torch.from_numpy(votes.worker[row].astype(np.int64)),
            torch.from_numpy(label.astype(np.int64)), torch.from_numpy(weight[row].astype(np.float32)),
            torch.from_numpy(np.searchsorted(sentence[order], np.arange(len(sentences) + 1))),
        )  # fmt: skip

    @classmethod
    def shape(cls, n_workers: int, n_states: int, n_tasks: int = 0) -> Self:
        """Return a crowd without labels."""
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n_tasks + 1, dtype=torch.int64)
        return cls(
            n_tasks, n_workers, n_states, none, none, torch.empty(0, 2, dtype=torch.int64), torch.empty(0), offset
        )


class SequenceData(CrowdData):
    """Sentences with their labels. A batch is x[sentence, token, features + 1]; the last column is 0 for padding."""

    x: Tensor

    def __init__(self, sentences: Sentences, crowd: SequenceCrowd) -> None:
        self.sentences, self.x, self.crowd = sentences, sentences.x, crowd
        self.task_weight = torch.ones(crowd.n_tasks)
        self.offsets = torch.from_numpy(sentences.offsets)

    def row_shape(self) -> tuple[int, ...]:
        """Return the shape of one token."""
        return tuple(self.x.shape[1:])

    def take(self, rows: Tensor) -> Tensor:
        """Return these sentences, padded to the longest."""
        begin, count = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        step = torch.arange(int(count.max()) if len(count) else 0)
        is_token = step < count[:, None]
        out = self.x.new_zeros(*is_token.shape, self.x.shape[1] + 1)
        out[..., :-1][is_token] = self.x[(begin[:, None] + step)[is_token]]
        out[..., -1] = is_token.to(out.dtype)
        return out

    def read(self, groups: list[Tensor], *, clean: bool = False, seed: int = 0) -> Iterator[Tensor]:  # noqa: ARG002
        """Return each group of sentences."""
        return map(self.take, groups)


class PerToken(nn.Module):
    """Apply a network to each token of x[B, T, d + 1], without padding; returns [token, state].

    A network with an attribute `sentences = True` is called with x[B, T, d] and mask[B, T] instead and returns
    [B, T, state].
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of all tokens, sentence after sentence."""
        is_token, tokens = x[..., -1] > 0, x[..., :-1]
        logits: Tensor = (
            self.net(tokens, is_token)[is_token]
            if getattr(self.net, "sentences", False)
            else self.net(tokens[is_token])
        )
        return logits


class TagMethod(AnswerMethod):
    """Base class of the training methods for taggers; `out` has the tokens of all sentences of the batch."""

    def outputs_reason(self) -> str:
        """Explain the number of outputs: one per tag."""
        return f"there are {self.n_outputs} tags (outside, and begin and inside of each)"

    def answer(self, out: Output) -> Tensor:
        """Return log p(tag | x) as [token, tag]."""
        return out.log_proba

    def token_of(self, batch: CrowdBatch) -> Tensor:
        """Return the index of each label's token in the batch."""
        count: Tensor = (batch.x[..., -1] > 0).sum(1)
        return (torch.cumsum(count, 0) - count).index_select(0, batch.row) + batch.label[:, 0]

    def confusion(self) -> Tensor | None:
        """Return the confusion matrices [worker, true, observed], or None if the method has none."""
        return None

    def forecast(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Return log p(tag | x, labels) as [token, tag], or log p(tag | x) without confusion matrices.

        Workers without labels in training, and worker codes beyond those of training, get the crowd's mean confusion.
        """
        confusion = self.confusion()
        if confusion is None:
            return out.log_proba
        n_labels = self.label_weight.to(confusion)
        share = n_labels / n_labels.sum().clamp_min(1e-12)
        mean = (
            (share[:, :, None] * confusion).sum(0, keepdim=True)
            if bool(n_labels.sum() > 0)
            else confusion.mean(0, keepdim=True)
        )
        log_confusion = torch.cat([torch.where(n_labels[:, :, None] > 0, confusion, mean), mean]).clamp_min(1e-12).log()
        evidence = log_confusion[batch.worker.clamp_max(self.n_workers), :, batch.label[:, 1]] * batch.weight[:, None]
        return torch.log_softmax(out.log_proba.index_add(0, self.token_of(batch), evidence.to(out.log_proba)), dim=1)


def prior_matrix(k: int, right: float) -> Tensor:
    """Return the prior confusion matrix: a share `right` of the labels is correct, errors are uniform."""
    return diagonal_matrix(k, right + (1 - right) / k, (1 - right) / k)


def starting_confusions(crowd: SequenceCrowd, strength: float, right: float) -> Tensor:
    """Return initial confusion matrices [worker, true, observed] from the labels alone (`hierarchical`).

    The prior counts as `strength` labels of each tag.
    """
    k = crowd.n_states
    expected = strength * prior_matrix(k, right) + 1e-2
    if not len(crowd):  # no labels: the weights are loaded from a file
        return rows_to_one(expected.expand(crowd.n_workers, k, k))
    tokens = as_tokens(crowd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)  # convergence does not matter for initial values
        result = Hierarchical().fit(annotations_of(tokens))
    return rows_to_one(tokens.counts(torch.from_numpy(result.posterior.copy()).float()) + expected)


def as_tokens(crowd: SequenceCrowd) -> Crowd:
    """Return the labels with each labelled token as a separate task."""
    wide = int(crowd.label[:, 0].max()) + 1
    keys, task = torch.unique(crowd.task * wide + crowd.label[:, 0], return_inverse=True)
    order = torch.argsort(task, stable=True)
    offset = torch.searchsorted(task[order], torch.arange(len(keys) + 1))
    return Crowd(
        len(keys), crowd.n_workers, crowd.n_states, task[order], crowd.worker[order], crowd.label[order, 1],
        crowd.weight[order], offset,
    )  # fmt: skip


class MajorityTags(TagMethod):
    """The baseline for taggers: a network trained on the majority tag of each token.

    minimise  mean over labelled tokens of the cross-entropy to the majority tag; tied tags share the weight
    """

    name = "majority_tags"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Return the log-likelihood of the labels if all workers were correct."""
        return out.log_proba.index_select(0, self.token_of(batch)).gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Return the loss, in which each labelled token counts once."""
        token, k = self.token_of(batch), self.n_outputs
        votes = batch.weight.new_zeros(len(out.logits) * k).index_add(0, token * k + batch.label[:, 1], batch.weight)
        votes = votes.view(-1, k)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        likely = (lead * out.log_proba).sum(1) / lead.sum(1).clamp_min(1e-12)
        n_votes = votes.sum(1).clamp_min(1e-12)
        return {"cross_entropy": -batch.mean_over_labels((likely / n_votes).index_select(0, token))}


class SequenceConfusion(TagMethod):
    """A tagger with a confusion matrix per worker: labels depend on the true tag, in the same way at every token.

        p(label of worker w at token t) = sum_k f_k(x_t) A_w[k, label]
        minimise  mean over labels of -log p(label)  -  the log density of the matrices' Dirichlet priors

    The matrices start from an estimate by the labels alone (`hierarchical` on single tokens) with a prior that counts
    as `strength` labels of each tag, a share `right` of them correct; the prior also applies in training. If training
    started from the identity, as in `sequence_layer` with start="eye", tags that some workers swap could be swapped in
    the network and the matrices together. The prior is needed for small crowds, where the labels alone may lead to
    swapped tags too. Rodrigues & Pereira 2018, arXiv:1709.01779, section 5.3, as probabilities.
    """

    name = "sequence_confusion"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3, worker_lr=1e-2)
    expected: Tensor

    def __init__(
        self,
        crowd: SequenceCrowd,
        *,
        strength: NonNegative = 20.0,
        right: Share = 0.8,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.table = ConfusionLogits(starting_confusions(crowd, strength, right).log(), form="softmax", sparse=sparse)
        self.register_buffer("expected", strength * prior_matrix(crowd.n_states, right), persistent=False)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Return the log-likelihood of each label under its worker's matrix."""
        workers, inverse = batch.present
        columns = self.table.log_of(workers)[inverse, :, batch.label[:, 1]]
        return torch.logsumexp(out.log_proba.index_select(0, self.token_of(batch)) + columns, dim=1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Return the likelihood of the labels and the prior of the matrices, spread over the labels."""
        workers, inverse = batch.present
        density = (self.expected * self.table.log_of(workers)).sum((1, 2)).index_select(0, inverse)
        n_labels = self.label_weight[:, 0].index_select(0, batch.worker).clamp_min(1e-12)
        return {
            "likelihood": -batch.mean_over_labels(self.log_likelihood(out, batch)),
            "prior": -batch.mean_over_labels(density / n_labels),
        }

    def confusion(self) -> Tensor:
        """Return the confusion matrix of each worker."""
        return self.table.log_all().exp()


class SequenceLayer(TagMethod):
    """Crowd Layer for sequences: a matrix per worker on the probabilities of the network, the same at every token.

        p(label of worker w at token t) = softmax(W_wᵀ f(x_t))
        minimise  mean over labels of -log p(label)

    The paper starts from the identity. The softmax of probabilities is then nearly flat (.40 on the right one of five
    tags), so tags are only weakly identified, and if workers swap two tags, network and matrices may swap them too. By
    default W starts from the logarithms of confusion matrices estimated from the labels alone, as in
    `sequence_confusion`. Rodrigues & Pereira 2018, arXiv:1709.01779, sections 4.2 and 5.3.

    `start="labels"` starts from log confusion matrices (`strength`, `right`: see `sequence_confusion`), "eye" from
    `scale` × identity as in the paper.
    """

    name = "sequence_layer"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def __init__(
        self,
        crowd: SequenceCrowd,
        *,
        start: Literal["labels", "eye"] = "labels",
        strength: NonNegative = 20.0,
        right: Share = 0.8,
        scale: Positive = 1.0,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        k = crowd.n_states
        eye = (scale * torch.eye(k)).expand(crowd.n_workers, k, k)
        begin = eye if start == "eye" else starting_confusions(crowd, strength, right).log()
        self.table = WorkerTable(begin, sparse=sparse)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Return the log-likelihood of each label under its worker's matrix."""
        workers, inverse = batch.present
        proba = out.log_proba.exp().index_select(0, self.token_of(batch))
        matrix = self.table.rows(workers).index_select(0, inverse)
        scores = torch.log_softmax(torch.einsum("ak,akl->al", proba, matrix), dim=1)
        return scores.gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Return the cross-entropy of the labels."""
        return {"cross_entropy": -batch.mean_over_labels(self.log_likelihood(out, batch))}

    def confusion(self) -> Tensor:
        """Return derived confusion matrices: the output of the layer if the network is certain of a tag."""
        return torch.softmax(self.table.all(), dim=2)


def read_tokens(path: str | Path) -> dict[str, Any]:
    """Read features of tokens, with one row per token and the tokens of a task in text order.

    Args:
        path: An .npz file with `task` and `x`, and `start` and `end` if spans count characters; or a .parquet file with
            the same columns.

    Returns:
        X, a list of arrays [token, features]; tasks, their names; places, start and end of each token, or None.
    """
    tasks, x, extra = read_with(path, ("start", "end"))
    name = Path(path).name
    if tasks is None:
        raise DataError(f"{name} must name the task of each token; use .npz or .parquet with `task`")
    if x.ndim != 2:
        raise DataError(f"{name}: each token needs a row of numbers, got shape {x.shape[1:]}")
    if len(extra) == 1:
        raise DataError(f"{name} has only {next(iter(extra))} of the tokens; give start and end, or neither")
    first = np.concatenate([[0], np.flatnonzero((tasks != tasks.shift(1)).fill_null(True).to_numpy()[1:]) + 1])
    names = tasks.gather(first)
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise DataError(f"{name}: the tokens of task {quote(twice.unique(maintain_order=True))} are not consecutive")
    places = np.stack([extra["start"], extra["end"]], axis=1) if extra else None
    return {
        "X": np.split(x, first[1:]),
        "tasks": pl.Series("task", names),
        "places": None if places is None else np.split(places, first[1:]),
    }


class CrowdTagger(CrowdEstimator):
    """A network that tags tokens, trained on spans from a crowd.

    Spans count tokens, or characters with `places`. An answer labels all tokens of its sentence. Predictions are always
    valid taggings: a span never continues without having begun.

    Args:
        net: "linear", "mlp", any Module with one output per tag (`tags_`), or a function (input shape, tags) -> Module.
        method: "sequence_layer", the Crowd Layer; "sequence_confusion", a confusion matrix per worker; or
            "majority_tags", a network trained on the majority.

    Its other arguments are those of `TrainingOptions`.

    >>> import numpy as np
    >>> from crowdwise.kinds.spans import span_votes
    >>> x = [np.eye(3)[[0, 1, 2, 0]]] * 8
    >>> votes = span_votes(np.repeat(np.arange(8), 2), ["ann", "bob"] * 8, [[[1, 3, "PER"]]] * 16)
    >>> fitted = CrowdTagger("linear", epochs=60, lr=0.1, validation=0).fit(x, votes)
    >>> fitted.predict([np.eye(3)[[1, 2, 2]]])[0].tolist()
    ['B-PER', 'I-PER', 'I-PER']
    """

    takes, what, default_method = "spans", "tagger", "sequence_layer"

    def fit(self, X: Any, y: Any, *, tasks: Any = None, places: Any = None) -> Self:
        """Train on features of tokens and the spans of a crowd.

        Args:
            X: List of arrays [token, features], one per sentence.
            y: Votes of spans.
            tasks: Task of each sentence, by default `y.tasks`.
            places: List of arrays [token, 2] with start and end of each token, if spans count characters.

        Returns:
            The estimator.
        """
        votes = self._votes_of(y, Spans)
        sentences = Sentences.of(X, places)
        self.tasks_, place = item_rows(tasks, votes.tasks, len(sentences))
        self.names_: list[str] = [str(tag) for tag in votes.answers.tags]
        if not self.names_:
            raise FeatureError("the votes have no spans, so there is nothing to train on")
        crowd = SequenceCrowd.of(votes, place, sentences)
        warn_of_nested(votes)
        self.workers_ = votes.workers
        self._train(sentences, crowd)
        self.result_ = outcome(self, votes, sentences, place, self._log_proba(sentences, crowd).double().numpy())
        return self

    @property
    def tags_(self) -> npt.NDArray[Any]:
        """Tags in the order of the network's outputs: O, and B- and I- of each tag."""
        return np.array(["O", *(f"{at}-{name}" if name else at for name in self.names_ for at in "BI")])

    def _n_outputs(self) -> int:
        return 1 + 2 * len(self.names_)

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return SequenceData(x, crowd)

    def _criterion(self, data: CrowdData, held_out: Any) -> Criterion:
        assert isinstance(data, SequenceData)
        return HeldOutAnswers(self._data(data.sentences, held_out), self._device())

    def rebuild_net(self) -> nn.Module:
        """Return a new network of a single token, wrapped for sentences."""
        return PerToken(super().rebuild_net())

    # ---------------------------------------------------------------- using it
    def predict_proba(self, X: Any) -> list[F8]:
        """Return p(tag | x) as an array [token, tag] per sentence, in the order of `tags_`."""
        sentences = self._checked(X)
        return sentences.cut(self._log_proba(sentences).exp().double().numpy())

    def predict(self, X: Any) -> list[npt.NDArray[Any]]:  # type: ignore[override]
        """Return the most probable valid tags of each sentence."""
        sentences = self._checked(X)
        return sentences.cut(self.tags_[self._states(sentences)])

    def predict_spans(self, X: Any, *, places: Any = None) -> list[list[tuple[int, int, str]]]:
        """Return the spans of each sentence as (start, end, tag), in tokens or, with `places`, in characters."""
        return self.forecast(X, places=places).spans

    def forecast(
        self,
        X: Any,
        votes: Any = None,
        *,
        tasks: Any = None,
        places: Any = None,
        unknown_workers: Literal["error", "average"] = "error",
    ) -> SpanEstimate:
        """Predict the spans of each sentence with confidence, from features alone or from features and votes.

        Args:
            X: List of arrays [token, features], one per sentence.
            votes: Votes of spans on these sentences.
            tasks: Task of each sentence, by default `votes.tasks`.
            places: List of arrays [token, 2] with start and end of each token, if spans count characters.
            unknown_workers: "error", or "average" to give workers unseen in training the crowd's mean confusion matrix.

        Returns:
            The estimated spans.
        """
        sentences = self._checked(X, places)
        crowd = None if votes is None else self._new_crowd(votes, tasks, sentences, unknown_workers)
        return estimate_from(self._log_proba(sentences, crowd).double().numpy(), sentences.units, self.names_)

    def score(self, X: Any, y: Any) -> float:
        """Return the share of tokens whose predicted tag equals y, a list of true tags per sentence."""
        tags = self.predict(X)
        if len(tags) != len(y) or any(len(a) != len(b) for a, b in zip(tags, y, strict=True)):
            raise FeatureError("y must hold one true tag per token for each sentence of X")
        return float(np.mean(np.concatenate(tags) == np.concatenate([np.asarray(truth, dtype=str) for truth in y])))

    def _checked(self, X: Any, places: Any = None) -> Sentences:
        self._refuse_unfitted()
        sentences = Sentences.of(X, places)
        self._refuse_other_shape(tuple(sentences.x.shape[1:]))
        return sentences

    def _new_crowd(self, votes: Any, tasks: Any, sentences: Sentences, unknown_workers: str) -> SequenceCrowd:
        """Return new votes in the codes of training; unknown workers, if allowed, share one code beyond them."""
        if not isinstance(votes, Votes) or not isinstance(votes.answers, Spans):
            raise FeatureError("votes must hold spans, like the votes of the training")
        _, place = item_rows(tasks, votes.tasks, len(sentences))
        code = self._worker_codes(votes.workers, unknown_workers)
        tags = votes.answers.tags.cast(pl.String)
        unknown_tags = tags.filter(~tags.is_in(self.names_))
        if len(unknown_tags):
            raise DataError(f"tag {quote(unknown_tags)} was not seen in training")
        votes = replace(votes, answers=votes.answers.with_tags(pl.Series("tag", self.names_)))
        crowd = SequenceCrowd.of(votes, place, sentences)
        return replace(crowd, worker=code[crowd.worker], n_workers=len(self.workers_) + 1)

    def _log_proba(self, sentences: Sentences, crowd: SequenceCrowd | None = None) -> Tensor:
        """Return log p(tag | x) of each token or, with a crowd, log p(tag | x, labels)."""
        shape = SequenceCrowd.shape(len(self.workers_), self._n_outputs(), len(sentences))
        data = SequenceData(sentences, shape if crowd is None else crowd)
        if crowd is None:
            return sweep_answers(self.model_, data, self._device()).cpu()
        method = cast("TagMethod", self.model_.method)
        parts = [torch.empty(0, self._n_outputs())]
        with evaluating(self.model_):
            for piece in data.in_order(ROWS):
                batch = piece.to(self._device())
                parts.append(method.forecast(self.model_.output(batch.x), batch).float().cpu())
        return torch.cat(parts)

    def _states(self, sentences: Sentences) -> npt.NDArray[np.int64]:
        return tagging(self._log_proba(sentences).double().numpy(), sentences.units)

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"own": {"names": self.names_}}

    def _restore(self, facts: Mapping[str, Any]) -> AnswerRows:
        self.names_ = [str(name) for name in facts["own"]["names"]]
        return SequenceCrowd.shape(len(self.workers_), self._n_outputs())


# ----------------------------------------------------------------
# From tag probabilities to spans, and the result of the training.


def tagging(log_proba: F8, units: TextUnits) -> npt.NDArray[np.int64]:
    """Return the most probable valid states of log_proba[token, state]."""
    k = log_proba.shape[1]
    return viterbi(units, log_proba, np.zeros(k), np.zeros((k, k)), k // 2)


def estimate_from(log_proba: F8, units: TextUnits, names: list[str]) -> SpanEstimate:
    """Return the spans with confidence of log_proba[token, state]."""
    decoded = from_path(np.exp(log_proba), tagging(log_proba, units))
    return estimate_of(units, [decoded], pl.Series("tag", names, dtype=pl.String), None)


def outcome(fitted: CrowdTagger, votes: Votes[Spans], sentences: Sentences, place: I8, log_proba: F8) -> Result:
    """Return a result with the spans of the training tasks and the workers compared with them.

    The spans are estimated by network and answers together, or by the network alone if the method has no confusion
    matrices. place[task] is the sentence of each task.
    """
    count = np.diff(sentences.offsets)[place]
    pick = ranges(sentences.offsets[:-1][place], count)
    units = TextUnits(starts(count), sentences.start[pick], sentences.end[pick])
    estimate = estimate_from(log_proba[pick], units, fitted.names_)
    workers = summarize_workers(votes, [span_layer(votes, units, None, None)], estimate)
    return fitted._result(votes, estimate, workers)


def warn_of_nested(votes: Votes[Spans]) -> None:
    """Warn if spans of different tags overlap, since a token has one tag."""
    n = int(has_overlapping_tags(votes.answers.rows).sum())
    if n:
        warnings.warn(
            f"in {n:,} of {len(votes):,} answers spans of different tags overlap; a token has one tag, so the later "
            "span is used",
            CrowdwiseWarning,
            stacklevel=3,
        )
