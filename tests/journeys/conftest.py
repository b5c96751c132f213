"""The command line in this process, as in tests/cli."""

from tests.cli.conftest import crowdwise_cli, fails

__all__ = ["crowdwise_cli", "fails"]
