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
from .draw import crowd
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
from .numbers.scenarios import NUMBER_SCENARIOS, NumberScenario, PlantedNumbers
from .outlines.scenarios import OUTLINE_SCENARIOS, PlantedOutlines
from .planted import Crowd
from .probabilities.scenarios import PROBABILITY_SCENARIOS, PlantedProbabilities, probability_crowd
from .scenarios import EVERY, SCENARIOS, Scenario, scenario
from .similarities.scenarios import SIMILARITY_SCENARIOS, PlantedSimilarities
from .triplets.scenarios import TRIPLET_SCENARIOS, PlantedTriplets

__all__ = [
    "BOX_SCENARIOS",
    "EVERY",
    "NUMBER_SCENARIOS",
    "OUTLINE_SCENARIOS",
    "PROBABILITY_SCENARIOS",
    "SCENARIOS",
    "SIMILARITY_SCENARIOS",
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
    "MissingAtRandom",
    "NumberScenario",
    "OneCoin",
    "PairwiseFlipper",
    "PerTask",
    "PlantedBoxes",
    "PlantedNumbers",
    "PlantedOutlines",
    "PlantedProbabilities",
    "PlantedSimilarities",
    "PlantedTriplets",
    "Regular",
    "Scenario",
    "Setting",
    "TwoCoin",
    "crowd",
    "probability_crowd",
    "scenario",
]
