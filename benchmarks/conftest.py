"""The settings and fixtures of the tests, also where these tests run alone."""

from tests.conftest import pytest_collection_modifyitems
from tests.server.conftest import database, postgres

__all__ = ["database", "postgres", "pytest_collection_modifyitems"]
