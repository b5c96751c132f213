"""crowdwise methods: the registry, for people and for machines."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json
from .terminal import console, print_json, print_table
from .training.ways import WAYS

if TYPE_CHECKING:
    from ..core.card import Card
    from ..core.params import Param


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One method, in full.", metavar="[NAME]", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the methods: family, what they need and can, parameters with ranges and defaults."""
    from ..core import kind as kinds
    from ..core import method_registry as registry

    if name is not None:
        about = _about(name)
        if json:
            print_json(about)
        else:
            _show(about)
        return
    if json:
        # Without torch a training method's parameters cannot be read; its card can.
        learners = [*registry.LEARNERS] if find_spec("torch") else []
        cards = [_card(registry.LEARNERS[each]) for each in registry.LEARNERS if each not in learners]
        print_json([*(_about(each) for each in [*registry.names(None), *learners]), *cards])
        return
    for kind in kinds.names():
        rows = []
        for each in registry.names(kind):
            card = registry.card(each)
            star = " (default)" if each == registry.default_for(kind) else ""
            rows.append([each + star, card.family, card.summary, ", ".join(sorted(card.needs)) or "–"])
        title = f"Aggregate {kinds.get(kind).people}"
        print_table(title, ["method", "family", "what it does", "needs"], rows, stderr=False)
    for kind, way in WAYS.items():
        mine = [c for c in registry.LEARNERS.values() if c.takes == kind]
        rows = [
            [c.name + " (default)" * (c.name == way.method), c.summary, ", ".join(sorted(c.can)) or "–"] for c in mine
        ]
        print_table(way.title, ["method", "what it does", "gives"], rows, stderr=False)


def _about(name: str) -> dict[str, Any]:
    from ..core import method_registry as registry
    from ..core.paramtext import describe

    card = registry.LEARNERS.get(name) or registry.card(name)
    about, parameters, training = _learner(name) if name in registry.LEARNERS else _aggregator(name)
    return {
        **_card(card),
        "default": name == registry.default_for(card.takes),
        "parameters": {each.name: each.default for each in parameters},
        "training": {each.name: each.default for each in training} or None,
        "takes": {each.name: describe(each) for each in (*parameters, *training)},
        "about": about.split(">>>")[0].strip(),
    }


def _card(card: Card) -> dict[str, Any]:
    return {
        "name": card.name,
        "family": card.family,
        "summary": card.summary,
        "paper": card.paper,
        "needs": sorted(card.needs),
        "can": sorted(card.can),
        "kind": card.takes,
    }


def _aggregator(name: str) -> tuple[str, list[Param], list[Param]]:
    from ..core import method_registry as registry
    from ..core.params import of

    cls = registry.get(name)
    return cls.__doc__ or "", list(of(cls).values()), []


def _learner(name: str) -> tuple[str, list[Param], list[Param]]:
    """What the method takes, and how its paper trains it; needs torch."""
    from ..core.errors import MissingDependencyError
    from ..core.params import of

    try:
        from ..learn.fitting import method_class, method_parameters
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{name} needs {error.name}; install it with: pip install 'crowdwise[torch]'"
        ) from None
    cls = method_class(name)
    training = [replace(each, default=getattr(cls.defaults, each.name)) for each in of(type(cls.defaults)).values()]
    return cls.__doc__ or "", list(method_parameters(cls).values()), training


def _show(about: dict[str, Any]) -> None:
    from ..core.paramtext import shown

    out = console(stderr=False)
    out.print(f"{about['name']}: {about['summary']}")
    out.print(f"paper: {about['paper']}")
    out.print(f"needs: {', '.join(about['needs']) or 'only votes'}; can: {', '.join(about['can']) or '–'}")
    out.print(f"for: {about['kind']}")
    out.print("\n" + "\n".join(line.strip() for line in about["about"].splitlines()))
    for title, found in (("Parameters", about["parameters"]), ("Training", about["training"])):
        if found:
            rows = [[name, about["takes"][name], shown(value)] for name, value in found.items()]
            print_table(title, ["name", "takes", "default"], rows, stderr=False)
