"""Which labels are doubtful, under its public name; its home is scoring/tasks.py."""

from .scoring.tasks import confused_classes, contested, suspected_gold

__all__ = ["confused_classes", "contested", "suspected_gold"]
