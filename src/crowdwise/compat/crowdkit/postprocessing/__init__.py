"""crowdkit.postprocessing: removal of workers with uninformative answers."""

from __future__ import annotations

from .entropy_threshold import entropy_threshold

__all__ = ["entropy_threshold"]
