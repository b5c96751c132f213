"""crowdwise demo: a placeholder until the crowd is there."""

from __future__ import annotations


def demo() -> None:
    """A simulated crowd over scikit-learn's digits, start to finish."""
