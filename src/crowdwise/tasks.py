"""Which labels are doubtful, under its public name; its home is kinds/classes/scoring/tasks.py."""

from .kinds.classes.scoring.needs import SAFE
from .kinds.classes.scoring.tasks import confused_classes, contested, suspected_gold

__all__ = ["SAFE", "confused_classes", "contested", "suspected_gold"]
