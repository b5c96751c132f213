"""Copy a checkout's tests into a temporary folder, rewrite them, and run them in an environment of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from .. import ROOT
from ..environments import Environment
from .rewrite import Rewritten, rewrite

MINUTES = 20


@dataclass(frozen=True)
class Suite:
    """A peer: its package, our face of it, what to install, and what must be importable then."""

    title: str
    package: str
    face: str
    install: tuple[str, ...]
    files: str = "tests/**/*.py"

    @property
    def environment(self) -> Environment:
        """The peer, pytest and what crowdwise itself needs; crowdwise comes by path."""
        ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
        name = f"suite-{self.package}"
        return Environment(name, (*self.install, "pytest", "pandas", *ours), module=f"{self.package}, polars, pytest")


@dataclass(frozen=True)
class Outcome:
    """One test: its file, its function, its whole name; passed, or the first line of what went wrong."""

    file: str
    function: str
    name: str
    passed: bool
    said: str = ""

    @property
    def whole_file(self) -> bool:
        """Whether this stands for a file that could not be imported."""
        return self.name == module_of(self.file)


def outcomes(suite: Suite, checkout: Path) -> dict[str, list[Outcome]]:
    """Of the tests that our face covers: under "ours" the face's, under "peer" those of the peer itself."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files = _copied(suite, checkout, home)
        chosen = {file: found.covered() for file, found in files.items()}
        chosen = {file: tests for file, tests in chosen.items() if tests}
        found = {}
        for side in ("ours", "peer"):
            everything = _run(suite, home / side, sorted(chosen))
            found[side] = [each for each in everything if each.whole_file or each.function in chosen[each.file]]
        return found


def _copied(suite: Suite, checkout: Path, home: Path) -> dict[str, Rewritten]:
    files = {}
    for path in sorted(checkout.glob(suite.files)):
        name = path.relative_to(checkout).as_posix()
        text = path.read_text(encoding="utf-8")
        turned = rewrite(text, suite.package, suite.face)
        if path.name.startswith("test_"):
            files[name] = turned
        for side, content in (("ours", turned.text), ("peer", text)):
            target = home / side / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
    if not files:
        raise SystemExit(f"no tests at {checkout}/{suite.files}: is it a checkout of the repository, not a package?")
    return files


def _run(suite: Suite, home: Path, files: Iterable[str]) -> list[Outcome]:
    report = home / "report.xml"
    command = [str(suite.environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(home)]
    command += ["-W", "ignore", "--continue-on-collection-errors", f"--junitxml={report}", *files]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=60 * MINUTES, check=False)
    if not report.is_file():
        raise SystemExit(f"pytest did not run: {(done.stdout + done.stderr).strip()[-500:]}")
    return read(report.read_text(encoding="utf-8"), files)


def module_of(file: str) -> str:
    """tests/a/test_b.py as pytest's report calls it."""
    return file.removesuffix(".py").replace("/", ".")


def read(report: str, files: Iterable[str]) -> list[Outcome]:
    """The outcomes in a JUnit report."""
    modules = {module_of(file): file for file in files}
    found = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        where = case.get("classname", "")
        # A class's name stands behind the module's; a file that cannot be collected has the module as its name.
        module = next((m for m in modules if where == m or where.startswith(m + ".")), None)
        name = case.get("name", "")
        file = modules.get(module or name, "")
        wrong = [each for kind in ("failure", "error", "skipped") for each in case.iter(kind)]
        said = (wrong[0].get("message") or "").strip().splitlines()[:1] if wrong else []
        function = name.partition("[")[0]
        found.append(Outcome(file, function, name, not wrong, said[0] if said else ""))
    return found


def versions(suite: Suite) -> str:
    """What the tests ran with."""
    names = (suite.title, "pandas", "numpy", "scikit-learn")
    code = "import sys, importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    python = str(suite.environment.python)
    return subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout.strip()


def commit(checkout: Path) -> str:
    """The checkout's commit and its nearest tag."""
    git = shutil.which("git")
    if git is None:
        return "commit not known"
    ask = [git, "-C", str(checkout), "describe", "--tags", "--always", "--long"]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    print(done.stderr, end="", file=sys.stderr)
    return done.stdout.strip() or "commit not known"
