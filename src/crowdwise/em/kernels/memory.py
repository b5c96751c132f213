"""Cache of a shard between passes: the posterior of the last pass, and one that was saved.

A posterior is identified by the parameters object under which it was computed. It may be dropped at any time, because
it can be recomputed from the parameters: a driver that drops its shards after each pass gives the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import F8


@dataclass(eq=False)
class Memory:
    """Posteriors of a shard and their parameters: `last` is overwritten by the next pass, `saved` is not."""

    last: F8 | None = None
    last_params: object = None
    saved: F8 | None = None
    saved_params: object = None
    cache: dict[object, Any] = field(default_factory=dict)  # other results, by the object that computed them

    def buffer(self, shape: tuple[int, ...]) -> F8:
        """Return an array for the next posterior; a new one for each pass would cost a tenth of the pass."""
        if self.last is not None and self.last.shape == shape:
            return self.last
        return np.empty(shape)

    def store(self, posterior: F8) -> None:
        """Store the posterior of a pass; the caller sets `last_params`."""
        self.last, self.last_params = posterior, None

    def take(self) -> F8:
        """Return the posterior of the last pass; later passes do not overwrite it."""
        assert self.last is not None, "no pass has left a posterior"
        posterior, self.last, self.last_params = self.last, None, None
        return posterior

    def recall(self, params: object) -> F8 | None:
        """Remove and return the posterior under these parameters; None if it is not here."""
        if self.last is not None and self.last_params is params:
            return self.take()
        if self.saved is None or self.saved_params is not params:
            return None
        posterior, self.saved, self.saved_params = self.saved, None, None
        return posterior

    def keep(self, params: object, posterior: F8) -> None:
        """Save a posterior until it is recalled or another one is saved."""
        self.saved, self.saved_params = posterior, params
