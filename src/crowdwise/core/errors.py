"""Errors and warnings. Each message states in one sentence what is wrong, with which value, and what to do."""

from __future__ import annotations

# Public under crowdwise.errors and as cw.<name>.
PUBLIC = (
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
)


class CrowdwiseError(Exception):
    """Base of every error that the user can fix; the command line prints it in one line and exits with 2."""


class DataError(CrowdwiseError):
    """The annotations, the gold labels or a file cannot be used as they are."""


def unwritable(path: object, error: OSError) -> DataError:
    """Return the error for a file or folder that cannot be written, with the reason the system gave."""
    return DataError(f"{path} cannot be written ({error.strerror or ' '.join(str(error).split())[:120]})")


class ParameterError(CrowdwiseError):
    """A hyperparameter or an option has an invalid value."""


class TrainingError(CrowdwiseError):
    """Training failed: a loss that is not a number, or a checkpoint of another run."""


class MissingDependencyError(CrowdwiseError):
    """An optional package is required for the requested operation."""


class CrowdwiseWarning(UserWarning):
    """Base of every warning of crowdwise."""


class ConvergenceWarning(CrowdwiseWarning):
    """An iterative method stopped at `max_iter` before its objective converged."""


class IdentifiabilityWarning(CrowdwiseWarning):
    """The data do not identify what the method estimates (for instance, one label per task)."""


class CostWarning(CrowdwiseWarning):
    """The full computation would be too expensive; the message states which part was done."""


class LedgerWarning(CrowdwiseWarning):
    """Some input was left out; the ledger states what."""
