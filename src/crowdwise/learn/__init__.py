"""learn: a net and a model of every worker, trained together on the raw labels or numbers of a crowd.

>>> from crowdwise.learn import CrowdClassifier, CrowdRegressor
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.errors import MissingDependencyError

_HOMES = {
    "CrowdBatch": "feeding.batch",
    "Crowd": "feeding.crowd",
    "CrowdData": "feeding.data",
    "FeatureFolder": "feeding.folder",
    "CrowdMethod": "method",
    "CrowdModel": "method",
    "Defaults": "method",
    "Output": "method",
    "Frozen": "nets",
    "make_net": "nets",
    "Sweep": "training.sweep",
    "train": "training.loop",
    "History": "training.history",
    "Callback": "training.callbacks",
    "JsonLines": "training.callbacks",
    "TensorBoard": "training.callbacks",
    "CrowdClassifier": "classifier",
    "CrowdRegressor": "regressor",
    "CrowdRanker": "comparisons.ranker",
    "CrowdClusterer": "similarities.clusterer",
    "CrowdTagger": "spans.tagger",
    "NumberCrowd": "numbers.crowd",
    "NumberMethod": "numbers.method",
    "Choice": "choice",
    "choose": "choice",
}

if TYPE_CHECKING:
    from .choice import Choice, choose
    from .classifier import CrowdClassifier
    from .comparisons.ranker import CrowdRanker
    from .feeding.batch import CrowdBatch
    from .feeding.crowd import Crowd
    from .feeding.data import CrowdData
    from .feeding.folder import FeatureFolder
    from .method import CrowdMethod, CrowdModel, Defaults, Output
    from .nets import Frozen, make_net
    from .numbers.crowd import NumberCrowd
    from .numbers.method import NumberMethod
    from .regressor import CrowdRegressor
    from .similarities.clusterer import CrowdClusterer
    from .spans.tagger import CrowdTagger
    from .training.callbacks import Callback, JsonLines, TensorBoard
    from .training.history import History
    from .training.loop import train
    from .training.sweep import Sweep

__all__ = [
    "Callback",
    "Choice",
    "Crowd",
    "CrowdBatch",
    "CrowdClassifier",
    "CrowdClusterer",
    "CrowdData",
    "CrowdMethod",
    "CrowdModel",
    "CrowdRanker",
    "CrowdRegressor",
    "CrowdTagger",
    "Defaults",
    "FeatureFolder",
    "Frozen",
    "History",
    "JsonLines",
    "NumberCrowd",
    "NumberMethod",
    "Output",
    "Sweep",
    "TensorBoard",
    "choose",
    "make_net",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdwise.learn' has no attribute {name!r}")
    try:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        raise MissingDependencyError(
            f"crowdwise.learn needs {error.name}; install it with: pip install 'crowdwise[torch]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
