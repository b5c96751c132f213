"""Rules for the source that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import crowdwise as cw
from crowdwise.core import method_registry
from tests.data import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("what", ["crowdwise", "crowdwise.cli"])
def test_importing_crowdwise_imports_nothing_heavy(what):
    heavy = ("torch", "numba", "pandas", "sklearn", "scipy", "polars", "numpy")
    code = f"import {what}, sys; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


PACKAGES = ["crowdwise", *(f"crowdwise.{name}" for name in ("workers", "learn", "simulate"))]
PACKAGES += [f"crowdwise.kinds.{kind}" for kind in method_registry.KINDS]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there(name):
    package = import_module(name)
    assert all(getattr(package, public) is not None for public in package.__all__)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_see_public_names(name):
    """Strict type checkers take a name for public only where it is imported as itself."""
    tree = ast.parse(Path(import_module(name).__file__).read_text(encoding="utf-8"))
    aliases = [a for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names]
    assert {a.asname for a in aliases if a.asname == a.name} | {"__version__"} >= set(import_module(name).__all__)


def test_every_method_is_public_in_the_package_of_its_kind():
    for card in method_registry.cards().values():
        module, _, cls = card.where.partition(":")
        if not module.startswith("crowdwise."):  # registered by another test
            continue
        package = import_module(".".join(module.split(".")[:3]))
        assert cls in package.__all__, card.name


def test_the_public_names_are_few():
    assert len(dir(cw)) <= 65


def test_names_of_0_1_lead_to_their_new_home():
    with pytest.warns(DeprecationWarning, match="crowdwise.IBCC is now crowdwise.classes.IBCC"):
        assert cw.IBCC is cw.classes.IBCC
    with pytest.warns(DeprecationWarning, match=r"crowdwise.number_votes is now crowdwise.numbers.number_votes"):
        assert cw.number_votes is cw.numbers.number_votes
    with pytest.warns(DeprecationWarning, match=r"crowdwise.TrainingError is now crowdwise.errors.TrainingError"):
        assert cw.TrainingError is cw.errors.TrainingError


def test_nothing_that_runs_code_from_files():
    forbidden = re.compile(r"\bpickle\b(?!=)|torch\.load|(?<!\.)\beval\(|yaml\.load|allow_pickle=True|\bexec\(")
    for path in SOURCES:
        for line in path.read_text(encoding="utf-8").splitlines():
            code = line.split("#")[0]
            if '"""' not in code and not code.strip().startswith(('"', "'")):
                assert not forbidden.search(code.replace("allow_pickle=False", "")), f"{path.name}: {line}"


def test_the_library_does_not_print_and_has_no_global_random_state():
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"np\.random\.(seed|rand|randn|randint|choice|shuffle)\(", text), path
        if "cli" not in path.parts:
            assert not re.search(r"^\s*print\(", text, re.M), path


def test_no_pictures_lie_about_in_the_root():
    assert not [path.name for path in ROOT.iterdir() if path.suffix in (".png", ".svg", ".jpg", ".pdf")]
