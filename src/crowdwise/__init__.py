"""Turn labels from many imperfect annotators into reliable labels, calibrated confidence and annotator quality.

>>> import crowdwise as cw
>>> votes = cw.Annotations.from_arrays([1, 1, 1], ["ann", "bob", "eve"], ["cat", "cat", "dog"])
>>> cw.fit(votes).to_table()["label"].to_list()
['cat']

Reading, fitting and evaluating are functions of this package. What belongs to one kind of answer is in `cw.<kind>`:
`cw.numbers.Combined`, `cw.comparisons.BradleyTerry`, `cw.classes.IBCC`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.lazy import attach

__version__ = "0.2.0"

if TYPE_CHECKING:
    from . import active as active
    from . import datasets as datasets
    from . import errors as errors
    from . import judges as judges
    from . import learn as learn
    from . import registry as registry
    from . import report as report
    from . import simulate as simulate
    from . import tasks as tasks
    from . import workers as workers
    from .core.errors import CrowdwiseError as CrowdwiseError
    from .core.errors import CrowdwiseWarning as CrowdwiseWarning
    from .core.errors import DataError as DataError
    from .core.errors import ParameterError as ParameterError
    from .core.ledger import Ledger as Ledger
    from .core.method import Method as Method
    from .core.method_registry import default_method as default_method
    from .core.method_registry import method as method
    from .core.method_registry import methods as methods
    from .core.result import Result as Result
    from .core.votes import Votes as Votes
    from .evaluation.compare import compare as compare
    from .evaluation.evaluate import evaluate as evaluate
    from .evaluation.fairness.study import fairness as fairness
    from .evaluation.fitting import calibrate as calibrate
    from .evaluation.fitting import fit as fit
    from .evaluation.guarantee.accept import accept as accept
    from .evaluation.guarantee.cascade import cascade as cascade
    from .evaluation.guarantee.certificate import Certificate as Certificate
    from .evaluation.guarantee.difference import difference as difference
    from .evaluation.guarantee.estimate import estimate as estimate
    from .evaluation.guarantee.gate import gate as gate
    from .evaluation.guarantee.judge_certificate import certify as certify
    from .evaluation.guarantee.plan import plan as plan
    from .evaluation.guarantee.sampling import draw as draw
    from .evaluation.guarantee.sets import label_sets as label_sets
    from .evaluation.sets_compared import compare_sets as compare_sets
    from .evaluation.variance import variance as variance
    from .io.read import read as read
    from .io.read import read_truth as read_truth
    from .io.reading import Reading as Reading
    from .io.reading import read_all as read_all
    from .io.run_folder import Run as Run
    from .kinds import boxes as boxes
    from .kinds import classes as classes
    from .kinds import comparisons as comparisons
    from .kinds import numbers as numbers
    from .kinds import ordered as ordered
    from .kinds import outlines as outlines
    from .kinds import probabilities as probabilities
    from .kinds import rankings as rankings
    from .kinds import sets as sets
    from .kinds import similarities as similarities
    from .kinds import spans as spans
    from .kinds import texts as texts
    from .kinds import triplets as triplets
    from .kinds.classes.annotations import Annotations as Annotations
    from .kinds.classes.methods.confusion.mace import MACE as MACE
    from .kinds.classes.methods.confusion.matrices import DawidSkene as DawidSkene
    from .kinds.classes.methods.confusion.matrices import OneCoin as OneCoin
    from .kinds.classes.methods.difficulty import GLAD as GLAD
    from .kinds.classes.methods.ensemble.adaptive import Adaptive as Adaptive
    from .kinds.classes.methods.voting import MajorityVote as MajorityVote
    from .out_of_core.fitting import fit_files as fit_files

_lazy, _, _names = attach(__name__, __file__)
__all__ = [*_names, "__version__"]


def __getattr__(name: str) -> Any:
    return _lazy(name) if name in _names else _moved(name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _moved(name: str) -> Any:
    """Names that crowdwise 0.1 had here and that are now in the package of their kind or in `errors`."""
    if not name.startswith("_"):
        from importlib import import_module

        from .core.method_registry import KINDS

        for home, module in [("errors", "errors"), *((kind, f"kinds.{kind}") for kind in KINDS)]:
            package = import_module(f".{module}", __name__)
            if name in package.__all__:
                import warnings

                message = f"crowdwise.{name} is now crowdwise.{home}.{name}"
                warnings.warn(message, DeprecationWarning, stacklevel=3)
                return getattr(package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
