"""crowdwise: from what many fallible people (or models) said to what is true, and a fair picture of who said what.

>>> import crowdwise as cw
>>> votes = cw.Annotations.from_arrays([1, 1, 1], ["ann", "bob", "eve"], ["cat", "cat", "dog"])
>>> cw.DawidSkene().fit(votes).to_table()["label"].to_list()
['cat']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .core.errors import PUBLIC
from .core.method_registry import CARDS

__version__ = "0.1.0"

# name -> module. Looked up when first asked for: `import crowdwise` stays quick and imports no numba.
_HOMES = {
    "Annotations": "kinds.classes.annotations",
    "Votes": "core.votes",
    "Run": "io.run_folder",
    "fit_files": "out_of_core.fitting",
    "number_votes": "kinds.numbers.kind",
    "box_votes": "kinds.boxes.answers",
    "similarity_votes": "kinds.similarities.answers",
    "partition_votes": "kinds.similarities.answers",
    "triplet_votes": "kinds.triplets.answers",
    "outline_votes": "kinds.outlines.answers",
    "probability_votes": "kinds.probabilities.kind",
    "set_votes": "kinds.sets.kind",
    "neighbour_links": "kinds.classes.methods.graphs",
    "span_votes": "kinds.spans.kind",
    "text_votes": "kinds.texts.kind",
    "comparison_votes": "kinds.comparisons.kind",
    "ranking_votes": "kinds.rankings.kind",
    "Result": "core.result",
    "Ledger": "core.ledger",
    "read": "io.read",
    "read_all": "io.reading",
    "read_truth": "io.read",
    "Reading": "io.reading",
    "method": "core.method_registry",
    "default_method": "core.method_registry",
    "methods": "core.method_registry",
    "evaluate": "evaluation.evaluate",
    "compare": "evaluation.compare",
    "Comparison": "kinds.classes.scoring.compare",
    "oracle": "kinds.classes.scoring.contest",
    "independence": "kinds.classes.methods.ensemble.verdict",
    "Independence": "kinds.classes.methods.ensemble.verdict",
    "crowdlab": "kinds.classes.methods.ensemble.crowdlab",
    "calibrate": "kinds.classes.scoring.calibrate",
    "fit": "evaluation.fitting",
    "estimate": "evaluation.guarantee.estimate",
    "difference": "evaluation.guarantee.difference",
    "accept": "evaluation.guarantee.accept",
    "cascade": "evaluation.guarantee.cascade",
    "draw": "evaluation.guarantee.sampling",
    "label_sets": "evaluation.guarantee.sets",
    "plan": "evaluation.guarantee.plan",
    "Certificate": "evaluation.guarantee.certificate",
    "fairness": "evaluation.fairness.study",
}
_HOMES |= dict.fromkeys(PUBLIC, "core.errors")
# Every registered method is public under its class's name.
_HOMES |= {
    card.where.partition(":")[2]: card.where.partition(":")[0].removeprefix("crowdwise.") for card in CARDS.values()
}
_ROOMS = ("active", "datasets", "errors", "judges", "learn", "registry", "report", "simulate", "tasks", "workers")

if TYPE_CHECKING:
    from . import active, datasets, judges, learn, report, simulate, workers
    from .core import errors
    from .core import method_registry as registry
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
    from .core.method_registry import default_method, method
    from .core.method_registry import names as methods
    from .core.result import Result
    from .core.votes import Votes
    from .evaluation.compare import compare
    from .evaluation.evaluate import evaluate
    from .evaluation.fairness.study import fairness
    from .evaluation.fitting import fit
    from .evaluation.guarantee.accept import accept
    from .evaluation.guarantee.cascade import cascade
    from .evaluation.guarantee.certificate import Certificate
    from .evaluation.guarantee.difference import difference
    from .evaluation.guarantee.estimate import estimate
    from .evaluation.guarantee.plan import plan
    from .evaluation.guarantee.sampling import draw
    from .evaluation.guarantee.sets import label_sets
    from .io.read import read, read_truth
    from .io.reading import Reading, read_all
    from .io.run_folder import Run
    from .kinds.boxes.answers import box_votes
    from .kinds.boxes.methods import BoxClusters, BoxHungarian, BoxMean
    from .kinds.classes.annotations import Annotations
    from .kinds.classes.methods.bayes import IBCC, BayesGC, BeliefPropagation, Gibbs, MeanField
    from .kinds.classes.methods.communities import CBCC, EBCC
    from .kinds.classes.methods.confusion.hierarchical import Hierarchical
    from .kinds.classes.methods.confusion.mace import MACE
    from .kinds.classes.methods.confusion.matrices import ConfusionVector, DawidSkene, OneCoin, Pooled, ZenCrowd
    from .kinds.classes.methods.confusion.raykar_yu import RaykarYu
    from .kinds.classes.methods.dependence import GroupAware
    from .kinds.classes.methods.difficulty import GLAD, MinimaxEntropy
    from .kinds.classes.methods.ensemble.adaptive import Adaptive
    from .kinds.classes.methods.ensemble.auto import Auto
    from .kinds.classes.methods.ensemble.committee import Committee
    from .kinds.classes.methods.ensemble.crowdlab import crowdlab
    from .kinds.classes.methods.ensemble.verdict import Independence, independence
    from .kinds.classes.methods.graphs import GraphField, neighbour_links
    from .kinds.classes.methods.judges import FamilyVote, JudgeStack, JudgeSymbols
    from .kinds.classes.methods.moments import CNMF, SML, MultiSPA, SpectralDS, SymNMF, Tensor
    from .kinds.classes.methods.predictions import SurprisinglyPopular, TruthSerum
    from .kinds.classes.methods.spectral import KOS, M3V, MMSR, PGD, EigenRatio, Ghosh
    from .kinds.classes.methods.voting import (
        BWA,
        IWMV,
        GoldMajorityVote,
        LogOddsVote,
        MajorityVote,
        Subjective,
        Wawa,
        ZeroBasedSkill,
    )
    from .kinds.classes.scoring import tasks
    from .kinds.classes.scoring.calibrate import calibrate
    from .kinds.classes.scoring.compare import Comparison
    from .kinds.classes.scoring.contest import oracle
    from .kinds.comparisons.kind import comparison_votes
    from .kinds.comparisons.methods import (
        BradleyTerry,
        CrowdBT,
        Davidson,
        Elo,
        NoisyBT,
        RankCentrality,
        Tournament,
        WinRate,
    )
    from .kinds.numbers.kind import number_votes
    from .kinds.numbers.methods import (
        CATD,
        CRH,
        BayesianIterative,
        BiasedMean,
        Combined,
        Gaussian,
        Mean,
        Median,
        SpectralRegression,
        Student,
        TrimmedMean,
    )
    from .kinds.ordered.methods import OrdinalCommittee, OrdinalPrior, OrdinalSplit, OrdinalTypes
    from .kinds.outlines.answers import outline_votes
    from .kinds.outlines.methods import OutlineVote, PixelRasa, PixelVote, Staple
    from .kinds.probabilities.kind import probability_votes
    from .kinds.probabilities.methods import (
        Extremized,
        Followed,
        MeanProbability,
        MedianProbability,
        PooledProbabilities,
        Signals,
    )
    from .kinds.rankings.kind import ranking_votes
    from .kinds.rankings.methods import Borda, Copeland, Kemeny, Mallows, PlackettLuce, Podium
    from .kinds.sets.kind import set_votes
    from .kinds.sets.methods import BinaryRelevance, JointSets, SetCoin, SetMajority
    from .kinds.similarities.answers import partition_votes, similarity_votes
    from .kinds.similarities.methods import Clusters, CrowdClusters, FreeLogits, SpectralClusters
    from .kinds.spans.kind import span_votes
    from .kinds.spans.methods import BSC, HMMCrowd, SpanCombined, SpanMajority, SpanVote, TokenDawidSkene
    from .kinds.texts.kind import text_votes
    from .kinds.texts.methods import Medoid, Rover, TextCombined, WeightedMedoid, WeightedRover
    from .kinds.triplets.answers import triplet_votes
    from .kinds.triplets.methods import CrowdEmbedding, TripletEmbedding
    from .out_of_core.fitting import fit_files

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
