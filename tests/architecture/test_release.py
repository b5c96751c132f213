"""What a release needs agrees with the version, and the files for hosted services can be read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
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


def test_the_recipe_of_conda_agrees_with_the_package():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert recipe["context"]["version"] == cw.__version__
    needs = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert needs == {"python" + project["requires-python"], *project["dependencies"]}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed: apt-get install jq")
@pytest.mark.parametrize(("low", "code"), [(0.91, 0), (0.89, 1), (None, 1)])
def test_the_action_fails_below_its_bar(tmp_path, low, code):
    """The last step runs as it is written, with a stand-in for the command that prints an estimate."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    command = tmp_path / "crowdwise" / "bin" / "crowdwise"
    command.parent.mkdir(parents=True)
    estimate = json.dumps({"value": 0.93, "low": low, "high": 0.96, "n_gold": 59})
    command.write_text(f"#!/bin/sh\ncat <<'END'\n{estimate}\nEND\n", encoding="utf-8")
    command.chmod(0o755)
    given = {"VOTES": "votes.csv", "GOLD": "gold.csv", "AT_LEAST": "0.9", "SAMPLING": "random"}
    env = os.environ | given | {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    ran = subprocess.run(
        ["bash", "-e", "-c", action["runs"]["steps"][-1]["run"]], env=env, capture_output=True, text=True
    )
    assert ran.returncode == code, ran.stderr
    assert "value=0.93" in (tmp_path / "output").read_text(encoding="utf-8")
