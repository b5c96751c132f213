"""docs/architecture.md names files that exist, and every package."""

from __future__ import annotations

import re

from .packages import RANK, ROOT, SRC

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_files_of_the_table_of_changes_exist():
    table = MAP.partition("## Where to make a change")[2].partition("\n## ")[0]
    paths = re.findall(r"`([\w/]*/[\w/]+\.py)`", table)
    assert len(re.findall(r"^\|", table, re.M)) == 12  # ten changes, the header and its rule
    for path in paths:
        assert (SRC / path).is_file() or (ROOT / path).is_file(), path


def test_every_package_is_named():
    packages = MAP.partition("## Packages")[2].partition("\n## ")[0]
    for name in RANK:
        assert f"`{name}`" in packages, name
