"""Planted crowds and attacks: annotations together with everything that is true about them.

>>> from crowdwise import simulate
>>> crowd = simulate.crowd(500, 3, [simulate.OneCoin(20), simulate.Constant(5)], simulate.PerTask(5), seed=1)
>>> crowd.worker_table()["kind"].unique().sort().to_list()
['constant', 'one_coin']
>>> simulate.scenario("colluders", tasks=200).truth_table().columns
['task', 'label']
"""

from .assignment import Assignment, Dense, HeavyTailed, MissingAtRandom, PerTask, Regular
from .attacks import Adversary, Colluder, Constant, Copier, Guesser
from .boxes.scenarios import BOX_SCENARIOS, PlantedBoxes
from .comparisons.scenarios import COMPARISON_SCENARIOS, PlantedComparisons
from .draw import crowd
from .graphs.scenarios import LINKED_SCENARIOS, LinkedScenario, PlantedLinks
from .groups import (
    ClassCoins,
    DirichletConfusion,
    Given,
    Group,
    HammerSpammer,
    OneCoin,
    PairwiseFlipper,
    Setting,
    TwoCoin,
)
from .judges.scenarios import JUDGE_SCENARIOS, JudgeScenario, PlantedJudges
from .numbers.scenarios import NUMBER_SCENARIOS, NumberScenario, PlantedNumbers
from .ordered.scenarios import ORDERED_SCENARIOS, OrderedScenario, PlantedOrder
from .outlines.scenarios import OUTLINE_SCENARIOS, PlantedOutlines
from .planted import Crowd
from .probabilities.scenarios import PROBABILITY_SCENARIOS, PlantedProbabilities, probability_crowd
from .rankings.scenarios import RANKING_SCENARIOS, PlantedRankings
from .scenarios import EVERY, SCENARIOS, Scenario, scenario
from .sets.scenarios import SET_SCENARIOS, PlantedSets, SetScenario
from .similarities.scenarios import SIMILARITY_SCENARIOS, PlantedSimilarities
from .spans.scenarios import SPAN_SCENARIOS, PlantedSpans, SpanScenario
from .texts.scenarios import TEXT_SCENARIOS, PlantedTexts, TextScenario
from .triplets.scenarios import TRIPLET_SCENARIOS, PlantedTriplets

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
