"""Errors and warnings; the public name of core/errors.py."""

from .core.errors import PUBLIC
from .core.errors import ConvergenceWarning as ConvergenceWarning
from .core.errors import CostWarning as CostWarning
from .core.errors import CrowdwiseError as CrowdwiseError
from .core.errors import CrowdwiseWarning as CrowdwiseWarning
from .core.errors import DataError as DataError
from .core.errors import IdentifiabilityWarning as IdentifiabilityWarning
from .core.errors import LedgerWarning as LedgerWarning
from .core.errors import MissingDependencyError as MissingDependencyError
from .core.errors import ParameterError as ParameterError
from .core.errors import TrainingError as TrainingError

__all__ = list(PUBLIC)
