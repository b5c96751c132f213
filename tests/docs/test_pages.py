"""Every page's code runs, in order, in an empty folder; what a console block shows is what comes out.

```python    runs in one namespace per page
```console   `$ ` lines run in a shell, the lines below must match stdout and stderr; `...` matches anything.
             They must exit 0, or as the line itself says: `$ crowdwise show nowhere  # exit 2`

A plain command of ours runs in this process, which spares the start of another one; those of the README, and whatever
needs a shell, run in one.
"""

from __future__ import annotations

import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import crowdwise
from tests.data import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.S | re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, crowdwise_cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    here = None if page.name == "README.md" else crowdwise_cli
    namespace: dict = {}
    for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(code, page.name, "exec"), namespace)
        else:
            _run_console(code, tmp_path, here)


def _run_console(block: str, folder: Path, here) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
        plain = None if here is None else _plain(command, folder)
        if plain is None:
            ran = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
            code, out, err = ran.returncode, ran.stdout, ran.stderr
        else:
            words, into = plain
            with warnings.catch_warnings():
                warnings.simplefilter("default")  # as in a process of its own
                for quiet in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                    warnings.simplefilter("ignore", quiet)
                code, out, err = here(*words)
            if into:
                (folder / into).write_text(out)
                out = ""
        says = re.search(r"# exit (\d+)$", command)
        assert code == (int(says[1]) if says else 0), f"{command}: {err}"
        if shown.strip():
            _match(command, shown, err + out, out + err)


def _plain(command: str, folder: Path) -> tuple[list[str], str] | None:
    """The arguments of a command of ours, and the file it is written to; None where it needs a shell for more than
    that and for $(cat FILE)."""
    command = re.sub(r"\$\(cat ([\w.]+)\)", lambda name: (folder / name[1]).read_text().strip(), command)
    command, _, into = command.partition("  # ")[0].partition(" > ")
    left = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", command)  # what quotes do not keep from the shell
    if not command.startswith("crowdwise ") or re.search(r"[|&;<>()$`*?\[~#\\]", left) or re.search(r"[^\w.]", into):
        return None
    return shlex.split(command)[1:], into


def test_what_needs_a_shell_gets_one(tmp_path):
    (tmp_path / "t").write_text("secret\n")
    assert _plain("crowdwise show \"a run\" --x '*.csv'  # exit 2", tmp_path) == (["show", "a run", "--x", "*.csv"], "")
    assert _plain("crowdwise judge --token $(cat t) > out.txt", tmp_path) == (["judge", "--token", "secret"], "out.txt")
    for command in (
        "crowdwise show *.csv",
        "crowdwise show > a 2>&1 &",
        "crowdwise show | head",
        "ls",
        "A=1 crowdwise x",
    ):
        assert _plain(command, tmp_path) is None


def _match(command: str, shown: str, *outputs: str) -> None:
    def squeeze(text: str) -> str:
        return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()) + "\n"

    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS
    if not any(checker.check_output(squeeze(shown), squeeze(output), flags) for output in outputs):
        raise AssertionError(f"{command} printed\n{outputs[0]}\nbut the page shows\n{shown}")


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_every_method_has_its_page():
    from crowdwise.core import method_registry as registry

    for name in registry.METHODS:
        assert (ROOT / "docs" / "methods" / f"{name}.md").is_file(), name


# Programs, and the door that Alembic alone opens.
NOT_IMPORTED = ("__main__", "server.migrations.env")
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(crowdwise.__path__, "crowdwise.")
    if not any(part in m.name for part in NOT_IMPORTED)
)


@pytest.mark.parametrize("module", ["crowdwise", *MODULES])
def test_docstring_examples(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_the_commands_of_the_first_screen_exist():
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "lint", "bench-speed"):
        assert re.search(rf"^{target}:", make, re.M)
    assert shutil.which("make")


def test_one_method_of_each_kind_calls_itself_the_default():
    from crowdwise.core import registry as kinds

    own = re.compile(r"the default(?!,? \[)")  # a link to the default is no claim to be it
    claims = [
        page.stem
        for page in sorted((ROOT / "docs" / "methods").glob("*.md"))
        if own.search("\n".join(page.read_text(encoding="utf-8").splitlines()[:2]))
    ]
    assert claims == sorted(["ordinal_committee", *(kinds.get(name).default for name in kinds.BUILT_IN)])


def test_every_command_stands_in_the_synopsis_with_options_that_it_has():
    from typer.main import get_command

    from crowdwise.cli import app

    block = re.search(
        r"^```\n(crowdwise demo.*?)^```", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), re.S | re.M
    )
    entries: dict[str, str] = {}
    for name, entry in re.findall(r"^crowdwise (\w+)((?:.*\n)(?: .*\n)*)", block.group(1), re.M):
        entries[name] = entries.get(name, "") + entry  # commands of a group have an entry each
    commands = get_command(app).commands
    assert set(entries) == set(commands)
    for name, entry in entries.items():
        members = [commands[name], *getattr(commands[name], "commands", {}).values()]
        has = {
            option for each in members for parameter in each.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }  # fmt: skip
        assert set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", entry)) <= has, name
    assert "flags with evidence" in entries["workers"]
    assert "HTML page" in entries["report"]
