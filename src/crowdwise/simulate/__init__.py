"""Planted crowds and attacks: annotations together with everything that is true about them.

>>> from crowdwise import simulate
>>> crowd = simulate.crowd(500, 3, [simulate.OneCoin(20), simulate.Constant(5)], simulate.PerTask(5), seed=1)
>>> crowd.worker_table()["kind"].unique().sort().to_list()
['constant', 'one_coin']
>>> simulate.scenario("colluders", tasks=200).truth_table().columns
['task', 'label']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..kinds.boxes.simulate import BOX_SCENARIOS, PlantedBoxes
    from ..kinds.classes.simulate.assignment import Assignment, Dense, HeavyTailed, MissingAtRandom, PerTask, Regular
    from ..kinds.classes.simulate.graphs import LINKED_SCENARIOS, LinkedScenario, PlantedLinks
    from ..kinds.classes.simulate.groups import (
        Adversary,
        ClassCoins,
        Colluder,
        Constant,
        Copier,
        DirichletConfusion,
        Given,
        Group,
        Guesser,
        HammerSpammer,
        OneCoin,
        PairwiseFlipper,
        Setting,
        TwoCoin,
    )
    from ..kinds.classes.simulate.judges import JUDGE_SCENARIOS, JudgeScenario, PlantedJudges
    from ..kinds.classes.simulate.planted import Crowd, crowd
    from ..kinds.classes.simulate.scenarios import EVERY, SCENARIOS, Scenario, scenario
    from ..kinds.comparisons.simulate import COMPARISON_SCENARIOS, PlantedComparisons
    from ..kinds.numbers.simulate import NUMBER_SCENARIOS, NumberScenario, PlantedNumbers
    from ..kinds.ordered.simulate import ORDERED_SCENARIOS, OrderedScenario, PlantedOrder
    from ..kinds.outlines.simulate import OUTLINE_SCENARIOS, PlantedOutlines
    from ..kinds.probabilities.simulate import PROBABILITY_SCENARIOS, PlantedProbabilities, probability_crowd
    from ..kinds.rankings.simulate import RANKING_SCENARIOS, PlantedRankings
    from ..kinds.sets.simulate import SET_SCENARIOS, PlantedSets, SetScenario
    from ..kinds.similarities.simulate import SIMILARITY_SCENARIOS, PlantedSimilarities
    from ..kinds.spans.simulate import SPAN_SCENARIOS, PlantedSpans, SpanScenario
    from ..kinds.texts.simulate import TEXT_SCENARIOS, PlantedTexts, TextScenario
    from ..kinds.triplets.simulate import TRIPLET_SCENARIOS, PlantedTriplets

# name -> module. The scenarios of a kind are imported when they are first asked for.
_HOMES = {
    "BOX_SCENARIOS": "kinds.boxes.simulate",
    "PlantedBoxes": "kinds.boxes.simulate",
    "Assignment": "kinds.classes.simulate.assignment",
    "Dense": "kinds.classes.simulate.assignment",
    "HeavyTailed": "kinds.classes.simulate.assignment",
    "MissingAtRandom": "kinds.classes.simulate.assignment",
    "PerTask": "kinds.classes.simulate.assignment",
    "Regular": "kinds.classes.simulate.assignment",
    "LINKED_SCENARIOS": "kinds.classes.simulate.graphs",
    "LinkedScenario": "kinds.classes.simulate.graphs",
    "PlantedLinks": "kinds.classes.simulate.graphs",
    "Adversary": "kinds.classes.simulate.groups",
    "ClassCoins": "kinds.classes.simulate.groups",
    "Colluder": "kinds.classes.simulate.groups",
    "Constant": "kinds.classes.simulate.groups",
    "Copier": "kinds.classes.simulate.groups",
    "DirichletConfusion": "kinds.classes.simulate.groups",
    "Given": "kinds.classes.simulate.groups",
    "Group": "kinds.classes.simulate.groups",
    "Guesser": "kinds.classes.simulate.groups",
    "HammerSpammer": "kinds.classes.simulate.groups",
    "OneCoin": "kinds.classes.simulate.groups",
    "PairwiseFlipper": "kinds.classes.simulate.groups",
    "Setting": "kinds.classes.simulate.groups",
    "TwoCoin": "kinds.classes.simulate.groups",
    "JUDGE_SCENARIOS": "kinds.classes.simulate.judges",
    "JudgeScenario": "kinds.classes.simulate.judges",
    "PlantedJudges": "kinds.classes.simulate.judges",
    "Crowd": "kinds.classes.simulate.planted",
    "crowd": "kinds.classes.simulate.planted",
    "EVERY": "kinds.classes.simulate.scenarios",
    "SCENARIOS": "kinds.classes.simulate.scenarios",
    "Scenario": "kinds.classes.simulate.scenarios",
    "scenario": "kinds.classes.simulate.scenarios",
    "COMPARISON_SCENARIOS": "kinds.comparisons.simulate",
    "PlantedComparisons": "kinds.comparisons.simulate",
    "NUMBER_SCENARIOS": "kinds.numbers.simulate",
    "NumberScenario": "kinds.numbers.simulate",
    "PlantedNumbers": "kinds.numbers.simulate",
    "ORDERED_SCENARIOS": "kinds.ordered.simulate",
    "OrderedScenario": "kinds.ordered.simulate",
    "PlantedOrder": "kinds.ordered.simulate",
    "OUTLINE_SCENARIOS": "kinds.outlines.simulate",
    "PlantedOutlines": "kinds.outlines.simulate",
    "PROBABILITY_SCENARIOS": "kinds.probabilities.simulate",
    "PlantedProbabilities": "kinds.probabilities.simulate",
    "probability_crowd": "kinds.probabilities.simulate",
    "PlantedRankings": "kinds.rankings.simulate",
    "RANKING_SCENARIOS": "kinds.rankings.simulate",
    "PlantedSets": "kinds.sets.simulate",
    "SET_SCENARIOS": "kinds.sets.simulate",
    "SetScenario": "kinds.sets.simulate",
    "PlantedSimilarities": "kinds.similarities.simulate",
    "SIMILARITY_SCENARIOS": "kinds.similarities.simulate",
    "PlantedSpans": "kinds.spans.simulate",
    "SPAN_SCENARIOS": "kinds.spans.simulate",
    "SpanScenario": "kinds.spans.simulate",
    "PlantedTexts": "kinds.texts.simulate",
    "TEXT_SCENARIOS": "kinds.texts.simulate",
    "TextScenario": "kinds.texts.simulate",
    "PlantedTriplets": "kinds.triplets.simulate",
    "TRIPLET_SCENARIOS": "kinds.triplets.simulate",
}
__all__ = [
    "BOX_SCENARIOS",
    "COMPARISON_SCENARIOS",
    "EVERY",
    "JUDGE_SCENARIOS",
    "LINKED_SCENARIOS",
    "NUMBER_SCENARIOS",
    "ORDERED_SCENARIOS",
    "OUTLINE_SCENARIOS",
    "PROBABILITY_SCENARIOS",
    "RANKING_SCENARIOS",
    "SCENARIOS",
    "SET_SCENARIOS",
    "SIMILARITY_SCENARIOS",
    "SPAN_SCENARIOS",
    "TEXT_SCENARIOS",
    "TRIPLET_SCENARIOS",
    "Adversary",
    "Assignment",
    "ClassCoins",
    "Colluder",
    "Constant",
    "Copier",
    "Crowd",
    "Dense",
    "DirichletConfusion",
    "Given",
    "Group",
    "Guesser",
    "HammerSpammer",
    "HeavyTailed",
    "JudgeScenario",
    "LinkedScenario",
    "MissingAtRandom",
    "NumberScenario",
    "OneCoin",
    "OrderedScenario",
    "PairwiseFlipper",
    "PerTask",
    "PlantedBoxes",
    "PlantedComparisons",
    "PlantedJudges",
    "PlantedLinks",
    "PlantedNumbers",
    "PlantedOrder",
    "PlantedOutlines",
    "PlantedProbabilities",
    "PlantedRankings",
    "PlantedSets",
    "PlantedSimilarities",
    "PlantedSpans",
    "PlantedTexts",
    "PlantedTriplets",
    "Regular",
    "Scenario",
    "SetScenario",
    "Setting",
    "SpanScenario",
    "TextScenario",
    "TwoCoin",
    "crowd",
    "probability_crowd",
    "scenario",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"crowdwise.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
