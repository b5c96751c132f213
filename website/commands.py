"""Pages of the command line, written from the options that the commands declare."""

from __future__ import annotations

from enum import Enum
from typing import Any

from typer.main import get_command

from crowdwise.cli import PANELS, app

NAMES = {int: "N", float: "X", str: "TEXT"}


def pages() -> dict[str, str]:
    """Return a page for each command, and one that lists them."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    made = {f"commands/{name}.md": _page(name, command) for name, command in commands.items()}
    lines = ["# Commands", "", "Examples and what the commands have in common: [the command line](../cli.md).", ""]
    for panel, names in PANELS.items():
        lines += [f"## {panel}", "", "| command | |", "|---|---|"]
        lines += [f"| [`{name}`]({name}.md) | {_first(commands[name])} |" for name in names]
        lines.append("")
    return {"commands/index.md": "\n".join(lines), **made}


def nav() -> list[Any]:
    """Return the part of the navigation."""
    return ["commands/index.md", *(f"commands/{name}.md" for names in PANELS.values() for name in names)]


def _first(command: Any) -> str:
    return _cell(str(command.help or "").split("\n\n")[0])


def _page(name: str, command: Any) -> str:
    lines = ["---", f"title: {name}", "---", f"# crowdwise {name}"]
    members = getattr(command, "commands", None)
    if members is None:
        lines += _body(f"crowdwise {name}", command)
    else:
        lines += [str(command.help or ""), ""]
        for member, inner in members.items():
            lines += ["", f"## {name} {member}", *_body(f"crowdwise {name} {member}", inner)]
    return "\n".join(lines) + "\n"


def _body(call: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join([call, *(_metavar(p) if p.required else f"[{_metavar(p)}]" for p in arguments)])
    lines = [str(command.help or "").replace("\b", ""), "", "```text", f"{usage} [OPTIONS]", "```", ""]
    if arguments:
        lines += ["| argument | |", "|---|---|"]
        lines += [f"| `{_cell(_metavar(p))}` | {_text(p)} |" for p in arguments]
        lines.append("")
    panels: dict[str, list[Any]] = {}
    for option in options:
        panels.setdefault(getattr(option, "rich_help_panel", None) or "Options", []).append(option)
    for panel, group in panels.items():
        lines += [f"**{panel}**", "", "| option | takes | default | |", "|---|---|---|---|"]
        lines += [f"| {_names(p)} | {_takes(p)} | {_default(p)} | {_text(p)} |" for p in group]
        lines.append("")
    return lines


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _names(option: Any) -> str:
    return ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))


def _takes(option: Any) -> str:
    if option.is_flag:
        return "–"
    kind = option.type_descriptor.annotation
    if option.metavar is None and isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{choice.value}`" for choice in kind)
    return f"`{_cell(option.metavar or NAMES.get(kind, option.name.upper()))}`"


def _default(option: Any) -> str:
    value = option.default
    if value is None or value is False or callable(value) or value in ((), []):
        return "–"
    return "on" if value is True else f"`{getattr(value, 'value', value)}`"


def _text(parameter: Any) -> str:
    return _cell(parameter.help)


def _cell(text: Any) -> str:
    return " ".join(str(text or "").split()).replace("|", "\\|")
