"""The sources, parsed once."""

from __future__ import annotations

import pytest

from .packages import graph, modules, tree


@pytest.fixture(scope="session", autouse=True)
def _parsed():
    """Before the first test, so that no test has to pay for it."""
    for path in modules():
        tree(path)
    graph()
