"""Whom to trust: who is good, who guesses, who copies whom, and is the agreement any good?

Every function takes (Annotations, Result), never a method object, and returns tables, flags or coefficients.

>>> import crowdwise as cw
>>> votes = cw.simulate.scenario("class_constant", tasks=300, workers=12, seed=1).annotations
>>> look = cw.workers.study(votes, cw.DawidSkene().fit(votes))
>>> sorted({flag.name for flag in look.flags})
['constant']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.kind import resolve
from .agreement import agreement, agreement_table, krippendorff_alpha
from .coaching import coachable
from .coefficient import Coefficient
from .confusions import class_table, confusion_table
from .dependence.colluders import collusion_flags
from .dependence.covariance import covariance_flags
from .drift import drift_flags, learning_curve
from .flags import Flag, flag_table
from .pairs import pair_table
from .quality import quality
from .ranking import best_first, worst_first
from .spammers import spammer_flags
from .studied import Studied
from .study import Study, study

__all__ = [
    "Coefficient",
    "Flag",
    "Removal",
    "Studied",
    "Study",
    "agreement",
    "agreement_outliers",
    "agreement_table",
    "best_first",
    "class_table",
    "coachable",
    "collusion_flags",
    "confusion_table",
    "covariance_flags",
    "dependence_groups",
    "drift_flags",
    "drop_flagged",
    "flag_table",
    "krippendorff_alpha",
    "learning_curve",
    "pair_table",
    "quality",
    "robust_outliers",
    "spammer_flags",
    "study",
    "worst_first",
]

# What refits a method lives upstairs, and is found here under the name that it always had.
_UPSTAIRS = {
    "Removal": "removal",
    "drop_flagged": "removal",
    "dependence_groups": "groups",
    "agreement_outliers": "outliers",
    "robust_outliers": "outliers",
}

if TYPE_CHECKING:
    Removal: Any
    drop_flagged: Any
    dependence_groups: Any
    agreement_outliers: Any
    robust_outliers: Any


def __getattr__(name: str) -> Any:
    if name not in _UPSTAIRS:
        raise AttributeError(f"module 'crowdwise.workers' has no attribute {name!r}")
    return resolve(f"crowdwise.audit.{_UPSTAIRS[name]}:{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_UPSTAIRS})
