"""The settings of tests/conftest.py, also where these tests run alone."""

from tests.conftest import pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems"]
