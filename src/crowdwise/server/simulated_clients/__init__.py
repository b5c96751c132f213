"""Simulated clients: a simulated crowd answers through the real API, to compare policies before paying workers."""

from __future__ import annotations

from .compare import PolicyOutcome, compare
from .crowd import SimulatedCrowd, plant
from .drive import drive

__all__ = ["PolicyOutcome", "SimulatedCrowd", "compare", "drive", "plant"]
