"""The drop-in against crowd-kit 1.4.2: frozen results, and crowd-kit itself where its environment is at hand.

The frozen ones were made by compat_cases.py, which says how. With .venvs/crowd-kit (`make bench-speed` makes it) the
live test runs; CROWDWISE_LIVE_TABLES=200 makes it long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from unittest.mock import ANY

import pytest

from tests.data import ROOT, found_data

from . import compat_cases, signatures

FROZEN = json.loads((ROOT / "tests" / "golden" / "compat_crowdkit.json").read_text(encoding="utf-8"))
DATA = found_data()
PEER = ROOT / ".venvs" / "crowd-kit" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
# What is fixed on purpose (see the docstrings): the history that "addition" keeps.
FIXED = {"DawidSkene addition": ("errors_",)}
# crowd-kit's KOS fails where all labels are of one class.
CRASH = {"KOS": {"error": "KeyError"}}
# crowd-kit's frames keep the order of initial_error's index there.
UNORDERED = ("DawidSkene assign", "DawidSkene addition")


@pytest.mark.parametrize("seed", range(len(FROZEN)))
def test_small_tables_give_what_crowd_kit_gave(seed):
    import crowdwise.compat.crowdkit.aggregation as ours

    found = compat_cases.results(ours, compat_cases.small_table(seed), list(FROZEN[seed]))
    assert len(FROZEN[seed]) >= 12
    for name, attributes in FROZEN[seed].items():
        same(name, attributes, found[name])


def test_names_and_defaults_are_crowd_kits():
    theirs = json.loads((ROOT / "tests" / "golden" / "crowdkit_signatures.json").read_text(encoding="utf-8"))
    ours = signatures.signatures("crowdwise.compat.crowdkit")
    assert set(ours) == set(theirs)
    for name, parts in theirs.items():
        for part, value in parts.items():
            if part != "attributes":
                # "..." is an object, where we may have None for the same meaning
                value = [[ANY if x == "..." else x for x in argument] for argument in value]
                assert ours[name].get(part) == value, (name, part)


@pytest.mark.parametrize("name", signatures.CLASSES)
def test_every_documented_attribute_is_there_after_a_fit(name):
    import crowdwise.compat.crowdkit.aggregation as ours

    theirs = json.loads((ROOT / "tests" / "golden" / "crowdkit_signatures.json").read_text(encoding="utf-8"))
    model = compat_cases.fit(ours, name, compat_cases.small_table(2))  # with two classes, for KOS
    missing = [each for each in theirs[name]["attributes"] if not hasattr(model, each)]
    assert not missing


def test_the_live_crowd_kit_agrees(tmp_path):
    if not PEER.exists():
        pytest.skip("crowd-kit's environment is not at .venvs/crowd-kit (make bench-speed makes it)")
    import crowdwise.compat.crowdkit.aggregation as ours

    asked, out = os.environ.get("CROWDWISE_LIVE_TABLES"), tmp_path / "out.json"
    # The long run takes in three real crowds as well.
    files = [str(DATA / name / "labels.csv") for name in ("rte", "dog", "music")] if asked and DATA else []
    n = int(asked or "3")
    code = (
        "import compat_cases as c, json; "
        f"json.dump(c.all_results('crowdkit', c.live_tables({n}, {files!r}), c.QUICK), open(r'{out}', 'w'))"
    )
    folder = ROOT / "tests" / "golden"
    done = subprocess.run(
        [str(PEER), "-W", "ignore", "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    tables = compat_cases.live_tables(n, files)
    for table, theirs in zip(tables, json.loads(out.read_text()), strict=True):
        found = compat_cases.results(ours, table, compat_cases.QUICK)
        for name, attributes in theirs.items():
            if attributes != CRASH.get(name):
                same(name, attributes, found[name])


def same(name: str, theirs: dict, ours: dict) -> None:
    assert "error" not in theirs, (name, theirs)
    assert set(theirs) <= set(ours), name  # every attribute is there
    tied = ties(theirs["probas_"]) if name in UNORDERED else set()  # there the order of the classes decides
    for attribute, value in theirs.items():
        if attribute == "labels_" and tied:
            value, ours[attribute] = (without(each, tied) for each in (value, ours[attribute]))
        if attribute not in FIXED.get(name, ()):
            match(value, ours[attribute], f"{name}.{attribute}", ordered=name not in UNORDERED)


def ties(probas: dict) -> set:
    """Tasks whose two likeliest classes are equally likely."""
    columns = zip(*probas["is"].values(), strict=True)
    tops = [sorted(row)[-2:] for row in columns]
    return {task for task, top in zip(probas["at"], tops, strict=True) if len(top) == 2 and top[1] - top[0] < 1e-6}


def without(labels: dict, tasks: set) -> dict:
    """The labels of the other tasks."""
    kept = [i for i, task in enumerate(labels["at"]) if task not in tasks]
    return {**labels, "at": [labels["at"][i] for i in kept], "is": [labels["is"][i] for i in kept]}


def match(theirs, ours, where, ordered=True):
    if isinstance(theirs, dict):
        assert set(theirs) == set(ours), where
        if not ordered and isinstance(theirs["is"], list):
            theirs, ours = ({**x, "at": None, "is": dict(zip(x["at"], x["is"], strict=True))} for x in (theirs, ours))
        for key, value in theirs.items():
            match(value, ours[key], f"{where}.{key}")
    elif isinstance(theirs, list):
        assert len(theirs) == len(ours), where
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            match(a, b, f"{where}[{i}]")
    elif isinstance(theirs, float) and isinstance(ours, float):
        assert abs(theirs - ours) <= 1e-6, f"{where}: {theirs} and {ours}"
    else:
        assert theirs == ours, where
