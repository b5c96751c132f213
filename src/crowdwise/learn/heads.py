"""One linear head per worker, applied to the tasks that he labelled and to no others."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .batch import CrowdBatch
from .tables import WorkerTable


class WorkerHeads(nn.Module):
    """weight[worker, output, feature] and bias[worker, output]; gradients of large tables are sparse."""

    def __init__(self, weight: Tensor, bias: Tensor, *, sparse: bool | None = None) -> None:
        super().__init__()
        self.weight, self.bias = WorkerTable(weight, sparse=sparse), WorkerTable(bias, sparse=sparse)

    def forward(self, features: Tensor, batch: CrowdBatch) -> Tensor:
        """What the head of each label's worker says of its task: A, output; features[B, feature]."""
        found, at = batch.present
        weight, bias = self.weight.rows(found), self.bias.rows(found)
        given = features.index_select(0, batch.row)
        parts, places = [], []
        for workers, slots in _buckets(torch.bincount(at, minlength=len(found)), at):
            # slots[P, c]: labels of workers with c/2 < count <= c labels; the last is repeated to fill the row.
            said = torch.baddbmm(bias[workers][:, None], given[slots], weight[workers].transpose(1, 2))
            first = torch.ones_like(slots, dtype=torch.bool)
            first[:, 1:] = slots[:, 1:] != slots[:, :-1]
            parts.append(said[first])
            places.append(slots[first])
        if not parts:
            return bias.new_zeros(0, bias.shape[1])
        back = torch.argsort(torch.cat(places))
        return torch.cat(parts).index_select(0, back)


def _buckets(count: Tensor, at: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Workers with similarly many labels, and their labels as a rectangle: at most half of it is filling.

    A loop over workers would be slow and a rectangle for all of them wasteful: one worker may have most of the labels.
    """
    order = torch.argsort(at, stable=True)  # labels by worker
    end = torch.cumsum(count, 0)
    found = []
    size = 1
    while bool((count > size // 2).any()):
        workers = ((count > size // 2) & (count <= size)).nonzero().squeeze(1)
        if len(workers):
            step = torch.arange(size, device=at.device)
            last = end[workers] - 1
            slots = torch.minimum((end - count)[workers][:, None] + step, last[:, None])
            found.append((workers, order[slots]))
        size *= 2
    return found
