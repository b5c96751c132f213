"""Simulated crowds: votes together with their ground truth.

>>> from crowdwise import simulate
>>> crowd = simulate.crowd(500, 3, [simulate.OneCoin(20), simulate.Constant(5)], simulate.PerTask(5), seed=1)
>>> crowd.worker_table()["kind"].unique().sort().to_list()
['constant', 'one_coin']
>>> simulate.scenario("colluders", tasks=200).truth_table().columns
['task', 'label']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import attach

if TYPE_CHECKING:
    from ..kinds.boxes.simulate import BOX_SCENARIOS as BOX_SCENARIOS
    from ..kinds.boxes.simulate import PlantedBoxes as PlantedBoxes
    from ..kinds.classes.simulate.assignment import Assignment as Assignment
    from ..kinds.classes.simulate.assignment import Dense as Dense
    from ..kinds.classes.simulate.assignment import HeavyTailed as HeavyTailed
    from ..kinds.classes.simulate.assignment import MissingAtRandom as MissingAtRandom
    from ..kinds.classes.simulate.assignment import PerTask as PerTask
    from ..kinds.classes.simulate.assignment import Regular as Regular
    from ..kinds.classes.simulate.graphs import LINKED_SCENARIOS as LINKED_SCENARIOS
    from ..kinds.classes.simulate.graphs import PlantedLinks as PlantedLinks
    from ..kinds.classes.simulate.groups import Adversary as Adversary
    from ..kinds.classes.simulate.groups import ClassCoins as ClassCoins
    from ..kinds.classes.simulate.groups import Colluder as Colluder
    from ..kinds.classes.simulate.groups import Constant as Constant
    from ..kinds.classes.simulate.groups import Copier as Copier
    from ..kinds.classes.simulate.groups import DirichletConfusion as DirichletConfusion
    from ..kinds.classes.simulate.groups import Given as Given
    from ..kinds.classes.simulate.groups import Group as Group
    from ..kinds.classes.simulate.groups import Guesser as Guesser
    from ..kinds.classes.simulate.groups import HammerSpammer as HammerSpammer
    from ..kinds.classes.simulate.groups import OneCoin as OneCoin
    from ..kinds.classes.simulate.groups import PairwiseFlipper as PairwiseFlipper
    from ..kinds.classes.simulate.groups import Setting as Setting
    from ..kinds.classes.simulate.groups import TwoCoin as TwoCoin
    from ..kinds.classes.simulate.judges import JUDGE_SCENARIOS as JUDGE_SCENARIOS
    from ..kinds.classes.simulate.judges import PlantedJudges as PlantedJudges
    from ..kinds.classes.simulate.planted import Crowd as Crowd
    from ..kinds.classes.simulate.planted import crowd as crowd
    from ..kinds.classes.simulate.scenarios import SCENARIOS as SCENARIOS
    from ..kinds.comparisons.simulate import COMPARISON_SCENARIOS as COMPARISON_SCENARIOS
    from ..kinds.comparisons.simulate import PlantedComparisons as PlantedComparisons
    from ..kinds.numbers.simulate import NUMBER_SCENARIOS as NUMBER_SCENARIOS
    from ..kinds.numbers.simulate import PlantedNumbers as PlantedNumbers
    from ..kinds.ordered.simulate import ORDERED_SCENARIOS as ORDERED_SCENARIOS
    from ..kinds.ordered.simulate import PlantedOrder as PlantedOrder
    from ..kinds.outlines.simulate import OUTLINE_SCENARIOS as OUTLINE_SCENARIOS
    from ..kinds.outlines.simulate import PlantedOutlines as PlantedOutlines
    from ..kinds.probabilities.simulate import PROBABILITY_SCENARIOS as PROBABILITY_SCENARIOS
    from ..kinds.probabilities.simulate import PlantedProbabilities as PlantedProbabilities
    from ..kinds.probabilities.simulate import probability_crowd as probability_crowd
    from ..kinds.rankings.simulate import RANKING_SCENARIOS as RANKING_SCENARIOS
    from ..kinds.rankings.simulate import PlantedRankings as PlantedRankings
    from ..kinds.scenarios import EVERY as EVERY
    from ..kinds.scenarios import scenario as scenario
    from ..kinds.sets.simulate import SET_SCENARIOS as SET_SCENARIOS
    from ..kinds.sets.simulate import PlantedSets as PlantedSets
    from ..kinds.similarities.simulate import SIMILARITY_SCENARIOS as SIMILARITY_SCENARIOS
    from ..kinds.similarities.simulate import PlantedSimilarities as PlantedSimilarities
    from ..kinds.spans.simulate import SPAN_SCENARIOS as SPAN_SCENARIOS
    from ..kinds.spans.simulate import PlantedSpans as PlantedSpans
    from ..kinds.texts.simulate import TEXT_SCENARIOS as TEXT_SCENARIOS
    from ..kinds.texts.simulate import PlantedTexts as PlantedTexts
    from ..kinds.triplets.simulate import TRIPLET_SCENARIOS as TRIPLET_SCENARIOS
    from ..kinds.triplets.simulate import PlantedTriplets as PlantedTriplets
    from .planted import JudgeScenario as JudgeScenario
    from .planted import LinkedScenario as LinkedScenario
    from .planted import NumberScenario as NumberScenario
    from .planted import OrderedScenario as OrderedScenario
    from .planted import Scenario as Scenario
    from .planted import SetScenario as SetScenario
    from .planted import SpanScenario as SpanScenario
    from .planted import TextScenario as TextScenario

__getattr__, __dir__, __all__ = attach(__name__, __file__)
