"""crowdwise methods: list the registered methods."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json, load_method
from .terminal import console, print_json, print_table
from .training.trainers import TRAINERS

if TYPE_CHECKING:
    from ..core.card import Card
    from ..core.params import Param


def methods(
    name: Annotated[
        str | None, typer.Argument(help="Method to describe in full.", metavar="[NAME]", callback=load_method)
    ] = None,
    json: Json = False,
) -> None:
    """List the methods, or describe one: what it needs, what it can do, and its parameters."""
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
        # The parameters of a training method need torch, its card does not.
        learners = [*registry.LEARNERS] if find_spec("torch") else []
        cards = [_card(registry.LEARNERS[learner]) for learner in registry.LEARNERS if learner not in learners]
        print_json([*(_about(method) for method in [*registry.names(None), *learners]), *cards])
        return
    for kind in kinds.names():
        rows = []
        for method in registry.names(kind):
            card = registry.card(method)
            star = " (default)" if method == registry.default_for(kind) else ""
            rows.append([method + star, card.family, card.summary, ", ".join(sorted(card.needs)) or "–"])
        title = f"Aggregate {kinds.get(kind).display_name}"
        print_table(title, ["method", "family", "what it does", "needs"], rows, stderr=False)
    for kind, trainer in TRAINERS.items():
        learner_cards = [c for c in registry.LEARNERS.values() if c.takes == kind]
        rows = [
            [c.name + " (default)" * (c.name == trainer.method), c.summary, ", ".join(sorted(c.can)) or "–"]
            for c in learner_cards
        ]
        print_table(trainer.title, ["method", "what it does", "gives"], rows, stderr=False)


def _about(name: str) -> dict[str, Any]:
    from ..core import method_registry as registry
    from ..core.paramtext import describe

    card = registry.LEARNERS.get(name) or registry.card(name)
    about, parameters, training = _learner(name) if name in registry.LEARNERS else _aggregator(name)
    return {
        **_card(card),
        "default": name == registry.default_for(card.takes),
        "parameters": {param.name: param.default for param in parameters},
        "training": {param.name: param.default for param in training} or None,
        "takes": {param.name: describe(param) for param in (*parameters, *training)},
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
    """Return the docstring, parameters and training defaults of a training method; needs torch."""
    from ..core.errors import MissingDependencyError
    from ..core.params import of

    try:
        from ..learn.fitting import method_class, method_parameters
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{name} needs {error.name}; install it with: pip install 'crowdwise[torch]'"
        ) from None
    cls = method_class(name)
    training = [replace(param, default=getattr(cls.defaults, param.name)) for param in of(type(cls.defaults)).values()]
    return cls.__doc__ or "", list(method_parameters(cls).values()), training


def _show(about: dict[str, Any]) -> None:
    from ..core.paramtext import shown

    out = console(stderr=False)
    out.print(f"{about['name']}: {about['summary']}")
    out.print(f"paper: {about['paper']}")
    out.print(f"needs: {', '.join(about['needs']) or 'only votes'}; can: {', '.join(about['can']) or '–'}")
    out.print(f"for: {about['kind']}")
    out.print("\n" + cleandoc(about["about"]))
    for title, values in (("Parameters", about["parameters"]), ("Training", about["training"])):
        if values:
            rows = [[name, about["takes"][name], shown(value)] for name, value in values.items()]
            print_table(title, ["name", "takes", "default"], rows, stderr=False)
