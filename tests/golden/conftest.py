"""Scores over the sets with independent truth, each fit made once and only when a test asks for it."""

from __future__ import annotations

import warnings
from functools import lru_cache

import pytest

import crowdwise as cw


class Scores(dict):
    """scores[method, set]: the evaluation of a method with its default parameters."""

    def __missing__(self, key):
        method, name = key
        data = _load(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
            self[key] = cw.evaluate(cw.method(method).fit(data.annotations), data.truth)
        return self[key]


@lru_cache(maxsize=4)
def _load(name):
    return cw.datasets.load(name)


@pytest.fixture(scope="session")
def scores():
    return Scores()
