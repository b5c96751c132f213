"""What a shard remembers between passes: the posterior that the last one left, and one that was kept.

A posterior is known by the very parameters that it was made under. Forgetting is always allowed: whoever asks can make
it again from the parameters, so a driver that drops its shards after each pass gives the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]


@dataclass(eq=False)
class Memory:
    """Posteriors of a shard: `last` is overwritten by the next pass, `saved` is not; `..._params` made them."""

    last: F8 | None = None
    last_params: object = None
    saved: F8 | None = None
    saved_params: object = None
    cache: dict[object, Any] = field(default_factory=dict)  # other results, by the object that owns them

    def buffer(self, shape: tuple[int, ...]) -> F8:
        """An array for the next posterior: fresh memory for each would cost a tenth of the pass."""
        if self.last is not None and self.last.shape == shape:
            return self.last
        return np.empty(shape)

    def store(self, posterior: F8) -> None:
        """What a pass made; by whom, the one who ran it may add (`under`)."""
        self.last, self.last_params = posterior, None

    def take(self) -> F8:
        """What the last pass left, for good: later passes write elsewhere."""
        assert self.last is not None, "no pass has left a posterior"
        posterior, self.last, self.last_params = self.last, None, None
        return posterior

    def recall(self, params: object) -> F8 | None:
        """The posterior under these very parameters, where it is still here; it is yours, and forgotten here."""
        if self.last is not None and self.last_params is params:
            return self.take()
        if self.saved is None or self.saved_params is not params:
            return None
        posterior, self.saved, self.saved_params = self.saved, None, None
        return posterior

    def keep(self, params: object, posterior: F8) -> None:
        """Hold this posterior until it is asked for, or another is kept."""
        self.saved, self.saved_params = posterior, params
