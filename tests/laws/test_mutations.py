"""Whatever a file holds, a command ends well or with one line; soon, and in little memory.

Every file of a run folder and every export under tests/written is spoilt at random. CROWDWISE_MUTATIONS=5000 asks for
the long form; CROWDWISE_MUTATIONS_FROM=1234 begins with that case.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import time
from random import Random

import numpy as np
import pytest

from crowdwise.cli import main
from tests.data import ROOT

from ..mutations import mutate

CASES = int(os.environ.get("CROWDWISE_MUTATIONS", "300"))
FIRST = int(os.environ.get("CROWDWISE_MUTATIONS_FROM", "0"))
WRITTEN = ROOT / "tests" / "written"
RUNS = ("ibcc", "committee", "majority_vote", "glad")
ON_RUN = [
    "show {run}",
    "show {run} --json",
    "workers {run}",
    "report {run} -o {out}/r.html",
    "convert {run} {out}/o.csv",
    "convert {run} {out}/o.json --to label_studio",
    "convert {run} {out}/hf --to hf_dataset",
    "aggregate {votes} --prior {run} -m ibcc",
    "evaluate {run} --truth {truth}",
]
# Tables that a run folder holds for people, and who reads them again.
ON_TABLES = {
    "confusion.csv": ["aggregate {votes} --prior {run}/confusion.csv -m ibcc"],
    "labels.csv": ["evaluate {run}/labels.csv --truth {truth}"],
}
ON_EXPORT = [
    "inspect {file}",
    "inspect {file} --json",
    "aggregate {file} -m majority_vote",
    "aggregate {file} -m dawid_skene --json",
    "workers {file} -m majority_vote",
    "convert {file} {out}/o.csv",
    "convert {file} {out}/o.json --to label_studio",
    "report {file} -m majority_vote -o {out}/r.html",
]


def exports():
    for folder in sorted(WRITTEN.iterdir()):
        for file in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
            yield folder / file["name"], file["options"]


EXPORTS = list(exports())


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Votes with their truth, and a run folder of each of some methods."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(5)
    truth = rng.integers(3, size=25)
    said = [(t, w, truth[t] if rng.random() < 0.7 else rng.integers(3)) for t in range(25) for w in range(6)]
    (folder / "votes.csv").write_text(
        "task,worker,label,time\n" + "".join(f"t{t},w{w},{'abc'[x]},{60 * i}\n" for i, (t, w, x) in enumerate(said))
    )
    (folder / "truth.csv").write_text("task,label\n" + "".join(f"t{t},{'abc'[x]}\n" for t, x in enumerate(truth)))
    for method in RUNS:
        with pytest.raises(SystemExit) as stop:
            main(["aggregate", str(folder / "votes.csv"), "-m", method, "-o", str(folder / method)])
        assert stop.value.code in (0, None)
    return folder


def spoil_a_run(clean, here, draw):
    method = draw.choice(RUNS)
    shutil.copytree(clean / method, here / "run")
    victim = draw.choice(sorted((here / "run").iterdir()))
    victim.write_bytes(mutate(victim.name, victim.read_bytes(), draw))
    places = {"run": here / "run", "out": here, "votes": clean / "votes.csv", "truth": clean / "truth.csv"}
    command = draw.choice(ON_TABLES.get(victim.name, ON_RUN))
    return [part.format(**places) for part in command.split()], f"{method}/{victim.name}"


def spoil_an_export(here, draw):
    path, options = draw.choice(EXPORTS)
    target = here / path.name
    if path.is_dir():
        shutil.copytree(path, target)
        victim = draw.choice(sorted(each for each in target.rglob("*") if each.is_file()))
    else:
        shutil.copy(path, target)
        victim = target
    victim.write_bytes(mutate(victim.name, victim.read_bytes(), draw))
    columns = ",".join(f"{k}={v}" for k, v in options.get("columns", {}).items())
    said = [part for k, v in options.items() if isinstance(v, str) for part in (f"--{k}", v)]
    said += [f"--{k}" for k, v in options.items() if v is True] + (["--columns", columns] if columns else [])
    command = [part.format(file=target, out=here) for part in draw.choice(ON_EXPORT).split()]
    return [*command, *said], str(victim.relative_to(here))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(FIRST, CASES))
def test_a_spoilt_file_ends_well_or_in_one_line(case, clean, tmp_path, capfd):
    draw = Random(case)
    command, what = spoil_a_run(clean, tmp_path, draw) if case % 2 else spoil_an_export(tmp_path, draw)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(SystemExit) as stop:
        main(command)
    took, more = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    err = capfd.readouterr().err
    told = f"case {case}, {what}: {' '.join(command)}\n{err}"
    assert stop.value.code in (0, None, 2), told
    if stop.value.code == 2:
        last = err.splitlines()[-1]
        assert last.startswith("crowdwise: "), told
        assert last.isprintable(), told
        assert len(last) < 2000, told
    assert took < 20, told
    assert more < 1_000_000, told  # kilobytes
