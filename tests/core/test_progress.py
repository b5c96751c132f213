"""Progress of long calls: when it is shown, what it says, and that it changes no result."""

from __future__ import annotations

import sys
import threading
import types

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import progress

VOTES = cw.simulate.scenario("one_coin", tasks=60, workers=6, seed=1).annotations


@pytest.fixture
def written(monkeypatch):
    """What is written for someone who watches and has no patience; `seen` is set when a line appears."""
    lines, seen = [], threading.Event()

    def write(text):
        lines.append(text)
        if ": " in text:
            seen.set()

    monkeypatch.setenv(progress.VARIABLE, "1")
    monkeypatch.setattr(progress, "PATIENCE", 0.001)
    monkeypatch.setattr(progress, "PERIOD", 0.001)
    monkeypatch.setattr(progress, "_to_stderr", write)
    return types.SimpleNamespace(lines=lines, seen=seen)


def fit_until_seen(written, fit):
    """Fit with a callback that waits for the line, and return the result."""

    def callback(iteration, objective):
        if iteration >= 2:
            assert written.seen.wait(30)

    return fit(callback)


@pytest.mark.parametrize(
    "fit",
    [
        lambda callback: cw.DawidSkene().fit(VOTES, callback=callback),
        lambda callback: cw.fit(VOTES, "dawid_skene", callback=callback),
    ],
    ids=["method", "fit"],
)
def test_a_fit_shows_its_name_and_iteration_and_removes_its_line(written, fit):
    result = fit_until_seen(written, fit)
    assert any(line.startswith("\rdawid_skene: ") and "iteration" in line for line in written.lines)
    assert written.lines[-1] == "\r\033[K"
    assert not [thread for thread in threading.enumerate() if thread.name == "crowdwise-progress"]
    assert np.array_equal(result.posterior, cw.DawidSkene().fit(VOTES).posterior)


def test_a_failed_call_removes_its_line(written):
    def work():
        with progress.watching("work"):
            assert written.seen.wait(30)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work()
    assert written.lines[-1] == "\r\033[K"
    with progress.watching("next") as watch:
        assert watch is not None


def test_a_call_inside_another_has_no_line_of_its_own(written):
    with progress.watching("outer") as outer, progress.watching("inner") as inner:
        assert (outer.job, inner) == ("outer", None)
        progress.noting(inner, None)(3, -1.5)
        assert written.seen.wait(30)
        assert outer.text().endswith("iteration 3, objective -1.50")
    assert not any("inner" in line for line in written.lines)


def test_work_that_shows_its_own_progress_has_no_second_line(written):
    with progress.unwatched(), progress.watching("work") as watch:
        assert watch is None
    assert written.lines == []


@pytest.mark.parametrize(
    ("setting", "terminal", "shell", "shown"),
    [
        ("", False, None, False),
        ("", True, None, True),
        ("", False, "ZMQInteractiveShell", True),
        ("", False, "TerminalInteractiveShell", False),
        ("0", True, "ZMQInteractiveShell", False),
        ("1", False, None, True),
    ],
)
def test_only_those_who_watch_see_it(monkeypatch, setting, terminal, shell, shown):
    monkeypatch.setenv(progress.VARIABLE, setting)
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: terminal))
    module = types.SimpleNamespace(get_ipython=lambda: None if shell is None else type(shell, (), {})())
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert progress.is_watched() == shown


def test_nothing_is_written_where_nobody_watches(capfd, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    cw.DawidSkene().fit(VOTES)
    assert capfd.readouterr().err == ""
