"""Class labels.

Public as `crowdwise.classes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import attach

if TYPE_CHECKING:
    from .annotations import Annotations as Annotations
    from .answers import Classes as Classes
    from .estimate import ClassPosterior as ClassPosterior
    from .estimate import ClassWorkers as ClassWorkers
    from .learn.classifier import CrowdClassifier as CrowdClassifier
    from .methods.base import Aggregator as Aggregator
    from .methods.base import SolveOptions as SolveOptions
    from .methods.bayes import IBCC as IBCC
    from .methods.bayes import BayesGC as BayesGC
    from .methods.bayes import BeliefPropagation as BeliefPropagation
    from .methods.bayes import Gibbs as Gibbs
    from .methods.bayes import MeanField as MeanField
    from .methods.communities import CBCC as CBCC
    from .methods.communities import EBCC as EBCC
    from .methods.confusion.hierarchical import Hierarchical as Hierarchical
    from .methods.confusion.mace import MACE as MACE
    from .methods.confusion.matrices import ConfusionVector as ConfusionVector
    from .methods.confusion.matrices import DawidSkene as DawidSkene
    from .methods.confusion.matrices import OneCoin as OneCoin
    from .methods.confusion.matrices import Pooled as Pooled
    from .methods.confusion.matrices import ZenCrowd as ZenCrowd
    from .methods.confusion.raykar_yu import RaykarYu as RaykarYu
    from .methods.dependence import GroupAware as GroupAware
    from .methods.difficulty import GLAD as GLAD
    from .methods.difficulty import MinimaxEntropy as MinimaxEntropy
    from .methods.ensemble.adaptive import Adaptive as Adaptive
    from .methods.ensemble.auto import Auto as Auto
    from .methods.ensemble.committee import Committee as Committee
    from .methods.ensemble.crowdlab import crowdlab as crowdlab
    from .methods.ensemble.verdict import Independence as Independence
    from .methods.ensemble.verdict import independence as independence
    from .methods.graphs import GraphField as GraphField
    from .methods.graphs import neighbour_links as neighbour_links
    from .methods.judges import FamilyVote as FamilyVote
    from .methods.judges import JudgeStack as JudgeStack
    from .methods.judges import JudgeSymbols as JudgeSymbols
    from .methods.moments import CNMF as CNMF
    from .methods.moments import SML as SML
    from .methods.moments import MultiSPA as MultiSPA
    from .methods.moments import SpectralDS as SpectralDS
    from .methods.moments import SymNMF as SymNMF
    from .methods.moments import Tensor as Tensor
    from .methods.partitioned import Solution as Solution
    from .methods.predictions import SurprisinglyPopular as SurprisinglyPopular
    from .methods.predictions import TruthSerum as TruthSerum
    from .methods.spectral import KOS as KOS
    from .methods.spectral import M3V as M3V
    from .methods.spectral import MMSR as MMSR
    from .methods.spectral import PGD as PGD
    from .methods.spectral import EigenRatio as EigenRatio
    from .methods.spectral import Ghosh as Ghosh
    from .methods.voting import BWA as BWA
    from .methods.voting import IWMV as IWMV
    from .methods.voting import GoldMajorityVote as GoldMajorityVote
    from .methods.voting import LogOddsVote as LogOddsVote
    from .methods.voting import MajorityVote as MajorityVote
    from .methods.voting import Subjective as Subjective
    from .methods.voting import Wawa as Wawa
    from .methods.voting import ZeroBasedSkill as ZeroBasedSkill
    from .scoring.compare import Comparison as Comparison
    from .scoring.oracle import oracle as oracle

__getattr__, __dir__, __all__ = attach(__name__, __file__)
