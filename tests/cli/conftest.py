"""The command line in this process, with standard input."""

from __future__ import annotations

import io
import sys

import pytest


@pytest.fixture
def crowdwise_cli(capfd, monkeypatch):
    """Run the command line in this process: (exit code, stdout, stderr); `stdin` is what is piped into it."""

    def run(*arguments, stdin: bytes = b""):
        from crowdwise.cli import main

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return stop.value.code, out, err

    return run


@pytest.fixture
def fails(crowdwise_cli):
    """Run a command that must fail with one line on stderr that holds all the words (`this | and this`)."""

    def check(*arguments, words, stdin: bytes = b""):
        code, out, err = crowdwise_cli(*arguments, stdin=stdin)
        assert code == 2, err
        assert out == ""
        assert err.startswith("crowdwise: ")
        assert err.count("\n") == 1, err
        assert err.endswith("\n")
        assert "Traceback" not in err
        assert err.rstrip("\n").isprintable(), err
        for word in words.split(" | "):
            assert word in err, f"{word!r} is not in {err!r}"

    return check
