"""The tests stand where the code stands."""

from __future__ import annotations

from .packages import ROOT, SRC

TESTS = ROOT / "tests"
# Folders that are about all packages, and sample files.
ACROSS = {"architecture", "docs", "golden", "laws", "planted", "runs_0_1_0", "written"}


def test_every_folder_of_tests_is_a_package():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    strangers = [str(folder) for folder in folders if folder.parts and folder.parts[0] not in ACROSS]
    assert [folder for folder in strangers if not (SRC / folder / "__init__.py").is_file()] == []


def test_the_folders_across_packages_are_those_named():
    present = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    packages = {path.name for path in SRC.iterdir() if path.is_dir()}
    assert present - packages == ACROSS
