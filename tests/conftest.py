"""Shared by all tests: the data folder, small random crowds, and quick checks."""

from __future__ import annotations

import os
from dataclasses import replace

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

import crowdwise as cw
from tests.data import ROOT, found_data

# Some methods refuse most small crowds (two classes only, shared tasks only): many examples are left out for them.
_patient = [hypothesis.HealthCheck.filter_too_much]
hypothesis.settings.register_profile(
    "crowdwise", deadline=None, max_examples=40, derandomize=True, suppress_health_check=_patient
)
hypothesis.settings.load_profile("crowdwise")


# What a folder or a file needs; `data` and single slow tests are marked where they stand.
MARKS = {
    "benchmarks/": ("slow",),
    "tests/client/": ("server",),
    "tests/cli/test_train": ("torch",),
    "tests/docs/test_pages.py": ("slow",),
    "tests/golden/test_learn": ("torch",),
    "tests/laws/test_answer_learners.py": ("torch",),
    "tests/journeys/": ("slow",),
    "tests/laws/": ("slow",),
    "tests/laws/test_learners.py": ("torch",),
    "tests/learn/": ("torch",),
    "tests/planted/": ("slow",),
    "tests/report/test_browser.py": ("browser",),
    "tests/server/": ("server",),
    "tests/server/pages/": ("browser",),
}


def pytest_configure():
    """Give torch one thread before it is imported.

    The tests run in as many processes as there are cores. Waiting threads of several processes take the cores from each
    other: the tests that train took five times the CPU time.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items):
    """Mark tests by what they need, and skip those of data sets that are not here."""
    skip = pytest.mark.skip(reason="the real data sets are not here: set CROWDWISE_DATA to their folder")
    no_data = found_data() is None
    for item in items:
        path = item.path.relative_to(ROOT).as_posix()
        marks = [mark for start, marks in MARKS.items() if path.startswith(start) for mark in marks]
        marks += ["torch"] if item.path.name in ("test_learn.py", "test_loss.py") else []
        for mark in marks:
            item.add_marker(mark)
        if no_data and "data" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _without_onednn(request):
    """Training in the tests uses torch's own kernels.

    oneDNN compiles its kernels at run time, which fails on some machines in a process that has run for long ("could not
    create a primitive"). The tests are about this package's arithmetic, whichever kernels multiply matrices.
    """
    if "torch" not in request.keywords:
        yield
        return
    mkldnn = pytest.importorskip("torch").backends.mkldnn
    before, mkldnn.enabled = mkldnn.enabled, False
    yield
    mkldnn.enabled = before


@pytest.fixture
def crowdwise_cli(capfd):
    """Run the command line in this process: (exit code, stdout, stderr)."""

    def run(*arguments, stdin: bytes | None = None):
        from crowdwise.cli import main

        capfd.readouterr()
        try:
            main([str(a) for a in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capfd.readouterr()
        return code, out, err

    return run


@st.composite
def crowds(draw, max_tasks=8, max_workers=6, max_classes=4, min_classes=2):
    """Small crowds with gaps: (task, worker, label) codes, each pair at most once, at least one row."""
    n = draw(st.integers(1, max_tasks))
    m = draw(st.integers(1, max_workers))
    k = draw(st.integers(min_classes, max_classes))
    pairs = draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), min_size=1, max_size=30, unique=True)
    )
    labels = draw(st.lists(st.integers(0, k - 1), min_size=len(pairs), max_size=len(pairs)))
    task, worker = (np.array(column) for column in zip(*pairs, strict=True))
    return task, worker, np.array(labels), n, m, k


def build(crowd, **kwargs) -> cw.Annotations:
    task, worker, label, n, m, k = crowd
    return cw.Annotations.from_arrays(task, worker, label, tasks=range(n), workers=range(m), classes=range(k), **kwargs)


def planted(n=300, m=20, k=3, labels=5, seed=0, low=0.55, high=0.95, prior=None):
    """A one-coin crowd: annotations and truth codes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n) if prior is None else rng.choice(k, n, p=prior)
    skill = rng.uniform(low, high, m)
    labels = min(labels, m)
    task = np.repeat(np.arange(n), labels)
    worker = np.concatenate([rng.choice(m, labels, replace=False) for _ in range(n)])
    right = rng.random(n * labels) < skill[worker]
    label = np.where(right, truth[task], (truth[task] + rng.integers(1, k, n * labels)) % k)
    votes = cw.Annotations.from_arrays(task, worker, label, tasks=range(n), workers=range(m), classes=range(k))
    return votes, truth, skill


def suits(name, votes) -> bool:
    """Whether the data have what the method's card says that it needs: two classes, workers who share a task."""
    needs = cw.registry.card(name).needs
    if "binary" in needs and votes.n_classes != 2:
        return False
    heard = votes.weight > 0 if votes.weight is not None else slice(None)
    pairs = np.unique(np.stack([votes.task[heard], votes.worker[heard]]), axis=1)
    shared = len(np.unique(pairs[0])) < pairs.shape[1]
    return "overlap" not in needs or shared or votes.n_classes == 1


def ready(name, votes):
    """The votes with predictions of others made up for methods that need them: everything is equally expected."""
    if "predictions" not in cw.registry.card(name).needs:
        return votes
    each = {f"predicted_share_{label}": [1 / votes.n_classes] * len(votes) for label in votes.classes}
    return replace(votes, about_rows=pl.DataFrame(each, schema=dict.fromkeys(each, pl.Float64)))


@pytest.fixture(scope="session")
def plain_crowd():
    """60 one-coin workers, K=3, with truth and times; one worker always says the same."""
    votes, truth, _ = planted(n=400, m=60, k=3, labels=8, seed=2)
    label = np.where(votes.worker == 0, 1, votes.label)
    votes = cw.Annotations.from_arrays(
        [f"t{t}" for t in votes.task], [f"w{w:02d}" for w in votes.worker], [f"c{c}" for c in label],
        time=np.arange(len(label)) * 7.0,
    )  # fmt: skip
    known = {f"t{i}": f"c{c}" for i, c in enumerate(truth)}
    return votes, cw.DawidSkene().fit(votes), known
