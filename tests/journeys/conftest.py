"""The command line in this process, for fixtures of a whole module."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

from tests.cli.conftest import crowdwise_cli, fails

__all__ = ["crowdwise_cli", "fails"]


@pytest.fixture(scope="session")
def commands():
    """Run a command: (exit code, stdout, stderr)."""

    def run(*arguments):
        from crowdwise.cli import main

        out, err = io.StringIO(), io.StringIO()
        code = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main([str(a) for a in arguments])
            except SystemExit as stop:
                code = stop.code or 0
        return code, out.getvalue(), err.getvalue()

    return run


@pytest.fixture(autouse=True)
def _own_methods():
    """The table of methods as before, after each test."""
    from crowdwise.core import method_registry

    before = dict(method_registry.cards())
    yield
    method_registry.cards().clear()
    method_registry.cards().update(before)
