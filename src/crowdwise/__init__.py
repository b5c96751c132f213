"""crowdwise: from what many fallible people (or models) said to what is true, and a fair picture of who said what.

>>> import crowdwise as cw
>>> votes = cw.Annotations.from_arrays([1, 1, 1], ["ann", "bob", "eve"], ["cat", "cat", "dog"])
>>> cw.DawidSkene().fit(votes).to_table()["label"].to_list()
['cat']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .registry import METHODS

__version__ = "0.1.0"

# name -> module. Looked up when first asked for: `import crowdwise` stays quick and imports no numba.
_HOMES = {
    "Annotations": "annotations",
    "Result": "result",
    "Ledger": "ledger",
    "read": "io.read",
    "read_all": "io.reading",
    "read_truth": "io.read",
    "Reading": "io.reading",
    "method": "registry",
    "methods": "registry",
    "evaluate": "metrics",
    "compare": "comparison",
    "Comparison": "comparison",
    "oracle": "aggregate.oracle",
    "crowdlab": "aggregate.crowdlab",
    "calibrate": "aggregate.calibrate",
    "CrowdwiseError": "errors",
    "DataError": "errors",
    "ParameterError": "errors",
    "TrainingError": "errors",
    "MissingDependencyError": "errors",
    "CrowdwiseWarning": "errors",
    "ConvergenceWarning": "errors",
    "CostWarning": "errors",
    "IdentifiabilityWarning": "errors",
    "LedgerWarning": "errors",
}
# Every registered method is public under its class's name.
_HOMES |= {
    card.where.partition(":")[2]: card.where.partition(":")[0].removeprefix("crowdwise.") for card in METHODS.values()
}
_ROOMS = ("datasets", "errors", "learn", "registry", "report", "simulate", "tasks", "workers")

if TYPE_CHECKING:
    from . import datasets, errors, learn, registry, report, simulate, tasks, workers
    from .aggregate.auto import Auto
    from .aggregate.bayes_gc import BayesGC
    from .aggregate.belief_propagation import BeliefPropagation
    from .aggregate.bwa import BWA
    from .aggregate.calibrate import calibrate
    from .aggregate.cbcc import CBCC
    from .aggregate.cnmf import CNMF
    from .aggregate.committee import Committee
    from .aggregate.confusion_vector import ConfusionVector
    from .aggregate.crowdlab import crowdlab
    from .aggregate.dawid_skene import DawidSkene
    from .aggregate.ebcc import EBCC
    from .aggregate.eigen_ratio import EigenRatio
    from .aggregate.ghosh import Ghosh
    from .aggregate.gibbs import Gibbs
    from .aggregate.glad import GLAD
    from .aggregate.gold_majority_vote import GoldMajorityVote
    from .aggregate.group_aware import GroupAware
    from .aggregate.hierarchical import Hierarchical
    from .aggregate.ibcc import IBCC
    from .aggregate.iwmv import IWMV
    from .aggregate.kos import KOS
    from .aggregate.log_odds_vote import LogOddsVote
    from .aggregate.m3v import M3V
    from .aggregate.mace import MACE
    from .aggregate.majority_vote import MajorityVote
    from .aggregate.mean_field import MeanField
    from .aggregate.minimax_entropy import MinimaxEntropy
    from .aggregate.mmsr import MMSR
    from .aggregate.multi_spa import MultiSPA
    from .aggregate.one_coin import OneCoin
    from .aggregate.oracle import oracle
    from .aggregate.pgd import PGD
    from .aggregate.pooled import Pooled
    from .aggregate.raykar_yu import RaykarYu
    from .aggregate.sml import SML
    from .aggregate.spectral_ds import SpectralDS
    from .aggregate.sym_nmf import SymNMF
    from .aggregate.tensor import Tensor
    from .aggregate.wawa import Wawa
    from .aggregate.zencrowd import ZenCrowd
    from .aggregate.zero_based_skill import ZeroBasedSkill
    from .annotations import Annotations
    from .comparison import Comparison, compare
    from .errors import (
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
    from .io.read import read, read_truth
    from .io.reading import Reading, read_all
    from .ledger import Ledger
    from .metrics import evaluate
    from .registry import method
    from .registry import names as methods
    from .result import Result

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
