"""crowdkit.postprocessing: workers whose answers tell nothing are left out."""

from __future__ import annotations

from .entropy_threshold import entropy_threshold

__all__ = ["entropy_threshold"]
