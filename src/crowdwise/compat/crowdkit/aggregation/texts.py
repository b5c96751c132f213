"""crowd-kit's aggregators of texts: ROVER, TextRASA and TextHRRASA."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ....kinds.texts.maths import Runs, voted_words
from .base import select_columns
from .embeddings import HRRASA, RASA

COLUMNS = ("task", "worker", "text")


@dataclass(eq=False)
class ROVER:
    """Align texts word by word, in the order of the rows, and vote on every position.

    `tokenizer` splits a text, `detokenizer` joins words. Ties go to the longer word, then to the alphabetically later
    one.

    >>> import pandas as pd
    >>> data = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "text": ["a b c", "a x c", "a b c d"]})
    >>> ROVER(str.split, " ".join).fit_predict(data).to_dict()
    {1: 'a b c'}
    """

    tokenizer: Callable[[str], list[str]]
    detokenizer: Callable[[list[str]], str]
    silent: bool = True
    texts_: Any = field(init=False, repr=False)

    def fit(self, data: Any) -> ROVER:
        """Fit to `data` with task, worker, text."""
        rows = select_columns(data, COLUMNS).sort_values("task", kind="stable").reset_index(drop=True)
        task, names = pd.factorize(rows["task"], sort=True)
        parts = [list(self.tokenizer(text)) for text in rows["text"]]
        words = sorted({word for part in parts for word in part}, key=lambda word: (len(word), word))
        code = {word: i for i, word in enumerate(words)}
        size = np.array([len(part) for part in parts], dtype=np.int64)
        flat = np.array([code[word] for part in parts for word in part], dtype=np.int64)
        runs = Runs(np.concatenate([[0], np.cumsum(size)]).astype(np.int64), flat)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=len(names)))]).astype(np.int64)
        order = np.arange(len(parts))
        at, row, position, _ = voted_words(offsets, order, runs, np.ones(len(parts)), plain=True)
        chosen_words = [parts[r][p] for r, p in zip(row.tolist(), position.tolist(), strict=True)]
        ends = at.tolist()
        texts = [self.detokenizer([w for w in chosen_words[a:b] if w]) for a, b in itertools.pairwise(ends)]
        self.texts_ = pd.Series(texts, index=pd.Index(names, name="task"), name="agg_text")
        return self

    def fit_predict(self, data: Any) -> Any:
        """texts_ of the data."""
        return self.fit(data).texts_


class _Encoded:
    """Encodes texts by an `encoder` for an aggregator of embeddings, whose attributes are forwarded."""

    texts_: Any

    def __init__(self, encoder: Callable[[str], Any], inner: RASA) -> None:
        self.encoder, self._inner = encoder, inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_inner", "encoder"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __dir__(self) -> list[str]:
        """List also the attributes of the aggregator of embeddings."""
        return sorted({*super().__dir__(), *dir(self._inner)})

    def fit(self, data: Any, true_objects: Any = None) -> Any:
        """Fit to `data` with task, worker, text; `true_objects` is a Series of true texts by task."""
        self._inner.fit(self._data(data), self._known(true_objects))
        return self

    def fit_predict_scores(self, data: Any, true_objects: Any = None) -> Any:
        """Return the distances of all answers from their task's mean."""
        return self._inner.fit_predict_scores(self._data(data), self._known(true_objects))

    def fit_predict(self, data: Any, true_objects: Any = None) -> Any:
        """Return texts_, a Series by task."""
        chosen = self._inner.fit_predict(self._data(data), self._known(true_objects))
        self.texts_ = chosen["output"].rename("agg_text")
        return self.texts_

    def _data(self, data: Any) -> Any:
        frame = select_columns(data, COLUMNS).rename(columns={"text": "output"})
        # Each distinct text is encoded once; a missing one is left to the encoder.
        code, distinct = pd.factorize(frame["output"].to_numpy(dtype=object), use_na_sentinel=False)
        embeddings = [np.asarray(self.encoder(text)) for text in distinct]
        return frame.assign(embedding=[embeddings[c] for c in code.tolist()])

    def _known(self, true_objects: Any) -> Any:
        return None if true_objects is None else true_objects.apply(self.encoder)


class TextRASA(_Encoded):
    """RASA on the embeddings that `encoder` makes of texts."""

    def __init__(
        self, encoder: Callable[[str], Any], n_iter: int = 100, tol: float = 1e-5, alpha: float = 0.05
    ) -> None:
        super().__init__(encoder, RASA(n_iter, tol, alpha))


class TextHRRASA(_Encoded):
    """HRRASA on the embeddings that `encoder` makes of texts."""

    def __init__(
        self,
        encoder: Callable[[str], Any],
        n_iter: int = 100,
        tol: float = 1e-5,
        lambda_emb: float = 0.5,
        lambda_out: float = 0.5,
        alpha: float = 0.05,
        calculate_ranks: bool = False,
        output_similarity: Callable[[str, list[list[str]]], float] | None = None,
    ) -> None:
        inner = HRRASA(n_iter, tol, lambda_emb, lambda_out, alpha, calculate_ranks, output_similarity)
        super().__init__(encoder, inner)
