"""The scenarios of all kinds, by name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

from ..core.errors import ParameterError
from ..core.params import AtLeast, Count, Whole, check_given
from ..simulate.planted import Scenario
from .boxes.simulate import BOX_SCENARIOS
from .classes.simulate.graphs import LINKED_SCENARIOS
from .classes.simulate.judges import JUDGE_SCENARIOS
from .classes.simulate.scenarios import SCENARIOS
from .comparisons.simulate import COMPARISON_SCENARIOS
from .numbers.simulate import NUMBER_SCENARIOS
from .ordered.simulate import ORDERED_SCENARIOS
from .outlines.simulate import OUTLINE_SCENARIOS
from .probabilities.simulate import PROBABILITY_SCENARIOS
from .rankings.simulate import RANKING_SCENARIOS
from .sets.simulate import SET_SCENARIOS
from .similarities.simulate import SIMILARITY_SCENARIOS
from .spans.simulate import SPAN_SCENARIOS
from .texts.simulate import TEXT_SCENARIOS
from .triplets.simulate import TRIPLET_SCENARIOS

EVERY: dict[str, Scenario] = {
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
    """Draw a simulated crowd by the name of its scenario.

    Args:
        name: One of `simulate.EVERY`, which also describes them.
        tasks: Number of tasks.
        workers: Number of workers (None: 60, or 9 judges).
        classes: Number of classes, for scenarios that take it (None: 4 for class labels).
        labels: Number of labels per task (None: 5; all judges judge every task).
        features: Number of feature dimensions, for class labels only.
        seed: Seed of the draws.

    Returns:
        A `Crowd` of class labels, or the simulated votes of another kind with their ground truth.

    >>> scenario("copiers", tasks=50, workers=9, classes=3, seed=1).worker_table()["copies"].n_unique()
    2
    """
    if name not in EVERY:
        close = get_close_matches(str(name), EVERY, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(EVERY)}"
        raise ParameterError(f"there is no scenario {name!r}; {hint}")
    size = {"tasks": tasks, "workers": workers, "classes": classes, "labels": labels, "features": features}
    check_given(scenario, {**size, "seed": seed})
    recipe = EVERY[name]
    workers = recipe.workers if workers is None else workers
    return recipe.make(tasks, workers, classes, recipe.labels if labels is None else labels, features, seed)
