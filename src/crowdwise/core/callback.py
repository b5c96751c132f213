"""The callback that watches a fit."""

from __future__ import annotations

from collections.abc import Callable

Callback = Callable[[int, float], None]
