"""docs/architecture.md names files that exist, and every package."""

from __future__ import annotations

import re

from .packages import RANK, ROOT, SRC
from .test_mirror import ACROSS

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_files_of_the_table_of_changes_exist():
    table = MAP.partition("## Where to make a change")[2].partition("\n## ")[0]
    paths = re.findall(r"`([\w/]*/[\w/]+\.py)`", table)
    assert all(
        re.search(r"`[\w/]+\.py`", row) for row in table.splitlines() if row.startswith("| ") and "start at" not in row
    )
    assert len(re.findall(r"^\|", table, re.M)) == 12  # ten changes, the header and its rule
    for path in paths:
        assert (SRC / path).is_file() or (ROOT / path).is_file(), path


def test_every_package_is_named():
    packages = MAP.partition("## Packages")[2].partition("\n## ")[0]
    for name in RANK:
        assert f"`{name}`" in packages, name


def test_every_folder_of_the_tests_is_explained():
    tests = MAP.partition("## The tests")[2]
    for name in ACROSS:
        assert f"`tests/{name}`" in tests, name


def test_the_table_of_sizes_has_every_package():
    """`python -m tests.architecture.packages` writes it; sizes change, so only the names are compared."""
    sizes = MAP.partition("<!-- sizes -->")[2].partition("<!-- /sizes -->")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", sizes, re.M)) == set(RANK)
