"""crowdwise: from what many fallible people (or models) said to what is true, and a fair picture of who said what.

>>> import crowdwise as cw
>>> votes = cw.Annotations.from_arrays([1, 1, 1], ["ann", "bob", "eve"], ["cat", "cat", "dog"])
>>> cw.DawidSkene().fit(votes).to_table()["label"].to_list()
['cat']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .aggregate.registry import CARDS
from .core.errors import PUBLIC

__version__ = "0.1.0"

# name -> module. Looked up when first asked for: `import crowdwise` stays quick and imports no numba.
_HOMES = {
    "Annotations": "kinds.classes.annotations",
    "Votes": "core.votes",
    "Run": "io.run_folder",
    "fit_files": "scale.fitting",
    "number_votes": "kinds.numbers.votes",
    "box_votes": "kinds.boxes.answers",
    "similarity_votes": "kinds.similarities.answers",
    "partition_votes": "kinds.similarities.answers",
    "triplet_votes": "kinds.triplets.answers",
    "outline_votes": "kinds.outlines.answers",
    "probability_votes": "kinds.probabilities.votes",
    "set_votes": "kinds.sets.votes",
    "neighbour_links": "aggregate.graphs.links",
    "span_votes": "kinds.spans.votes",
    "text_votes": "kinds.texts.votes",
    "comparison_votes": "kinds.comparisons.votes",
    "ranking_votes": "kinds.rankings.votes",
    "Result": "core.result",
    "Ledger": "core.ledger",
    "read": "io.read",
    "read_all": "io.reading",
    "read_truth": "io.read",
    "Reading": "io.reading",
    "method": "aggregate.registry",
    "default_method": "aggregate.registry",
    "methods": "aggregate.registry",
    "evaluate": "scoring.evaluate",
    "compare": "scoring.compare",
    "Comparison": "scoring.compare",
    "oracle": "scoring.oracle",
    "independence": "aggregate.ensemble.verdict",
    "Independence": "aggregate.ensemble.verdict",
    "crowdlab": "aggregate.ensemble.crowdlab",
    "calibrate": "scoring.calibrate",
    "fit": "aggregate.fitting",
    "estimate": "guarantee.estimate",
    "difference": "guarantee.difference",
    "accept": "guarantee.accept",
    "cascade": "guarantee.cascade",
    "draw": "guarantee.sampling",
    "label_sets": "guarantee.sets",
    "plan": "guarantee.plan",
    "Certificate": "guarantee.certificate",
    "fairness": "fair.study",
}
_HOMES |= dict.fromkeys(PUBLIC, "core.errors")
# Every registered method is public under its class's name.
_HOMES |= {
    card.where.partition(":")[2]: card.where.partition(":")[0].removeprefix("crowdwise.") for card in CARDS.values()
}
_ROOMS = ("active", "datasets", "errors", "judges", "learn", "registry", "report", "simulate", "tasks", "workers")

if TYPE_CHECKING:
    from . import active, datasets, judges, learn, report, simulate, workers
    from .aggregate import registry
    from .aggregate.bayes.bayes_gc import BayesGC
    from .aggregate.bayes.belief_propagation import BeliefPropagation
    from .aggregate.bayes.cbcc import CBCC
    from .aggregate.bayes.ebcc import EBCC
    from .aggregate.bayes.gibbs import Gibbs
    from .aggregate.bayes.ibcc import IBCC
    from .aggregate.bayes.mean_field import MeanField
    from .aggregate.boxes.box_clusters import BoxClusters
    from .aggregate.boxes.box_hungarian import BoxHungarian
    from .aggregate.boxes.box_mean import BoxMean
    from .aggregate.comparisons.bradley_terry import BradleyTerry
    from .aggregate.comparisons.crowd_bt import CrowdBT
    from .aggregate.comparisons.davidson import Davidson
    from .aggregate.comparisons.elo import Elo
    from .aggregate.comparisons.noisy_bt import NoisyBT
    from .aggregate.comparisons.rank_centrality import RankCentrality
    from .aggregate.comparisons.tournament import Tournament
    from .aggregate.comparisons.win_rate import WinRate
    from .aggregate.confusion.confusion_vector import ConfusionVector
    from .aggregate.confusion.dawid_skene import DawidSkene
    from .aggregate.confusion.hierarchical import Hierarchical
    from .aggregate.confusion.mace import MACE
    from .aggregate.confusion.one_coin import OneCoin
    from .aggregate.confusion.pooled import Pooled
    from .aggregate.confusion.raykar_yu import RaykarYu
    from .aggregate.confusion.zencrowd import ZenCrowd
    from .aggregate.dependence.group_aware import GroupAware
    from .aggregate.difficulty.glad import GLAD
    from .aggregate.difficulty.minimax_entropy import MinimaxEntropy
    from .aggregate.ensemble.adaptive import Adaptive
    from .aggregate.ensemble.auto import Auto
    from .aggregate.ensemble.committee import Committee
    from .aggregate.ensemble.crowdlab import crowdlab
    from .aggregate.ensemble.verdict import Independence, independence
    from .aggregate.fitting import fit
    from .aggregate.graphs.graph_field import GraphField
    from .aggregate.graphs.links import neighbour_links
    from .aggregate.judges.family_vote import FamilyVote
    from .aggregate.judges.judge_stack import JudgeStack
    from .aggregate.judges.judge_symbols import JudgeSymbols
    from .aggregate.moments.cnmf import CNMF
    from .aggregate.moments.multi_spa import MultiSPA
    from .aggregate.moments.sml import SML
    from .aggregate.moments.spectral_ds import SpectralDS
    from .aggregate.moments.sym_nmf import SymNMF
    from .aggregate.moments.tensor import Tensor
    from .aggregate.numbers.bayesian_iterative import BayesianIterative
    from .aggregate.numbers.biased_mean import BiasedMean
    from .aggregate.numbers.catd import CATD
    from .aggregate.numbers.combined import Combined
    from .aggregate.numbers.crh import CRH
    from .aggregate.numbers.gaussian import Gaussian
    from .aggregate.numbers.mean import Mean
    from .aggregate.numbers.median import Median
    from .aggregate.numbers.spectral_regression import SpectralRegression
    from .aggregate.numbers.student import Student
    from .aggregate.numbers.trimmed_mean import TrimmedMean
    from .aggregate.ordered.ordinal_committee import OrdinalCommittee
    from .aggregate.ordered.ordinal_prior import OrdinalPrior
    from .aggregate.ordered.ordinal_split import OrdinalSplit
    from .aggregate.ordered.ordinal_types import OrdinalTypes
    from .aggregate.outlines.outline_vote import OutlineVote
    from .aggregate.outlines.pixel_rasa import PixelRasa
    from .aggregate.outlines.pixel_vote import PixelVote
    from .aggregate.outlines.staple import Staple
    from .aggregate.predictions.surprisingly_popular import SurprisinglyPopular
    from .aggregate.predictions.truth_serum import TruthSerum
    from .aggregate.probabilities.extremized import Extremized
    from .aggregate.probabilities.followed import Followed
    from .aggregate.probabilities.mean_probability import MeanProbability
    from .aggregate.probabilities.median_probability import MedianProbability
    from .aggregate.probabilities.pooled_probabilities import PooledProbabilities
    from .aggregate.probabilities.signals import Signals
    from .aggregate.rankings.borda import Borda
    from .aggregate.rankings.copeland import Copeland
    from .aggregate.rankings.kemeny import Kemeny
    from .aggregate.rankings.mallows import Mallows
    from .aggregate.rankings.plackett_luce import PlackettLuce
    from .aggregate.rankings.podium import Podium
    from .aggregate.registry import default_method, method
    from .aggregate.registry import names as methods
    from .aggregate.sets.binary_relevance import BinaryRelevance
    from .aggregate.sets.joint_sets import JointSets
    from .aggregate.sets.set_coin import SetCoin
    from .aggregate.sets.set_majority import SetMajority
    from .aggregate.similarities.clusters import Clusters
    from .aggregate.similarities.crowd_clusters import CrowdClusters
    from .aggregate.similarities.free_logits import FreeLogits
    from .aggregate.similarities.spectral_clusters import SpectralClusters
    from .aggregate.spans.bsc import BSC
    from .aggregate.spans.hmm_crowd import HMMCrowd
    from .aggregate.spans.span_combined import SpanCombined
    from .aggregate.spans.span_majority import SpanMajority
    from .aggregate.spans.span_vote import SpanVote
    from .aggregate.spans.token_dawid_skene import TokenDawidSkene
    from .aggregate.spectral.eigen_ratio import EigenRatio
    from .aggregate.spectral.ghosh import Ghosh
    from .aggregate.spectral.kos import KOS
    from .aggregate.spectral.mmsr import MMSR
    from .aggregate.spectral.pgd import PGD
    from .aggregate.texts.medoid import Medoid
    from .aggregate.texts.rover import Rover
    from .aggregate.texts.text_combined import TextCombined
    from .aggregate.texts.weighted_medoid import WeightedMedoid
    from .aggregate.texts.weighted_rover import WeightedRover
    from .aggregate.triplets.crowd_embedding import CrowdEmbedding
    from .aggregate.triplets.triplet_embedding import TripletEmbedding
    from .aggregate.voting.bwa import BWA
    from .aggregate.voting.gold_majority_vote import GoldMajorityVote
    from .aggregate.voting.iwmv import IWMV
    from .aggregate.voting.log_odds_vote import LogOddsVote
    from .aggregate.voting.m3v import M3V
    from .aggregate.voting.majority_vote import MajorityVote
    from .aggregate.voting.subjective import Subjective
    from .aggregate.voting.wawa import Wawa
    from .aggregate.voting.zero_based_skill import ZeroBasedSkill
    from .core import errors
    from .core.errors import (
        ConvergenceWarning,
        CostWarning,
        CrowdwiseError,
        CrowdwiseWarning,
        DataError,
        IdentifiabilityWarning,
        LedgerWarning,
        MissingDependencyError,
        ParameterError,
        TrainingError,
    )
    from .core.ledger import Ledger
    from .core.result import Result
    from .core.votes import Votes
    from .fair.study import fairness
    from .guarantee.accept import accept
    from .guarantee.cascade import cascade
    from .guarantee.certificate import Certificate
    from .guarantee.difference import difference
    from .guarantee.estimate import estimate
    from .guarantee.plan import plan
    from .guarantee.sampling import draw
    from .guarantee.sets import label_sets
    from .io.read import read, read_truth
    from .io.reading import Reading, read_all
    from .io.run_folder import Run
    from .kinds.boxes.answers import box_votes
    from .kinds.classes.annotations import Annotations
    from .kinds.comparisons.votes import comparison_votes
    from .kinds.numbers.votes import number_votes
    from .kinds.outlines.answers import outline_votes
    from .kinds.probabilities.votes import probability_votes
    from .kinds.rankings.votes import ranking_votes
    from .kinds.sets.votes import set_votes
    from .kinds.similarities.answers import partition_votes, similarity_votes
    from .kinds.spans.votes import span_votes
    from .kinds.texts.votes import text_votes
    from .kinds.triplets.answers import triplet_votes
    from .scale.fitting import fit_files
    from .scoring import tasks
    from .scoring.calibrate import calibrate
    from .scoring.compare import Comparison, compare
    from .scoring.evaluate import evaluate
    from .scoring.oracle import oracle

__all__ = [*_HOMES, *_ROOMS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        attribute = "names" if name == "methods" else name
        value = getattr(import_module(f".{_HOMES[name]}", __name__), attribute)
    elif name in _ROOMS:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'crowdwise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
