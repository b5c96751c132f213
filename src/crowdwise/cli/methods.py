"""crowdwise methods: the registry, for people and for machines."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

import typer

from .options import Json
from .talk import console, print_json, print_table


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One method, in full.", metavar="[NAME]", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the methods: family, what they need and can, parameters with defaults."""
    from .. import registry

    if name is not None:
        about = _about(name)
        if json:
            print_json(about)
        else:
            _show(about)
        return
    if json:
        print_json([_about(each) for each in registry.names()])
        return
    rows = []
    for each in registry.names():
        card = registry.card(each)
        star = " (default)" if each == registry.DEFAULT else ""
        rows.append([each + star, card.family, card.summary, ", ".join(sorted(card.needs)) or "–"])
    print_table("", ["method", "family", "what it does", "needs"], rows, stderr=False)


def _about(name: str) -> dict[str, Any]:
    from .. import registry

    card = registry.card(name)
    cls = registry.get(name)
    return {
        "name": name,
        "family": card.family,
        "summary": card.summary,
        "paper": card.paper,
        "needs": sorted(card.needs),
        "can": sorted(card.can),
        "default": name == registry.DEFAULT,
        "parameters": {f.name: f.default for f in fields(cls)},
        "about": (cls.__doc__ or "").split(">>>")[0].strip(),
    }


def _show(about: dict[str, Any]) -> None:
    out = console(stderr=False)
    out.print(f"{about['name']}: {about['summary']}")
    out.print(f"paper: {about['paper']}")
    out.print(f"needs: {', '.join(about['needs']) or 'nothing but votes'}; can: {', '.join(about['can'])}")
    out.print("\n" + "\n".join(line.strip() for line in about["about"].splitlines()))
    print_table("Parameters", ["name", "default"], [[k, str(v)] for k, v in about["parameters"].items()], stderr=False)
