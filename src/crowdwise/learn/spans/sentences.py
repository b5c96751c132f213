"""Sentences: features of tokens, and where the tokens stand: spans count tokens, or characters where that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor

from ...core.errors import DataError
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...maths.spans.rows import I8, starts
from ...maths.spans.units import Units, covered
from ..feeding.data import FeatureError, as_features
from ..probe import as_floats


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
