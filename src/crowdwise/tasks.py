"""Which labels are doubtful, under its public name; its home is scoring/tasks.py."""

from .scoring.needs import SAFE
from .scoring.tasks import confused_classes, contested, suspected_gold

__all__ = ["SAFE", "confused_classes", "contested", "suspected_gold"]
