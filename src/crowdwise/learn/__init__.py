"""learn: a net and a model of every worker, trained together on the raw labels or numbers of a crowd.

>>> from crowdwise.learn import CrowdClassifier, CrowdRegressor
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.errors import MissingDependencyError

_HOMES = {
    "CrowdBatch": "crowdwise.learn.data.batch",
    "Crowd": "crowdwise.learn.data.crowd",
    "CrowdData": "crowdwise.learn.data.dataset",
    "FeatureFolder": "crowdwise.learn.data.folder",
    "CrowdMethod": "crowdwise.learn.method",
    "CrowdModel": "crowdwise.learn.method",
    "Defaults": "crowdwise.learn.method",
    "Output": "crowdwise.learn.method",
    "Frozen": "crowdwise.learn.nets",
    "make_net": "crowdwise.learn.nets",
    "Sweep": "crowdwise.learn.training.sweep",
    "train": "crowdwise.learn.training.loop",
    "History": "crowdwise.learn.training.history",
    "Callback": "crowdwise.learn.training.history",
    "JsonLines": "crowdwise.learn.training.history",
    "TensorBoard": "crowdwise.learn.training.history",
    "CrowdClassifier": "crowdwise.kinds.classes.learn.classifier",
    "CrowdRegressor": "crowdwise.kinds.numbers.learn.regressor",
    "CrowdRanker": "crowdwise.kinds.comparisons.learn",
    "CrowdClusterer": "crowdwise.kinds.similarities.learn",
    "CrowdTagger": "crowdwise.kinds.spans.learn",
    "NumberCrowd": "crowdwise.kinds.numbers.learn.crowd",
    "NumberMethod": "crowdwise.kinds.numbers.learn.crowd",
    "Choice": "crowdwise.kinds.classes.learn.choice",
    "choose": "crowdwise.kinds.classes.learn.choice",
}

if TYPE_CHECKING:
    from ..kinds.classes.learn.choice import Choice, choose
    from ..kinds.classes.learn.classifier import CrowdClassifier
    from ..kinds.comparisons.learn import CrowdRanker
    from ..kinds.numbers.learn.crowd import NumberCrowd, NumberMethod
    from ..kinds.numbers.learn.regressor import CrowdRegressor
    from ..kinds.similarities.learn import CrowdClusterer
    from ..kinds.spans.learn import CrowdTagger
    from .data.batch import CrowdBatch
    from .data.crowd import Crowd
    from .data.dataset import CrowdData
    from .data.folder import FeatureFolder
    from .method import CrowdMethod, CrowdModel, Defaults, Output
    from .nets import Frozen, make_net
    from .training.history import Callback, History, JsonLines, TensorBoard
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
        value = getattr(import_module(_HOMES[name]), name)
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
