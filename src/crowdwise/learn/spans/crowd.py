"""SequenceCrowd: what was said of the tokens of sentences, a task a sentence; SequenceData: padded sentences.

Tags are states of a chain: 0 outside, 1 + 2·tag where a span begins, 2 + 2·tag inside one. What is missing and what is
padding are two things: a label that nobody gave has no row, a token that is none has a 0 in the last column of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...maths.spans.rows import I8
from ...maths.spans.units import cells
from ..feeding.crowd import Rows
from ..feeding.data import CrowdData
from .sentences import Sentences


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
