"""Whom to trust: who is good, who guesses, who copies whom, and is the agreement any good?

Every function takes (Annotations, Result), never a method object, and returns tables, flags or coefficients.

>>> import crowdwise as cw
>>> votes = cw.simulate.scenario("class_constant", tasks=300, workers=12, seed=1).annotations
>>> look = cw.workers.study(votes, cw.DawidSkene().fit(votes))
>>> sorted({flag.name for flag in look.flags})
['constant']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..kinds.classes.workers.agreement import agreement, krippendorff_alpha
    from ..kinds.classes.workers.coaching import coachable
    from ..kinds.classes.workers.dependence import collusion_flags, covariance_flags
    from ..kinds.classes.workers.drift import drift_flags, learning_curve
    from ..kinds.classes.workers.judgement import class_table, confusion_table
    from ..kinds.classes.workers.outliers import agreement_outliers, robust_outliers
    from ..kinds.classes.workers.pairs import pair_table
    from ..kinds.classes.workers.quality import quality, spammer_flags
    from ..kinds.classes.workers.removal import Removal, dependence_groups, drop_flagged
    from ..kinds.classes.workers.study import Study
    from .flags import Coefficient, Flag, agreement_table, flag_table
    from .studied import Studied, best_first, study, worst_first

# name -> module. The functions for class labels are imported when they are first asked for.
_HOMES = {
    "agreement": "kinds.classes.workers.agreement",
    "krippendorff_alpha": "kinds.classes.workers.agreement",
    "coachable": "kinds.classes.workers.coaching",
    "collusion_flags": "kinds.classes.workers.dependence",
    "covariance_flags": "kinds.classes.workers.dependence",
    "drift_flags": "kinds.classes.workers.drift",
    "learning_curve": "kinds.classes.workers.drift",
    "class_table": "kinds.classes.workers.judgement",
    "confusion_table": "kinds.classes.workers.judgement",
    "agreement_outliers": "kinds.classes.workers.outliers",
    "robust_outliers": "kinds.classes.workers.outliers",
    "pair_table": "kinds.classes.workers.pairs",
    "quality": "kinds.classes.workers.quality",
    "spammer_flags": "kinds.classes.workers.quality",
    "Removal": "kinds.classes.workers.removal",
    "dependence_groups": "kinds.classes.workers.removal",
    "drop_flagged": "kinds.classes.workers.removal",
    "Study": "kinds.classes.workers.study",
    "Coefficient": "workers.flags",
    "Flag": "workers.flags",
    "agreement_table": "workers.flags",
    "flag_table": "workers.flags",
    "Studied": "workers.studied",
    "best_first": "workers.studied",
    "worst_first": "workers.studied",
    "study": "workers.studied",
}
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"crowdwise.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
