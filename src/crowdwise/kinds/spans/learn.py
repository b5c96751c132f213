"""Sentences: features of tokens, and where the tokens stand: spans count tokens, or characters where that is known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...core.errors import CrowdwiseWarning, DataError, ParameterError
from ...core.params import NonNegative, Positive, Share
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...learn.data.batch import CrowdBatch
from ...learn.data.crowd import Crowd, Rows
from ...learn.data.dataset import CrowdData, FeatureError, as_features
from ...learn.data.folder import read_with
from ...learn.direct import AnswerMethod, DirectEstimator
from ...learn.estimator import not_fitted
from ...learn.method import Defaults, Output
from ...learn.pairs import item_rows
from ...learn.probe import as_floats, evaluating
from ...learn.simplex import diagonal_matrix, rows_to_one
from ...learn.tables import WorkerTable
from ...learn.training.sweep import ROWS, sweep_answers
from ..classes.learn.tables import ConfusionTable, annotations_of
from ..classes.methods.confusion.hierarchical import Hierarchical
from .answers import Spans
from .estimate import SpanEstimate
from .fitting import estimate_of, layer, of_path, picture_of
from .maths import F8, I8, Units, cells, covered, nested, ranges, starts, viterbi


@dataclass(frozen=True, eq=False)
class Sentences:
    """x[token, ...] of all sentences, those of sentence s at offsets[s] .. offsets[s + 1], each at start .. end of its
    text: in characters where `by_characters`, else in tokens."""

    x: Tensor
    offsets: I8
    start: I8
    end: I8
    by_characters: bool = False

    @classmethod
    def of(cls, given: Any, places: Any = None) -> Self:
        """From a list of arrays [token, d], one a sentence; `places` is a list of arrays [token, 2], start and end of
        every token in characters."""
        x, count = _flat(given, "X must be a list of arrays [token, features], one a sentence")
        found = as_features(x)
        assert isinstance(found, Tensor)
        offsets = starts(count)
        if places is None:
            start = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
            return cls(as_floats(found), offsets, start, start + 1)
        at, many = _flat(places, "places must be a list of arrays [token, 2], one a sentence")
        if at.shape[1:] != (2,) or not np.array_equal(count, many):
            raise FeatureError("places must have start and end of every token of X")
        start, end = at.T.astype(np.int64)
        same = np.repeat(np.arange(len(count)), count)
        bad = (start < 0) | (end <= start)
        bad[1:] |= (start[1:] < end[:-1]) & (same[1:] == same[:-1])
        if bad.any():
            n = int(same[int(np.flatnonzero(bad)[0])])
            raise FeatureError(f"the tokens of sentence {n} are empty, overlap or are not in the order of the text")
        return cls(as_floats(found), offsets, start, end, True)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def units(self) -> Units:
        """Every token as a unit of its sentence."""
        return Units(self.offsets, self.start, self.end)

    def cut(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """values[token, ...] sentence by sentence."""
        return np.split(values, self.offsets[1:-1])

    def refuse_spans_beyond(self, votes: Votes[Spans], task: I8) -> None:
        """One line where a span marks no token of its sentence; task[row] is the sentence of each row of the votes."""
        rows, count = votes.answers.rows, np.diff(self.offsets)
        of = task[rows.row]
        if self.by_characters:
            first, after = covered(rows, task, self.units)
            safe = np.minimum(first, max(len(self.start) - 1, 0))
            beyond = (
                (after <= first) | (self.start[safe] >= rows.end) | (self.end[np.maximum(after, 1) - 1] <= rows.start)
            )
        else:
            beyond = rows.end > count[of]
        if not beyond.any():
            return
        at = int(np.flatnonzero(beyond)[0])
        name = votes.tasks[int(votes.task[rows.row[at]])]
        if self.by_characters:
            raise DataError(
                f"a span from {rows.start[at]} to {rows.end[at]} marks no token of its text (task {name!r})"
            )
        raise DataError(
            f"a span ends at token {int(rows.end[at])} in a sentence of {int(count[of[at]])} tokens (task {name!r}); "
            "spans must count tokens, from 0; if they count characters, say where the tokens stand (places=, or start "
            "and end in the file of features)"
        )


def _flat(given: Any, wanted: str) -> tuple[npt.NDArray[Any], I8]:
    """Arrays [token, ...] of every sentence one after the other, and how many tokens each has."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not len(given):
        raise FeatureError(wanted)
    try:
        parts = [np.asarray(each) for each in given]
        if len({each.shape[1:] for each in parts}) > 1 or parts[0].ndim != 2:
            raise ValueError(f"sentence 0 has shape {parts[0].shape}")
        flat = np.concatenate(parts)
    except ValueError as error:
        raise FeatureError(f"{wanted}, all with the same columns ({error})") from None
    return flat, np.array([len(each) for each in parts], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SequenceCrowd(Rows):
    """Labels of the tokens of `n_tasks` sentences, sorted by sentence: label[row] is the token's place, its state."""

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
        """One number a state."""
        return self.n_states

    @classmethod
    def of(cls, votes: Votes[Spans], place: I8, sentences: Sentences) -> Self:
        """Who answered for a sentence has said of each of its tokens what it is; place[task] is its row of X."""
        rows, task, units = votes.answers.rows, place[votes.task], sentences.units
        sentences.refuse_spans_beyond(votes, task)
        found = cells(rows, task, units)
        of = task[found.row]
        order = np.argsort(of, kind="stable")
        row, unit = found.row[order], found.unit[order]
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        label = np.stack([unit - sentences.offsets[of[order]], found.label[order]], axis=1)
        return cls(
            len(sentences), votes.n_workers, 1 + 2 * len(votes.answers.tags),
            torch.from_numpy(of[order].astype(np.int64)), torch.from_numpy(votes.worker[row].astype(np.int64)),
            torch.from_numpy(label.astype(np.int64)), torch.from_numpy(weight[row].astype(np.float32)),
            torch.from_numpy(np.searchsorted(of[order], np.arange(len(sentences) + 1))),
        )  # fmt: skip

    @classmethod
    def shape(cls, n_workers: int, n_states: int, n_tasks: int = 0) -> Self:
        """A crowd that has said nothing."""
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n_tasks + 1, dtype=torch.int64)
        return cls(
            n_tasks, n_workers, n_states, none, none, torch.empty(0, 2, dtype=torch.int64), torch.empty(0), offset
        )


class SequenceData(CrowdData):
    """Sentences and their crowd: a batch holds x[sentence, token, features and a last column, 1 where a token is]."""

    x: Tensor

    def __init__(self, sentences: Sentences, crowd: SequenceCrowd) -> None:
        self.sentences, self.x, self.crowd = sentences, sentences.x, crowd
        self.task_weight = torch.ones(crowd.n_tasks)
        self.offsets = torch.from_numpy(sentences.offsets)

    def row_shape(self) -> tuple[int, ...]:
        """The shape of one token."""
        return tuple(self.x.shape[1:])

    def take(self, rows: Tensor) -> Tensor:
        """These sentences, padded to the longest."""
        begin, count = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        step = torch.arange(int(count.max()) if len(count) else 0)
        real = step < count[:, None]
        out = self.x.new_zeros(*real.shape, self.x.shape[1] + 1)
        out[..., :-1][real] = self.x[(begin[:, None] + step)[real]]
        out[..., -1] = real.to(out.dtype)
        return out


class PerToken(nn.Module):
    """A net asked about every token that is one: x[B, T, d + 1] to tokens, states. Padding never reaches it.

    A net with an attribute `sentences = True` is given x[B, T, d] and mask[B, T], and says B, T, states.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """What the net says of the tokens, sentence after sentence."""
        real, tokens = x[..., -1] > 0, x[..., :-1]
        found: Tensor = (
            self.net(tokens, real)[real] if getattr(self.net, "sentences", False) else self.net(tokens[real])
        )
        return found


class TagMethod(AnswerMethod):
    """A method for tags of tokens; `out` holds the tokens of all sentences of the batch, one after the other."""

    def wanted(self) -> str:
        """One output a tag."""
        return f"there are {self.n_outputs} tags (outside, and begin and inside of each)"

    def answer(self, out: Output) -> Tensor:
        """log p(tag | x): tokens, tags."""
        return out.log_proba

    def token_of(self, batch: CrowdBatch) -> Tensor:
        """For each label its token among those of the batch."""
        count = (batch.x[..., -1] > 0).sum(1)
        return (torch.cumsum(count, 0) - count).index_select(0, batch.row) + batch.label[:, 0]

    def confusion(self) -> Tensor | None:
        """Confusion matrices worker, true, observed, where the method has them."""
        return None

    def forecast(self, out: Output, batch: CrowdBatch) -> Tensor:
        """log p(tag | x, labels): tokens, tags; without confusions the net's own.

        A worker unseen in training, or of a code beyond the training's, is the crowd's mean worker.
        """
        own = self.confusion()
        if own is None:
            return out.log_proba
        heard = self.heard.to(own)
        share = heard / heard.sum().clamp_min(1e-12)
        mean = (share[:, :, None] * own).sum(0, keepdim=True) if bool(heard.sum() > 0) else own.mean(0, keepdim=True)
        every = torch.cat([torch.where(heard[:, :, None] > 0, own, mean), mean]).clamp_min(1e-12).log()
        said = every[batch.worker.clamp_max(self.n_workers), :, batch.label[:, 1]] * batch.weight[:, None]
        return torch.log_softmax(out.log_proba.index_add(0, self.token_of(batch), said.to(out.log_proba)), dim=1)


def prior_matrix(k: int, right: float) -> Tensor:
    """What is expected of a worker before they speak: `right` of their tags are, the others are all alike."""
    return diagonal_matrix(k, right + (1 - right) / k, (1 - right) / k)


def starting_confusions(crowd: SequenceCrowd, strength: float, right: float) -> Tensor:
    """Confusions by what the labels alone say of the tokens (`hierarchical`), with `strength` labels of every tag
    as expected: worker, true, observed."""
    k = crowd.n_states
    expected = strength * prior_matrix(k, right) + 1e-2
    if not len(crowd):  # a shape: the weights come from a file
        return rows_to_one(expected.expand(crowd.n_workers, k, k))
    tokens = as_tokens(crowd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)  # it is a start, settled or not
        found = Hierarchical().fit(annotations_of(tokens))
    return rows_to_one(tokens.counts(torch.from_numpy(found.posterior.copy()).float()) + expected)


def as_tokens(crowd: SequenceCrowd) -> Crowd:
    """Every token that somebody labelled as a task of its own."""
    wide = int(crowd.label[:, 0].max()) + 1
    keys, task = torch.unique(crowd.task * wide + crowd.label[:, 0], return_inverse=True)
    order = torch.argsort(task, stable=True)
    offset = torch.searchsorted(task[order], torch.arange(len(keys) + 1))
    return Crowd(
        len(keys), crowd.n_workers, crowd.n_states, task[order], crowd.worker[order], crowd.label[order, 1],
        crowd.weight[order], offset,
    )  # fmt: skip


class MajorityTags(TagMethod):
    """SequenceCrowd: what was said of the tokens of sentences, a task a sentence; SequenceData: padded sentences.

    Tags are states of a chain: 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside one. What is missing and
    what is padding are two things: a label that nobody gave has no row, a token that is none has a 0 in the last
    column of x.

    What methods for tags of tokens share: which token a label is of, what labels tell of it, where matrices begin.

    The baseline for tags of tokens: the net alone, on each token's majority.

    minimise  mean over labelled tokens of the cross-entropy to the tag that leads, tags that lead together sharing

    The net alone, trained on the tag that leads among each token's labels.
    """

    name = "majority_tags"
    defaults = Defaults(epochs=50, batch_size=32, lr=1e-3)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """As if everybody were right."""
        return out.log_proba.index_select(0, self.token_of(batch)).gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Every labelled token counts once."""
        token, k = self.token_of(batch), self.n_outputs
        votes = batch.weight.new_zeros(len(out.logits) * k).index_add(0, token * k + batch.label[:, 1], batch.weight)
        votes = votes.view(-1, k)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        likely = (lead * out.log_proba).sum(1) / lead.sum(1).clamp_min(1e-12)
        many = votes.sum(1).clamp_min(1e-12)
        return {"cross_entropy": -batch.mean_over_labels((likely / many).index_select(0, token))}


class SequenceConfusion(TagMethod):
    """Confusion matrices on a tagger: what a worker says of a token depends on its tag, the same at every token.

        p(label of worker w at token t) = sum_k f_k(x_t) A_w[k, label]
        minimise  mean over labels of -log p(label)  -  the log density of the matrices' Dirichlet priors

    The matrices begin at what the labels alone say of the workers (`hierarchical` on single tokens), with `strength`
    labels of every tag as a worker who is `right` would give them; the same pull stays on in training. From the
    identity, as in `sequence_layer` with start="eye", nothing tells a tag from one that some workers swap it for,
    and net and matrices may settle on the wrong one together; thin crowds need the pull, since there the labels
    alone may end up swapped too. Rodrigues & Pereira 2018, arXiv:1709.01779, section 5.3, as probabilities.

    `strength` labels of every tag are expected of every worker before they speak, a share `right` of them right.
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
        self.table = ConfusionTable(starting_confusions(crowd, strength, right).log(), form="softmax", sparse=sparse)
        self.register_buffer("expected", strength * prior_matrix(crowd.n_states, right), persistent=False)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Through the worker's matrix."""
        found, inverse = batch.present
        columns = self.table.log_of(found)[inverse, :, batch.label[:, 1]]
        return torch.logsumexp(out.log_proba.index_select(0, self.token_of(batch)) + columns, dim=1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The labels' likelihood and the matrices' prior, of which each label carries its share."""
        found, inverse = batch.present
        density = (self.expected * self.table.log_of(found)).sum((1, 2)).index_select(0, inverse)
        heard = self.heard[:, 0].index_select(0, batch.worker).clamp_min(1e-12)
        return {
            "likelihood": -batch.mean_over_labels(self.said(out, batch)),
            "prior": -batch.mean_over_labels(density / heard),
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


class SequenceLayer(TagMethod):
    """Crowd Layer for sequences: one matrix for every worker on the net's probabilities, the same at every token.

        p(label of worker w at token t) = softmax(W_wᵀ f(x_t))
        minimise  mean over labels of -log p(label)

    The paper begins at the identity. The softmax of probabilities is then nearly flat (.40 on the right one of five
    tags), so little holds a tag to its place, and where workers swap two tags net and matrices may swap them too. By
    default W begins at the logs of what the labels alone say of the workers, as in `sequence_confusion`. Rodrigues &
    Pereira 2018, arXiv:1709.01779, section 4.2 and 5.3.

    `start="labels"` begins at log confusions (`strength`, `right`: see sequence_confusion), "eye" at `scale` ×
    identity, as the paper does.
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

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Through the worker's matrix."""
        found, inverse = batch.present
        proba = out.log_proba.exp().index_select(0, self.token_of(batch))
        matrix = self.table.rows(found).index_select(0, inverse)
        scores = torch.log_softmax(torch.einsum("ak,akl->al", proba, matrix), dim=1)
        return scores.gather(1, batch.label[:, 1:]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels; tokens without labels and padding are not among them."""
        return {"cross_entropy": -batch.mean_over_labels(self.said(out, batch))}

    def confusion(self) -> Tensor:
        """Derived confusions: the layer's answer to a net that is sure of a tag."""
        return torch.softmax(self.table.all(), dim=2)


def read_tokens(path: str | Path) -> dict[str, Any]:
    """X, a list of arrays [token, features]; tasks, their names; places, start and end of every token, or None.

    An .npz holds `task` and `x` with a row a token, and `start` and `end` where spans count characters; a .parquet the
    same as columns.
    """
    tasks, x, extra = read_with(path, ("start", "end"))
    name = Path(path).name
    if tasks is None:
        raise DataError(f"{name}: features of tokens must say which task each is of; give .npz or .parquet with `task`")
    if x.ndim != 2:
        raise DataError(f"{name}: a token needs a row of numbers, got shape {x.shape[1:]} each")
    if len(extra) == 1:
        raise DataError(f"{name} has {next(iter(extra))} of the tokens alone; give start and end, or neither")
    first = np.concatenate([[0], np.flatnonzero((tasks != tasks.shift(1)).fill_null(True).to_numpy()[1:]) + 1])
    names = tasks.gather(first)
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise DataError(f"{name}: the tokens of task {quote(twice.unique(maintain_order=True))} do not stand together")
    places = np.stack([extra["start"], extra["end"]], axis=1) if extra else None
    return {
        "X": np.split(x, first[1:]),
        "tasks": pl.Series("task", names),
        "places": None if places is None else np.split(places, first[1:]),
    }


TAGGER_F8 = npt.NDArray[np.float64]


class CrowdTagger(DirectEstimator):
    """Features of tokens from files: a row a token, those of a task one after the other in the order of its text.

    CrowdTagger: fit on features of tokens and what spans a crowd marked, then tag new sentences.

    A net that tags tokens, trained on the spans that a crowd marked.

    `net`: "linear", "mlp", any Module with one output a tag (`tags_`), or a function (input shape, tags) -> Module.
    `method`: "sequence_layer", the Crowd Layer, "sequence_confusion", a confusion matrix for every worker, or
    "majority_tags", the net alone. Spans count tokens, or characters with `places`; who answered for a sentence has
    said of each of its tokens what it is. Decoding never emits what is no tagging: inside of a span that has not
    begun.

    >>> import numpy as np
    >>> from crowdwise import span_votes
    >>> x = [np.eye(3)[[0, 1, 2, 0]]] * 8
    >>> votes = span_votes(np.repeat(np.arange(8), 2), ["ann", "bob"] * 8, [[[1, 3, "PER"]]] * 16)
    >>> fitted = CrowdTagger("linear", epochs=60, lr=0.1, validation=0).fit(x, votes)
    >>> fitted.predict([np.eye(3)[[1, 2, 2]]])[0].tolist()
    ['B-PER', 'I-PER', 'I-PER']
    """

    takes, what, usual = "spans", "tagger", "sequence_layer"

    def fit(self, X: Any, y: Any, *, tasks: Any = None, places: Any = None) -> Self:
        """Learn from a list X of arrays [token, features] and votes y of spans; X follows `tasks`, by default y.tasks.

        Spans count tokens, or with `places`, a list of arrays [token, 2] with start and end of every token, characters.
        """
        votes = self._asked(y, Spans)
        sentences = Sentences.of(X, places)
        self.tasks_, place = item_rows(tasks, votes.tasks, len(sentences))
        self.names_ = [str(tag) for tag in votes.answers.tags]
        if not self.names_:
            raise FeatureError("nobody marked any span; there is nothing to learn from")
        crowd = SequenceCrowd.of(votes, place, sentences)
        warn_of_nested(votes)
        self.workers_ = votes.workers
        self._train(sentences, crowd)
        self.result_ = outcome(self, votes, sentences, place, self._log_proba(sentences, crowd).double().numpy())
        return self

    @property
    def tags_(self) -> npt.NDArray[Any]:
        """The tags in the order of the net's outputs: O, and B- and I- of each."""
        return np.array(["O", *(f"{at}-{name}" if name else at for name in self.names_ for at in "BI")])

    def _n_outputs(self) -> int:
        return 1 + 2 * len(self.names_)

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return SequenceData(x, crowd)

    def _criterion(self, data: CrowdData, held: Any) -> Any:
        assert isinstance(data, SequenceData)
        return self._judge(data.sentences, held)

    def rebuild_net(self, net: Any, n_outputs: int | None = None) -> nn.Module:
        """The net of one token, asked about all of a sentence."""
        return PerToken(super().rebuild_net(net, n_outputs))

    # ---------------------------------------------------------------- using it
    def predict_proba(self, X: Any) -> list[TAGGER_F8]:
        """p(tag | x) of every token, sentence by sentence: token, tag, in the order of `tags_`."""
        sentences = self._checked(X)
        return sentences.cut(self._log_proba(sentences).exp().double().numpy())

    def predict(self, X: Any) -> list[npt.NDArray[Any]]:  # type: ignore[override]
        """The likeliest tags of every sentence that are a tagging."""
        sentences = self._checked(X)
        return sentences.cut(self.tags_[self._states(sentences)])

    def predict_spans(self, X: Any, *, places: Any = None) -> list[list[tuple[int, int, str]]]:
        """The spans of every sentence: start, end (exclusive), tag; in tokens, or in characters with `places`."""
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
        """The spans of every sentence and how sure they are; with `votes`, by features and crowd together.

        `unknown_workers="average"` takes workers who were not there at the training for the crowd's mean worker.
        """
        sentences = self._checked(X, places)
        crowd = None if votes is None else self._new_crowd(votes, tasks, sentences, unknown_workers)
        return believed(self._log_proba(sentences, crowd).double().numpy(), sentences.units, self.names_)

    def score(self, X: Any, y: Any) -> float:
        """Share of the tokens whose tag is y, the truth: a list of tags a sentence."""
        said = self.predict(X)
        if len(said) != len(y) or any(len(a) != len(b) for a, b in zip(said, y, strict=True)):
            raise FeatureError("y must hold one true tag a token, for every sentence of X")
        return float(np.mean(np.concatenate(said) == np.concatenate([np.asarray(each, dtype=str) for each in y])))

    def _checked(self, X: Any, places: Any = None) -> Sentences:
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdTagger")
        sentences = Sentences.of(X, places)
        self._fits_net(tuple(sentences.x.shape[1:]))
        return sentences

    def _new_crowd(self, votes: Any, tasks: Any, sentences: Sentences, unknown: str) -> SequenceCrowd:
        """New votes in the codes of training; a stranger, where they are welcome, has a code beyond them."""
        if unknown not in ("error", "average"):
            raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown!r}")
        if not isinstance(votes, Votes) or not isinstance(votes.answers, Spans):
            raise FeatureError("votes must hold spans, as those of the training did")
        _, place = item_rows(tasks, votes.tasks, len(sentences))
        old, known = lookup(self.workers_, votes.workers.cast(self.workers_.dtype, strict=False))
        if not known.all() and unknown == "error":
            raise DataError(
                f"worker {quote(votes.workers.filter(pl.Series(~known)))} was not seen in training; "
                "unknown_workers='average' (--unknown-workers average) takes them for the crowd's mean worker"
            )
        said = votes.answers.tags.cast(pl.String)
        strange = said.filter(~said.is_in(self.names_))
        if len(strange):
            raise DataError(f"tag {quote(strange)} was not seen in training")
        votes = replace(votes, answers=votes.answers.with_tags(pl.Series("tag", self.names_)))
        crowd = SequenceCrowd.of(votes, place, sentences)
        code = torch.from_numpy(np.where(known, old, len(self.workers_)).astype(np.int64))
        return replace(crowd, worker=code[crowd.worker], n_workers=len(self.workers_) + 1)

    def _log_proba(self, sentences: Sentences, crowd: SequenceCrowd | None = None) -> Tensor:
        """log p(tag | x) of every token, or with a crowd log p(tag | x, labels)."""
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
        return {"names": self.names_}

    def _recall(self, facts: Mapping[str, Any]) -> Rows:
        self.names_ = [str(name) for name in facts["names"]]
        return SequenceCrowd.shape(len(self.workers_), self._n_outputs())

    names_: list[str]


# ----------------------------------------------------------------
# From what is believed of every token to spans, and what training on spans found as the Result of aggregation.


def tagging(log_proba: F8, units: Units) -> npt.NDArray[np.int64]:
    """The likeliest states of log_proba[token, state] that are a tagging."""
    k = log_proba.shape[1]
    return viterbi(units, log_proba, np.zeros(k), np.zeros((k, k)), k // 2)


def believed(log_proba: F8, units: Units, names: list[str]) -> SpanEstimate:
    """Spans with confidence of log_proba[token, state]."""
    judged = of_path(np.exp(log_proba), tagging(log_proba, units))
    return estimate_of(units, [judged], pl.Series("tag", names, dtype=pl.String), None)


def outcome(fitted: CrowdTagger, votes: Votes[Spans], sentences: Sentences, place: I8, log_proba: F8) -> Result:
    """The spans of the training's tasks by net and answers together (by the net alone where the method has no
    confusions), and the workers against them; place[task] is a task's row among the sentences."""
    count = np.diff(sentences.offsets)[place]
    pick = ranges(sentences.offsets[:-1][place], count)
    units = Units(starts(count), sentences.start[pick], sentences.end[pick])
    estimate = believed(log_proba[pick], units, fitted.names_)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate,
        picture=picture_of(votes, [layer(votes, units, None, None)], estimate),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={"best_epoch": fitted.history_.best_epoch or len(fitted.history_)},
        **fitted._course(),
    )


def warn_of_nested(votes: Votes[Spans]) -> None:
    """Say where spans overlap: a token has one tag."""
    n = int(nested(votes.answers.rows).sum())
    if n:
        warnings.warn(
            f"in {n:,} of {len(votes):,} answers spans of different tags overlap; a token has one tag, so the later "
            "span has it",
            CrowdwiseWarning,
            stacklevel=3,
        )
