"""Parts on a Dask cluster: the bits of one process, whoever dies or dawdles; one line where the scheduler is gone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.em.cluster import Dask, dask_executor
from crowdwise.em.drivers import InProcess
from crowdwise.em.sources import Sizes
from crowdwise.kinds.classes.methods.parts import fit_parts
from tests.conftest import planted


@dataclass(frozen=True, eq=False)
class Files:
    """A source of files: it is sent as a path, and its parts are opened by whoever works on them."""

    folder: str
    stays: bool = False

    @classmethod
    def write(cls, folder: Path, votes, n: int) -> Files:
        for number, part in enumerate(votes.shards(n)):
            np.savez(folder / f"{number}.npz", task=part.task, worker=part.worker, label=part.label)
        return cls(str(folder))

    @cached_property
    def _arrays(self):
        files = sorted(Path(self.folder).glob("*.npz"), key=lambda path: int(path.stem))
        return [dict(np.load(path)) for path in files]

    @property
    def sizes(self) -> Sizes:
        tasks = tuple(len(np.unique(part["task"])) for part in self._arrays)
        return Sizes(sum(len(part["task"]) for part in self._arrays), 20, tasks)

    def part(self, number: int):
        arrays = self._arrays[number]
        return cw.Annotations.from_arrays(
            arrays["task"], arrays["worker"], arrays["label"], workers=range(20), classes=range(3)
        )

    def gold_codes(self, number: int):
        return None

    def __reduce__(self):
        return Files, (self.folder,)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    votes, _, _ = planted(400, 20, 3, 5, seed=4)
    return Files.write(tmp_path_factory.mktemp("parts"), votes, 11)


@pytest.fixture(scope="module")
def executor():
    with dask_executor("local:2") as executor:
        yield executor


def bits(fit):
    return [part.estimate.posterior for part in fit.parts()], fit.trace, fit.worker_summary.skill


def same(one, other):
    for a, b in zip(one[0], other[0], strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(one[2], other[2])


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [cw.DawidSkene(max_iter=8), cw.classes.Wawa(), cw.GLAD(max_iter=5)], ids=lambda m: m.name
)
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.ConvergenceWarning")
def test_a_cluster_gives_the_bits_of_one_process(source, executor, method):
    alone = bits(fit_parts(method, source, InProcess))
    same(bits(fit_parts(method, source, executor)), alone)
    for jobs in (1, 11):
        same(bits(fit_parts(method, source, lambda *a, jobs=jobs: Dask(*a, executor.keywords["client"], jobs))), alone)


class Slow:
    """A method's callback that gives others time to do harm."""

    def __init__(self, harm, at):
        self.harm, self.at = harm, at

    def __call__(self, iteration, objective):
        if iteration in self.at:
            self.harm()


def workers(client):
    return list(client.run(os.getpid).values())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.ConvergenceWarning")
def test_workers_that_are_killed_or_stopped_change_nothing(source, executor):
    method, client, luck = cw.DawidSkene(max_iter=12, tol=0.0), executor.keywords["client"], random.Random(0)
    alone = bits(fit_parts(method, source, InProcess))
    fallen = []

    def kill():
        fallen.append(luck.choice(workers(client)))
        # In the middle of the next pass, not between two of them.
        threading.Timer(luck.random() * 0.05, os.kill, (fallen[-1], signal.SIGKILL)).start()

    same(bits(fit_parts(method, source, executor, callback=Slow(kill, (2, 6)))), alone)
    assert len(fallen) == 2

    def stop():
        pid = luck.choice(workers(client))
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(1.5, os.kill, (pid, signal.SIGCONT)).start()

    same(bits(fit_parts(method, source, executor, callback=Slow(stop, (3,)))), alone)


def children():
    told = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    return [int(line.split()[0]) for line in told.stdout.splitlines() if "spawn_main" in line]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.ConvergenceWarning")
def test_workers_that_are_killed_while_they_start_come_back(source):
    """Their nannies give them up; without others in their place a fit would wait for ever."""
    method = cw.DawidSkene(max_iter=3, tol=0.0)
    with dask_executor("local:2") as executor:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for pid in children():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        same(bits(fit_parts(method, source, executor)), bits(fit_parts(method, source, InProcess)))


def test_nobody_at_the_address_is_said_in_one_line(monkeypatch):
    monkeypatch.setattr("crowdwise.em.cluster.CONNECT_TIMEOUT", 1)
    nobody = "tcp://127.0.0.1:9"
    with pytest.raises(cw.DataError, match=f"no Dask scheduler answers at {nobody}") as told, dask_executor(nobody):
        pass
    assert "\n" not in str(told.value)
    with pytest.raises(cw.ParameterError, match="from 1 up, got 'local:none'"), dask_executor("local:none"):
        pass


@pytest.mark.slow
def test_a_scheduler_that_dies_is_said_in_one_line(source, tmp_path):
    place, work = tmp_path / "scheduler.json", "distributed.cli.dask_worker"
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, str(place)], **quiet)
    worker = None
    try:
        while not place.exists() or not place.read_text():
            time.sleep(0.1)
        address = json.loads(place.read_text())["address"]
        worker = subprocess.Popen([sys.executable, "-m", work, address, "--no-nanny", "--no-dashboard"], **quiet)
        with dask_executor(address) as executor:
            executor.keywords["client"].wait_for_workers(1)
            harm, method = Slow(scheduler.kill, (2,)), cw.DawidSkene(max_iter=500, tol=0.0)
            with pytest.raises(cw.DataError, match="is gone") as told:
                fit_parts(method, source, executor, callback=harm)
        assert "\n" not in str(told.value)
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
