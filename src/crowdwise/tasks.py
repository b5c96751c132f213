"""Doubtful labels; the public name of kinds/classes/scoring/tasks.py."""

from .kinds.classes.scoring.recommendations import SAFE
from .kinds.classes.scoring.tasks import confused_classes, contested, suspected_gold

__all__ = ["SAFE", "confused_classes", "contested", "suspected_gold"]
