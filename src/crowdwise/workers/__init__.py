"""Worker quality: accuracy, guessing, copying, and agreement.

Every function takes (Annotations, Result), never a method object, and returns tables, flags or coefficients.

>>> import crowdwise as cw
>>> votes = cw.simulate.scenario("class_constant", tasks=300, workers=12, seed=1).annotations
>>> look = cw.workers.study(votes, cw.DawidSkene().fit(votes))
>>> sorted({flag.name for flag in look.flags})
['constant']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import attach

if TYPE_CHECKING:
    from ..kinds.classes.workers.coaching import coachable as coachable
    from ..kinds.classes.workers.dependence import collusion_flags as collusion_flags
    from ..kinds.classes.workers.dependence import covariance_flags as covariance_flags
    from ..kinds.classes.workers.drift import drift_flags as drift_flags
    from ..kinds.classes.workers.drift import learning_curve as learning_curve
    from ..kinds.classes.workers.judgement import class_table as class_table
    from ..kinds.classes.workers.judgement import confusion_table as confusion_table
    from ..kinds.classes.workers.outliers import agreement_outliers as agreement_outliers
    from ..kinds.classes.workers.outliers import robust_outliers as robust_outliers
    from ..kinds.classes.workers.pairs import pair_table as pair_table
    from ..kinds.classes.workers.quality import quality as quality
    from ..kinds.classes.workers.quality import spammer_flags as spammer_flags
    from ..kinds.classes.workers.removal import Removal as Removal
    from ..kinds.classes.workers.removal import dependence_groups as dependence_groups
    from ..kinds.classes.workers.removal import drop_flagged as drop_flagged
    from ..kinds.classes.workers.study import Study as Study
    from .any_kind import agreement as agreement
    from .any_kind import krippendorff_alpha as krippendorff_alpha
    from .flags import Coefficient as Coefficient
    from .flags import Flag as Flag
    from .flags import agreement_table as agreement_table
    from .flags import flag_table as flag_table
    from .studied import Studied as Studied
    from .studied import best_first as best_first
    from .studied import study as study
    from .studied import worst_first as worst_first

__getattr__, __dir__, __all__ = attach(__name__, __file__)
