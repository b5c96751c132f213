"""One linear head per worker, applied to the tasks that they labelled and to no others."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..data.batch import CrowdBatch
from ..tables import WorkerTable


class WorkerHeads(nn.Module):
    """weight[worker, output, feature] and bias[worker, output], as tables of their own."""

    def __init__(self, weight: Tensor, bias: Tensor, *, sparse: bool | None = None) -> None:
        super().__init__()
        self.weight, self.bias = WorkerTable(weight, sparse=sparse), WorkerTable(bias, sparse=sparse)

    def forward(self, features: Tensor, batch: CrowdBatch) -> Tensor:
        """The output of the head of each label's worker for its task: A, output; features[B, feature]."""
        workers_present, at = batch.present
        buckets = _buckets(torch.bincount(at, minlength=len(workers_present)), at)
        # Heads are gathered once, in the order of the buckets, so that their gradient is not a sum over buckets.
        order = workers_present[torch.cat([workers for workers, _ in buckets])] if buckets else workers_present
        sizes = [len(workers) for workers, _ in buckets]
        weights, biases = (torch.split(table.rows(order), sizes) for table in (self.weight, self.bias))
        label_features = features.index_select(0, batch.row)
        parts, places = [], []
        for (_, slots), weight, bias in zip(buckets, weights, biases, strict=True):
            # slots[P, c]: labels of workers with c/2 < count <= c labels; the last is repeated to fill the row.
            outputs = torch.baddbmm(bias[:, None], label_features[slots], weight.transpose(1, 2))
            first = torch.ones_like(slots, dtype=torch.bool)
            first[:, 1:] = slots[:, 1:] != slots[:, :-1]
            parts.append(outputs[first])
            places.append(slots[first])
        if not parts:
            return features.new_zeros(0, *self.bias.shape)
        back = torch.argsort(torch.cat(places))
        return torch.cat(parts).index_select(0, back)


def _buckets(count: Tensor, at: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Groups of workers with similar numbers of labels, and their labels as rectangles, at most half of them padding.

    A loop over workers would be slow and one rectangle wasteful, because one worker may have most of the labels.
    """
    order = torch.argsort(at, stable=True)  # labels by worker
    end = torch.cumsum(count, 0)
    buckets = []
    size = 1
    while bool((count > size // 2).any()):
        workers = ((count > size // 2) & (count <= size)).nonzero().squeeze(1)
        if len(workers):
            step = torch.arange(size, device=at.device)
            last = end[workers] - 1
            slots = torch.minimum((end - count)[workers][:, None] + step, last[:, None])
            buckets.append((workers, order[slots]))
        size *= 2
    return buckets
