"""Errors and warnings, under their public name; their home is core/errors.py."""

from .core.errors import (
    ConvergenceWarning,
    CostWarning,
    CrowdwiseError,
    CrowdwiseWarning,
    DataError,
    IdentifiabilityWarning,
    LedgerWarning,
    MissingDependencyError,
    ParameterError,
    TrainingError,
)

__all__ = [
    "ConvergenceWarning",
    "CostWarning",
    "CrowdwiseError",
    "CrowdwiseWarning",
    "DataError",
    "IdentifiabilityWarning",
    "LedgerWarning",
    "MissingDependencyError",
    "ParameterError",
    "TrainingError",
]
