"""Rules for the source that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

import crowdwise as cw
from benchmarks import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("what", ["crowdwise", "crowdwise.cli"])
def test_importing_crowdwise_imports_nothing_heavy(what):
    heavy = ("torch", "numba", "pandas", "sklearn", "scipy", "polars", "numpy")
    code = f"import {what}, sys; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_is_there():
    for name in cw.__all__:
        assert getattr(cw, name) is not None
    assert set(cw.__all__) <= set(dir(cw))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cw.nothing


def test_type_checkers_know_every_method():
    tree = ast.parse((ROOT / "src" / "crowdwise" / "__init__.py").read_text(encoding="utf-8"))
    imported = {(n.module, a.name) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    for card in cw.registry.METHODS.values():
        module, _, cls = card.where.partition(":")
        assert (module.removeprefix("crowdwise."), cls) in imported, card.name


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
