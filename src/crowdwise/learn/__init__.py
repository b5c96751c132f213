"""Training: a net and a model of every worker, trained together on the raw answers of a crowd.

>>> from crowdwise.learn import CrowdClassifier, CrowdRegressor
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.errors import MissingDependencyError
from ..core.lazy import attach

if TYPE_CHECKING:
    from ..kinds.classes.learn.choice import Choice as Choice
    from ..kinds.classes.learn.choice import choose as choose
    from ..kinds.classes.learn.classifier import CrowdClassifier as CrowdClassifier
    from ..kinds.comparisons.learn import CrowdRanker as CrowdRanker
    from ..kinds.numbers.learn.crowd import NumberCrowd as NumberCrowd
    from ..kinds.numbers.learn.crowd import NumberMethod as NumberMethod
    from ..kinds.numbers.learn.regressor import CrowdRegressor as CrowdRegressor
    from ..kinds.similarities.learn import CrowdClusterer as CrowdClusterer
    from ..kinds.spans.learn import CrowdTagger as CrowdTagger
    from .data.batch import CrowdBatch as CrowdBatch
    from .data.crowd import Crowd as Crowd
    from .data.dataset import CrowdData as CrowdData
    from .data.folder import FeatureFolder as FeatureFolder
    from .method import CrowdMethod as CrowdMethod
    from .method import CrowdModel as CrowdModel
    from .method import Defaults as Defaults
    from .method import Output as Output
    from .nets import Frozen as Frozen
    from .nets import make_net as make_net
    from .options import TrainingOptions as TrainingOptions
    from .training.history import Callback as Callback
    from .training.history import History as History
    from .training.history import JsonLines as JsonLines
    from .training.history import TensorBoard as TensorBoard
    from .training.loop import train as train
    from .training.sweep import Sweep as Sweep

_lazy, __dir__, __all__ = attach(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _lazy(name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        raise MissingDependencyError(
            f"crowdwise.learn needs {error.name}; install it with: pip install 'crowdwise[torch]'"
        ) from None
