"""What can go wrong: every error says what is wrong, with which value, and what to do, in one sentence."""

from __future__ import annotations

# What users catch and filter; public under crowdwise.errors and as cw.<name>.
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
    """That a file or folder cannot be written, and why; polars and others leave the system's word in the message."""
    return DataError(f"{path} cannot be written ({error.strerror or ' '.join(str(error).split())[:120]})")


class ParameterError(CrowdwiseError):
    """A hyper-parameter or an option has a value that makes no sense."""


class TrainingError(CrowdwiseError):
    """Training went wrong: a loss that is not a number, a checkpoint of another run."""


class MissingDependencyError(CrowdwiseError):
    """An optional package is needed for what was asked."""


class CrowdwiseWarning(UserWarning):
    """Base of every warning of crowdwise."""


class ConvergenceWarning(CrowdwiseWarning):
    """An iterative method stopped at `max_iter` before its objective settled."""


class IdentifiabilityWarning(CrowdwiseWarning):
    """The data cannot tell what the method wants to know (for instance, one label per task)."""


class CostWarning(CrowdwiseWarning):
    """All of it would cost too much; the message says which part was done."""


class LedgerWarning(CrowdwiseWarning):
    """Something was left out on the way in, and the ledger says what."""
