"""Ready-made crowds by name, for the command line, the docs and the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any

from ....core.errors import ParameterError
from ....core.params import AtLeast, Count, Whole, check_given
from ...boxes.simulate import BOX_SCENARIOS
from ...comparisons.simulate import COMPARISON_SCENARIOS
from ...numbers.simulate import NUMBER_SCENARIOS
from ...ordered.simulate import ORDERED_SCENARIOS
from ...outlines.simulate import OUTLINE_SCENARIOS
from ...probabilities.simulate import PROBABILITY_SCENARIOS
from ...rankings.simulate import RANKING_SCENARIOS
from ...sets.simulate import SET_SCENARIOS
from ...similarities.simulate import SIMILARITY_SCENARIOS
from ...spans.simulate import SPAN_SCENARIOS
from ...texts.simulate import TEXT_SCENARIOS
from ...triplets.simulate import TRIPLET_SCENARIOS
from .assignment import Assignment, HeavyTailed, MissingAtRandom, PerTask, Regular
from .graphs import LINKED_SCENARIOS
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
from .judges import JUDGE_SCENARIOS
from .planted import Crowd, crowd


@dataclass(frozen=True)
class Size:
    """How large a crowd is wanted."""

    tasks: int
    workers: int
    classes: int
    labels: int


@dataclass(frozen=True)
class Recipe:
    """What a scenario is made of; without an assignment every task gets `labels` random workers."""

    groups: Sequence[Group]
    assignment: Assignment | None = None
    hard_share: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """A ready-made crowd: one line about it, and how to make it in any size."""

    description: str
    recipe: Callable[[Size], Recipe]

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int,
        n_features: int = 0,
        seed: int = 0,
    ) -> Crowd:
        """A crowd of this size; of four classes unless said."""
        n_classes = 4 if n_classes is None else n_classes
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}; "
                "raise workers or lower labels"
            )
        made = self.recipe(Size(n_tasks, n_workers, n_classes, labels_per_task))
        return crowd(
            n_tasks,
            n_classes,
            made.groups,
            made.assignment or PerTask(labels_per_task),
            hard_share=made.hard_share,
            n_features=n_features,
            seed=seed,
        )


def _honest(n: int) -> Group:
    return OneCoin(n, low=0.55, high=0.9)


def _among(
    share: float, others: Callable[[int], Group], honest: Callable[[int], Group] = _honest
) -> Callable[[Size], Recipe]:
    """A share of other workers behind an honest rest; a small crowd may have no others."""

    def recipe(size: Size) -> Recipe:
        n = min(round(share * size.workers), size.workers - 1)
        return Recipe([honest(size.workers - n), *([others(n)] if n else [])])

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
    """One in ten of each of six other sorts, and the honest rest, which comes first."""
    tenth = size.workers // 10
    others: list[type[Group]] = [PairwiseFlipper, Constant, Guesser, Adversary, Copier, Colluder] if tenth else []
    honest = _honest(size.workers - tenth * len(others))
    return Recipe([honest, *(sort(tenth) for sort in others)], HeavyTailed(size.labels, 0.7), hard_share=0.05)


def _all(sort: Callable[[int], Group], hard_share: float = 0.0) -> Callable[[Size], Recipe]:
    """One sort of workers only."""
    return lambda size: Recipe([sort(size.workers)], hard_share=hard_share)


SCENARIOS: dict[str, Scenario] = {
    "one_coin": Scenario("one accuracy per worker, 0.55 to 0.9, errors evenly spread", _all(_honest)),
    "two_coin": Scenario("one accuracy per worker and class; of two classes: sensitivity and specificity", _two_coin),
    "dirichlet": Scenario("confusion matrices with Dirichlet rows", _all(DirichletConfusion)),
    "hammer_spammer": Scenario("half are nearly always right, half guess", _all(HammerSpammer)),
    "pairwise_flipper": Scenario("each takes every class for one other class 30 % of the time", _all(PairwiseFlipper)),
    "class_constant": Scenario("a third always say the first class", _among(1 / 3, lambda n: Constant(n, label=0))),
    "copiers": Scenario("a third copy one and the same honest worker", _among(1 / 3, Copier)),
    "colluders": Scenario("a quarter agree on a wrong answer for each task", _among(1 / 4, Colluder)),
    "adversaries": Scenario("a quarter know the answer and permute the classes", _among(1 / 4, Adversary)),
    "heavy_tailed": Scenario("a few workers give most of the labels", _heavy_tailed),
    "hard_tasks": Scenario("a fifth of the tasks mislead everybody the same way", _all(_honest, hard_share=0.2)),
    "regular": Scenario(
        "every worker does equally many tasks, accuracy ~ Beta(2, 1) (1000 tasks, 750 workers, 3 labels: l=3, r=4)",
        _regular,
    ),
    "missing": Scenario("every worker skips tasks at random; `labels` per task on average", _missing),
    "mixed": Scenario("a bit of everything: six sorts of trouble, busy and idle workers, hard tasks", _mixed),
}

# Those of every kind of answers.
EVERY: dict[str, Any] = {
    **SCENARIOS,
    **NUMBER_SCENARIOS,
    **BOX_SCENARIOS,
    **COMPARISON_SCENARIOS,
    **JUDGE_SCENARIOS,
    **LINKED_SCENARIOS,
    **ORDERED_SCENARIOS,
    **OUTLINE_SCENARIOS,
    **PROBABILITY_SCENARIOS,
    **RANKING_SCENARIOS,
    **SET_SCENARIOS,
    **SIMILARITY_SCENARIOS,
    **SPAN_SCENARIOS,
    **TEXT_SCENARIOS,
    **TRIPLET_SCENARIOS,
}


def scenario(
    name: str,
    *,
    tasks: Count = 1000,
    workers: Count | None = None,
    classes: Annotated[int, AtLeast(2)] | None = None,
    labels: Count | None = None,
    features: Whole = 0,
    seed: Whole = 0,
) -> Any:
    """A ready-made crowd by name: a `Crowd` of classes (4 unless said), or the like of another kind of answers.

    `simulate.EVERY` says what each is. Unless said there are 60 workers and 5 labels a task; of judges 9, and all of
    them judge every task.

    >>> scenario("copiers", tasks=50, workers=9, classes=3, seed=1).worker_table()["copies"].n_unique()
    2
    """
    if name not in EVERY:
        close = get_close_matches(str(name), EVERY, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(EVERY)}"
        raise ParameterError(f"there is no scenario {name!r}; {hint}")
    size = {"tasks": tasks, "workers": workers, "classes": classes, "labels": labels, "features": features}
    check_given(scenario, {**size, "seed": seed})
    made = EVERY[name]
    workers = getattr(made, "workers", 60) if workers is None else workers
    return made.make(tasks, workers, classes, getattr(made, "labels", 5) if labels is None else labels, features, seed)
