"""The tests stand where the code stands."""

from __future__ import annotations

import re

from .packages import ROOT, SRC

TESTS = ROOT / "tests"
# Folders that are about all packages, helpers of tests and benchmarks, and sample files.
ACROSS = {
    "architecture",
    "crowds",
    "docs",
    "golden",
    "journeys",
    "laws",
    "open_sets",
    "planted",
    "runs_0_1_0",
    "written",
}


def test_every_folder_of_tests_is_a_package():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    strangers = [str(folder) for folder in folders if folder.parts and folder.parts[0] not in ACROSS]
    assert [folder for folder in strangers if not (SRC / folder / "__init__.py").is_file()] == []


def test_the_folders_across_packages_are_those_named():
    files = (path.relative_to(TESTS) for path in TESTS.rglob("*") if path.is_file())
    present = {path.parts[0] for path in files if len(path.parts) > 1 and "__pycache__" not in path.parts}
    packages = {path.name for path in SRC.iterdir() if path.is_dir()}
    assert present - packages == ACROSS


def test_the_tests_need_no_benchmarks():
    """Benchmarks may use the tests' crowds and readers, never the other way round."""
    for path in TESTS.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not re.match(r"\s*(from|import) benchmarks\b", line), f"{path.relative_to(ROOT)}: {line.strip()}"
