"""The benchmark that runs the peers' tests on our faces: rewriting, choosing, reading, reporting."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks import environments
from benchmarks.suites import page as pages
from benchmarks.suites.__main__ import SUITES
from benchmarks.suites.rewrite import rewrite, there
from benchmarks.suites.running import Suite, outcomes, read

TEST = """
import pandas as pd
from peer import count
from peer.votes import (
    Vote,
    Picture as P,  # stays
)
from peerless import Vote as Other
from .data import *


def helper():
    return count(3)


class TestVote:
    def test_vote(self):
        from peer.more import late
        assert Vote(late)


def test_picture():
    assert P(helper())


def test_both():
    assert helper()
"""


def known(module: str, name: str) -> bool:
    return (module, name) in {("our.peer.votes", "Vote"), ("our.peer.more", "late")}


def test_names_that_the_face_has_come_from_the_face():
    found = rewrite(TEST, "peer", "our.peer", known)
    assert (found.ours, found.theirs) == ({"Vote", "late"}, {"P", "count"})
    imports = [ast.unparse(node) for node in ast.walk(ast.parse(found.text)) if isinstance(node, ast.ImportFrom)]
    assert set(imports) == {
        "from peer import count",
        "from our.peer.votes import Vote",
        "from peer.votes import Picture as P",
        "from our.peer.more import late",
        "from peerless import Vote as Other",
        "from .data import *",
    }
    # A test counts if it uses no name that is still the peer's; helpers may.
    assert found.covered() == {"test_vote", "test_both"}
    assert rewrite(TEST, "nobody", "our.nobody", known).covered() == set()


def test_our_faces_are_asked_for_their_names():
    assert there("crowdwise.compat.crowdkit.aggregation", "DawidSkene")
    assert there("crowdwise.compat.cleanlab.internal.multiannotator_utils", "format_multiannotator_labels")
    assert not there("crowdwise.compat.crowdkit.aggregation", "SegmentationNothing")
    assert not there("crowdwise.compat.crowdkit.learning", "CoNAL")


REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a.TestVote" name="test_vote[x.y]"/>
<testcase classname="tests.test_a" name="test_both"><failure message="AssertionError: 1&#10;and">at</failure></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure">trace</error></testcase>
</testsuite></testsuites>"""


def test_reports_are_read():
    found = read(REPORT, ["tests/test_a.py", "tests/test_b.py"])
    assert [(each.file, each.function, each.passed) for each in found] == [
        ("tests/test_a.py", "test_vote", True),
        ("tests/test_a.py", "test_both", False),
        ("tests/test_b.py", "tests.test_b", False),
    ]
    assert found[1].said == "AssertionError: 1"


def test_a_suite_runs_from_a_checkout_and_its_page_tells_what_fails(tmp_path, monkeypatch):
    # A peer that is installed nowhere: `json` stands for it, our face of it for its tests.
    home = tmp_path / "checkout" / "tests"
    home.mkdir(parents=True)
    (home / "test_glad.py").write_text(
        "from json import dumps\nfrom json.tool import main\n\n"
        "def test_right():\n    assert dumps([]) == '[]'\n\n"
        "def test_wrong():\n    assert dumps([]) == 'nothing'\n\n"
        "def test_tool():\n    assert main\n"
    )
    (home / "test_broken.py").write_text(
        "from json import dumps\nimport no_such_module\n\ndef test_it():\n    dumps(1)\n"
    )
    monkeypatch.setattr(environments.Environment, "python", Path(sys.executable))
    suite = Suite("json", "json", "json", ())
    monkeypatch.setattr("benchmarks.suites.rewrite.there", lambda _, name: name == "dumps")
    found = outcomes(suite, tmp_path / "checkout")
    # A file that cannot be imported is a failure, not nothing.
    broken = ("tests.test_broken", False)
    assert {(each.name, each.passed) for each in found["ours"]} == {("test_right", True), ("test_wrong", False), broken}
    text = pages.page([pages.Run(replace(suite, title="peer"), "v1", "peer 1.0", found)])
    assert "| all | 3 | **1** | 1 |" in text
    assert "| `test_wrong` | **not looked at**: AssertionError" in text


def test_the_suites_name_faces_that_are_there():
    for suite in SUITES.values():
        assert there(suite.face, "__file__")
        assert suite.environment.name == f"suite-{suite.package}"
        assert any(package.startswith("polars") for package in suite.environment.packages)
