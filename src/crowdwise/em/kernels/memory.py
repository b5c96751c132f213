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
    """`last` is overwritten by the next pass, `kept` is not; `under` and `kept_under` are their parameters."""

    last: F8 | None = None
    under: object = None
    kept: F8 | None = None
    kept_under: object = None
    held: dict[object, Any] = field(default_factory=dict)  # anything else, by whom it belongs to

    def room(self, shape: tuple[int, ...]) -> F8:
        """An array for the next posterior: fresh memory for each would cost a tenth of the pass."""
        if self.last is not None and self.last.shape == shape:
            return self.last
        return np.empty(shape)

    def leave(self, posterior: F8) -> None:
        """What a pass made; by whom, the one who ran it may add (`under`)."""
        self.last, self.under = posterior, None

    def take(self) -> F8:
        """What the last pass left, for good: later passes write elsewhere."""
        assert self.last is not None, "no pass has left a posterior"
        posterior, self.last, self.under = self.last, None, None
        return posterior

    def recall(self, params: object) -> F8 | None:
        """The posterior under these very parameters, where it is still here; it is yours, and forgotten here."""
        if self.last is not None and self.under is params:
            return self.take()
        if self.kept is None or self.kept_under is not params:
            return None
        posterior, self.kept, self.kept_under = self.kept, None, None
        return posterior

    def keep(self, params: object, posterior: F8) -> None:
        """Hold this posterior until it is asked for, or another is kept."""
        self.kept, self.kept_under = posterior, params
