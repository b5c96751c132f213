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
from .comparisons.scenarios import COMPARISON_SCENARIOS, PlantedComparisons
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
from .planted import Crowd
from .probabilities.scenarios import PROBABILITY_SCENARIOS, PlantedProbabilities, probability_crowd
from .rankings.scenarios import RANKING_SCENARIOS, PlantedRankings
from .scenarios import EVERY, SCENARIOS, Scenario, scenario
from .sets.scenarios import SET_SCENARIOS, PlantedSets, SetScenario

__all__ = [
    "COMPARISON_SCENARIOS",
    "EVERY",
    "NUMBER_SCENARIOS",
    "PROBABILITY_SCENARIOS",
    "RANKING_SCENARIOS",
    "SCENARIOS",
    "SET_SCENARIOS",
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
    "PlantedComparisons",
    "PlantedNumbers",
    "PlantedProbabilities",
    "PlantedRankings",
    "PlantedSets",
    "Regular",
    "Scenario",
    "SetScenario",
    "Setting",
    "TwoCoin",
    "crowd",
    "probability_crowd",
    "scenario",
]
