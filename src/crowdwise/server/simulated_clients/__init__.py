"""rehearsal: a planted crowd drives the real API, so that policies can be compared before anybody is paid."""

from __future__ import annotations

from .compare import Course, compare
from .crowd import Planted, plant
from .drive import drive

__all__ = ["Course", "Planted", "compare", "drive", "plant"]
