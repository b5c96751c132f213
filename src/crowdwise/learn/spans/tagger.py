"""CrowdTagger: fit on features of tokens and what spans a crowd marked, then tag new sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...core.errors import DataError, ParameterError
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...kinds.spans.estimate import SpanEstimate
from ..direct import DirectEstimator
from ..estimator import not_fitted
from ..feeding.crowd import Rows
from ..feeding.data import CrowdData, FeatureError
from ..methods.spans.base import TagMethod
from ..pairs.crowd import item_rows
from ..probe import evaluating
from ..training.sweep import ROWS, sweep_answers
from .crowd import PerToken, SequenceCrowd, SequenceData
from .outcome import believed, outcome, tagging, warn_of_nested
from .sentences import Sentences

F8 = npt.NDArray[np.float64]


class CrowdTagger(DirectEstimator):
    """A net that tags tokens, trained on the spans that a crowd marked.

    `net`: "linear", "mlp", any Module with one output a tag (`tags_`), or a function (input shape, tags) -> Module.
    `method`: "sequence_layer", the Crowd Layer, "sequence_confusion", a confusion matrix for every worker, or
    "majority_tags", the net alone. Spans count tokens, or characters with `places`; who answered for a sentence has
    said of each of its tokens what it is. Decoding never emits what is no tagging: inside of a span that has not begun.

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
    def predict_proba(self, X: Any) -> list[F8]:
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
