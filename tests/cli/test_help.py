"""The help of every command, and hints at former names."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
import typer

from crowdwise.cli import COMMANDS, PANELS, app
from crowdwise.core.registry import FORMER_KINDS

GROUP = typer.main.get_command(app)


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


ALL = dict(commands(GROUP))


def test_commands_are_in_panels(crowdwise_cli):
    code, out, _ = crowdwise_cli("--help")
    assert code == 0
    assert all(panel in out for panel in PANELS)
    assert {command.split()[0] for command in ALL} == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(ALL))
def test_every_option_is_in_a_panel_and_has_one_plain_sentence(command):
    for param in ALL[command].params:
        if param.name == "help":
            continue
        sentence = param.help
        assert sentence, (command, param.name)
        assert sentence.endswith("."), (command, param.name)
        assert sentence[0].isupper() or sentence.startswith("JSONL"), (command, param.name)
        if param.param_type_name == "option":
            assert param.rich_help_panel, (command, param.name)


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", sorted(ALL))
def test_help_fits_the_terminal(command, width, crowdwise_cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = crowdwise_cli(*command.split(), "--help")
    assert code == 0
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.slow
def test_renamed_commands_and_options_give_a_hint(fails, tmp_path):
    fails("fair", "votes.csv", words="crowdwise fair was renamed: use crowdwise fairness")
    for old, new in (("--of", "--metric"), ("--for", "--population"), ("--anyway", "--force")):
        fails("estimate", "votes.csv", old, words=f"crowdwise estimate {old} was renamed: use {new}")
    for old, new in FORMER_KINDS.items():
        words = f"--kind {old} was renamed: use --kind {new}"
        fails("project", "create", tmp_path / "p", "--question", "?", "--kind", old, words=words)
        fails("judge", tmp_path / "t.csv", "--model", "m", "--kind", old, "-o", tmp_path / "o.jsonl", words=words)


def test_a_project_stored_under_a_former_kind_opens(crowdwise_cli, tmp_path):
    """Projects of version 0.1.0 have the kinds `same` and `ranking` in their log."""
    pytest.importorskip("sqlalchemy")
    from crowdwise.server.project import Project

    for old, new in FORMER_KINDS.items():
        folder = tmp_path / old
        code, _, err = crowdwise_cli("project", "create", folder, "--question", "?", "--kind", new)
        assert code == 0, err
        (database,) = folder.glob("*.db*")
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute("UPDATE event SET payload = replace(payload, ?, ?)", (f'"{new}"', f'"{old}"'))
            connection.commit()
        with Project(folder) as project:
            assert project.queue.live.config.kind == new
