"""CrowdTagger: fit on features of tokens and what spans a crowd marked, then tag new sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...kinds.spans.answers import Spans
from ...maths.spans.chain import viterbi
from ..direct import DirectEstimator
from ..estimator import not_fitted
from ..feeding.crowd import Rows
from ..feeding.data import CrowdData, FeatureError
from ..pairs.crowd import item_rows
from ..training.sweep import sweep_answers
from .crowd import PerToken, Sentences, SequenceCrowd, SequenceData

F8 = npt.NDArray[np.float64]
_HOME = "crowdwise.learn.methods.spans.crowd_layer"


class CrowdTagger(DirectEstimator):
    """A net that tags tokens, trained on the spans that a crowd marked.

    `net`: "linear", "mlp", any Module with one output a tag (`tags_`), or a function (input shape, tags) -> Module.
    `method`: "crowd_layer", a matrix for every worker, or "majority", the net alone. Spans count tokens; who answered
    for a sentence has said of each of its tokens what it is. Decoding never emits what is no tagging: inside of a span
    that has not begun.

    >>> import numpy as np
    >>> from crowdwise import span_votes
    >>> x = [np.eye(3)[[0, 1, 2, 0]]] * 8
    >>> votes = span_votes(np.repeat(np.arange(8), 2), ["ann", "bob"] * 8, [[[1, 3, "PER"]]] * 16)
    >>> fitted = CrowdTagger("linear", epochs=60, lr=0.1, validation=0).fit(x, votes)
    >>> fitted.predict([np.eye(3)[[1, 2, 2]]])[0].tolist()
    ['B-PER', 'I-PER', 'I-PER']
    """

    takes = "spans"
    methods: ClassVar[Mapping[str, str]] = {
        "crowd_layer": f"{_HOME}:SequenceLayer",
        "majority": f"{_HOME}:MajorityTags",
    }

    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Self:
        """Learn from a list X of arrays [token, features] and votes y of spans over tokens; X follows `tasks`, by
        default y.tasks."""
        votes = self._asked(y, Spans)
        sentences = Sentences.of(X)
        _, place = item_rows(tasks, votes.tasks, len(sentences))
        self.names_ = [str(tag) for tag in votes.answers.tags]
        if not self.names_:
            raise FeatureError("nobody marked any span; there is nothing to learn from")
        crowd = SequenceCrowd.of(votes, place, sentences)
        self._remember(votes)
        self._train(sentences, crowd)
        self.agreement_ = self._agreement(sentences, crowd)
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

    def predict_spans(self, X: Any) -> list[list[tuple[int, int, str]]]:
        """The spans of every sentence: start, end (exclusive) in tokens, tag."""
        sentences = self._checked(X)
        found: list[list[tuple[int, int, str]]] = []
        for path in sentences.cut(self._states(sentences)):
            first = np.flatnonzero(path % 2 == 1)
            ends = [next((i for i in range(at + 1, len(path)) if path[i] != path[at] + 1), len(path)) for at in first]
            found.append([(int(a), int(b), self.names_[int(path[a]) // 2]) for a, b in zip(first, ends, strict=True)])
        return found

    def score(self, X: Any, y: Any) -> float:
        """Share of the tokens whose tag is y, the truth: a list of tags a sentence."""
        said = self.predict(X)
        if len(said) != len(y) or any(len(a) != len(b) for a, b in zip(said, y, strict=True)):
            raise FeatureError("y must hold one true tag a token, for every sentence of X")
        return float(np.mean(np.concatenate(said) == np.concatenate([np.asarray(each, dtype=str) for each in y])))

    def worker_table(self) -> pl.DataFrame:
        """worker, n_labels (sentences), agreement (share of tokens tagged as by the net), found (the same of tokens
        that the net has in a span)."""
        if not hasattr(self, "agreement_"):
            raise not_fitted("CrowdTagger")
        return self._worker_table({name: torch.tensor(values) for name, values in self.agreement_.items()})

    def _agreement(self, sentences: Sentences, crowd: SequenceCrowd) -> dict[str, list[float]]:
        states = torch.from_numpy(self._states(sentences))
        truth = states[torch.from_numpy(sentences.offsets)[crowd.task] + crowd.label[:, 0]]
        right, marked = (crowd.label[:, 1] == truth).double(), (truth > 0).double()
        return {
            "agreement": self._share(right, torch.ones_like(right), crowd),
            "found": self._share(right, marked, crowd),
        }

    def _share(self, right: Tensor, among: Tensor, crowd: SequenceCrowd) -> list[float]:
        """By worker, one answer of the whole crowd's added."""
        weight, zeros = crowd.weight.double() * among, torch.zeros(crowd.n_workers, dtype=torch.float64)
        mean = (right * weight).sum() / weight.sum().clamp_min(1e-12)
        good, every = (zeros.index_add(0, crowd.worker, each) for each in (right * weight, weight))
        return [float(v) for v in (good + mean) / (every + 1)]

    def _checked(self, X: Any) -> Sentences:
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdTagger")
        sentences = Sentences.of(X)
        self._fits_net(tuple(sentences.x.shape[1:]))
        return sentences

    def _log_proba(self, sentences: Sentences) -> Tensor:
        data = SequenceData(sentences, SequenceCrowd.shape(len(self.workers_), self._n_outputs(), len(sentences)))
        return sweep_answers(self.model_, data, self._device()).cpu()

    def _states(self, sentences: Sentences) -> npt.NDArray[np.int64]:
        k = self._n_outputs()
        score = self._log_proba(sentences).double().numpy()
        return viterbi(sentences.units, score, np.zeros(k), np.zeros((k, k)), len(self.names_))

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"names": self.names_, "agreement": self.agreement_}

    def _recall(self, facts: Mapping[str, Any]) -> Rows:
        self.names_ = [str(name) for name in facts["names"]]
        self.agreement_ = {str(name): [float(v) for v in values] for name, values in facts["agreement"].items()}
        return SequenceCrowd.shape(len(self.workers_), self._n_outputs())

    names_: list[str]
    agreement_: dict[str, list[float]]
