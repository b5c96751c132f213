"""Snorkel's label matrix L in a .npy file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core import kind as kinds
from ..core.errors import DataError, ParameterError
from ..core.faults import first_line
from .npz import FAULTS, read_npy
from .sources import open_source, starts_with


def read_snorkel(path: str | Path, columns: Mapping[str, str] | None, classes: Any) -> Any:
    """Read a matrix of integers, tasks × labelling functions, with -1 for abstentions."""
    source, where = open_source(path)
    if columns:
        raise ParameterError(f"{where}: a Snorkel matrix has no named columns; leave --columns out")
    if starts_with(source, b"PK"):
        raise DataError(f"{where} is an archive of arrays; write the matrix alone with numpy.save")
    try:
        matrix = read_npy(source, lambda headers: headers)
    except FAULTS as error:
        raise DataError(
            f"{where} is not a .npy file of integers ({first_line(error)}); write it with numpy.save"
        ) from None
    try:
        annotations: Any = kinds.get("classes").votes
        votes = annotations.from_snorkel(np.ascontiguousarray(matrix))
        if not len(votes):
            raise DataError("every cell is -1, an abstention; there are no labels")
        return votes if classes is None else votes.with_classes(classes)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
