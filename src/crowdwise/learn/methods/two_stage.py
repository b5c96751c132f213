"""Two stages: any aggregator's posterior as soft targets of the classifier.

    q = aggregator(labels), once;   f minimises -sum_i sum_k q_i(k) log f_k(x_i)

The baseline that costs nothing more than the aggregator. Fails where labels are few: features never help to judge the
workers, and with one label per task the aggregator has little to go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...aggregate import registry
from ...core.params import MethodName
from ..em import EMMethod
from ..feeding.crowd import Crowd
from ..method import Defaults
from ..simplex import rows_to_one
from ..tables import annotations_of


class TwoStage(EMMethod):
    """`aggregator` is any registered aggregator that needs no gold, `params` its parameters by name."""

    name = "two_stage"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor

    def __init__(
        self, crowd: Crowd, *, aggregator: MethodName = "hierarchical", params: Mapping[str, Any] | None = None
    ) -> None:
        method = registry.method(aggregator, **(params or {}))
        super().__init__(crowd)
        found: Tensor | None = None
        if len(crowd):  # without labels the weights come from a file
            result = method.fit(annotations_of(crowd))
            self.target = torch.from_numpy(result.posterior.copy()).float()
            found = None if result.confusion is None else torch.from_numpy(result.confusion.copy()).float()
        # An aggregator without confusions: the ones that its posterior implies.
        self.register_buffer("matrices", rows_to_one(crowd.counts(self.target) + 0.01) if found is None else found)

    def confusion(self) -> Tensor:
        """The aggregator's confusions."""
        return self.matrices
