"""What a release needs agrees with the version, and the files for hosted services can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import crowdwise as cw

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == cw.__version__
    assert f'"version": "{cw.__version__}"' in (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(cw.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("path", sorted(p.name for p in (ROOT / ".github" / "workflows").glob("*.yml")))
def test_workflows_run_what_exists(path):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / path).read_text(encoding="utf-8"))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    made = {word for command in commands for word in re.findall(r"\bmake ([\w-]+)", command)}
    assert commands
    assert made <= targets


def test_hooks_run_from_the_environment_of_the_makefile():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert {hook["entry"].split()[0].partition("/")[0] for hook in hooks} == {".venv"}
