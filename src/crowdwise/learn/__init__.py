"""learn: a classifier and a model of every worker, trained together on the raw labels of a crowd.

>>> from crowdwise.learn import CrowdClassifier
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError

_HOMES = {
    "CrowdBatch": "batch",
    "Crowd": "crowd",
    "CrowdData": "data",
    "CrowdMethod": "method",
    "CrowdModel": "method",
    "Defaults": "method",
    "Output": "method",
    "Frozen": "nets",
    "make_net": "nets",
    "Sweep": "sweep",
    "train": "loop",
    "History": "history",
    "Callback": "callbacks",
    "JsonLines": "callbacks",
    "TensorBoard": "callbacks",
    "CrowdClassifier": "classifier",
    "Choice": "choice",
    "choose": "choice",
}

if TYPE_CHECKING:
    from .batch import CrowdBatch
    from .callbacks import Callback, JsonLines, TensorBoard
    from .choice import Choice, choose
    from .classifier import CrowdClassifier
    from .crowd import Crowd
    from .data import CrowdData
    from .history import History
    from .loop import train
    from .method import CrowdMethod, CrowdModel, Defaults, Output
    from .nets import Frozen, make_net
    from .sweep import Sweep

__all__ = [
    "Callback",
    "Choice",
    "Crowd",
    "CrowdBatch",
    "CrowdClassifier",
    "CrowdData",
    "CrowdMethod",
    "CrowdModel",
    "Defaults",
    "Frozen",
    "History",
    "JsonLines",
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
