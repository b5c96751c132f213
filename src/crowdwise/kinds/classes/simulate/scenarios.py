"""Named recipes for simulated crowds of class labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....simulate.planted import Size, scenarios
from .assignment import Assignment, HeavyTailed, MissingAtRandom, PerTask, Regular
from .groups import (
    Adversary,
    ClassCoins,
    Colluder,
    Constant,
    Copier,
    DirichletConfusion,
    Group,
    Guesser,
    HammerSpammer,
    OneCoin,
    PairwiseFlipper,
    TwoCoin,
)
from .planted import Crowd, crowd


@dataclass(frozen=True)
class Recipe:
    """The groups of workers of a crowd. Without an assignment every task gets random workers."""

    groups: Sequence[Group]
    assignment: Assignment | None = None
    hard_share: float = 0.0


def _draw(size: Size, recipe: Callable[[Size], Recipe]) -> Crowd:
    assert size.classes is not None
    mixture = recipe(size)
    return crowd(
        size.tasks,
        size.classes,
        mixture.groups,
        mixture.assignment or PerTask(size.labels),
        hard_share=mixture.hard_share,
        n_features=size.features,
        seed=size.seed,
    )


def _honest(n: int) -> Group:
    return OneCoin(n, low=0.55, high=0.9)


def _with_others(share: float, others: Callable[[int], Group]) -> Callable[[Size], Recipe]:
    """A share of other workers after the honest ones; in a small crowd there may be none."""

    def recipe(size: Size) -> Recipe:
        n = min(round(share * size.workers), size.workers - 1)
        return Recipe([_honest(size.workers - n), *([others(n)] if n else [])])

    return recipe


def _two_coin(size: Size) -> Recipe:
    return Recipe([TwoCoin(size.workers) if size.classes == 2 else ClassCoins(size.workers)])


def _regular(size: Size) -> Recipe:
    per_worker = -(-size.tasks * size.labels // size.workers)
    return Recipe([OneCoin(size.workers, low=0.0, high=1.0, beta=(2.0, 1.0))], Regular(size.labels, per_worker))


def _missing(size: Size) -> Recipe:
    return Recipe([DirichletConfusion(size.workers)], MissingAtRandom(size.labels / size.workers))


def _heavy_tailed(size: Size) -> Recipe:
    return Recipe([_honest(size.workers)], HeavyTailed(size.labels))


def _mixed(size: Size) -> Recipe:
    """Six other groups of a tenth of the workers each, after the honest ones."""
    tenth = size.workers // 10
    others: list[type[Group]] = [PairwiseFlipper, Constant, Guesser, Adversary, Copier, Colluder] if tenth else []
    honest = _honest(size.workers - tenth * len(others))
    return Recipe([honest, *(group(tenth) for group in others)], HeavyTailed(size.labels, 0.7), hard_share=0.05)


def _all(group: Callable[[int], Group], hard_share: float = 0.0) -> Callable[[Size], Recipe]:
    """Workers of one group only."""
    return lambda size: Recipe([group(size.workers)], hard_share=hard_share)


_RECIPES: dict[str, tuple[str, Callable[[Size], Recipe]]] = {
    "one_coin": ("one accuracy per worker, 0.55 to 0.9, errors spread evenly", _all(_honest)),
    "two_coin": ("one accuracy per worker and class; of two classes: sensitivity and specificity", _two_coin),
    "dirichlet": ("confusion matrices with Dirichlet rows", _all(DirichletConfusion)),
    "hammer_spammer": ("half of the workers are nearly always right, half guess", _all(HammerSpammer)),
    "pairwise_flipper": ("each worker takes every class for one other class 30 % of the time", _all(PairwiseFlipper)),
    "class_constant": (
        "a third of the workers always give the first class", _with_others(1 / 3, lambda n: Constant(n, label=0))
    ),
    "copiers": ("a third of the workers copy the same honest worker", _with_others(1 / 3, Copier)),
    "colluders": ("a quarter of the workers agree on a wrong answer for each task", _with_others(1 / 4, Colluder)),
    "adversaries": ("a quarter of the workers know the answer and permute the classes", _with_others(1 / 4, Adversary)),
    "heavy_tailed": ("a few workers give most of the labels", _heavy_tailed),
    "hard_tasks": ("a fifth of the tasks mislead all workers in the same way", _all(_honest, hard_share=0.2)),
    "regular": (
        "every worker labels equally many tasks, accuracy ~ Beta(2, 1) (1000 tasks, 750 workers, 3 labels: l=3, r=4)",
        _regular,
    ),
    "missing": ("every worker skips tasks at random; `labels` per task on average", _missing),
    "mixed": ("six groups of bad workers, busy and idle workers, hard tasks", _mixed),
}  # fmt: skip

SCENARIOS = scenarios(
    "classes",
    _draw,
    {name: (description, {"recipe": recipe}) for name, (description, recipe) in _RECIPES.items()},
    takes=("classes", "features"),
    classes=4,
)
