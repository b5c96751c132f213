"""Snorkel's label matrix L in a .npy file."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations import Annotations
from ..errors import DataError, ParameterError
from .sources import open_source


def read_snorkel(path: str | Path, columns: Mapping[str, str] | None, classes: Any) -> Annotations:
    """Integers, tasks × labelling functions, -1 = abstain."""
    source, where = open_source(path)
    if columns:
        raise ParameterError(f"{where}: a Snorkel matrix has no named columns; leave --columns out")
    try:
        if isinstance(source, bytes):
            matrix: npt.NDArray[Any] = np.load(io.BytesIO(source), allow_pickle=False)
        else:  # mapped, not loaded: a damaged header cannot ask for more memory than the file has bytes
            matrix = np.load(source, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        # numpy's advice would be to unpickle, which runs whatever a stranger put into the file.
        reason = "it holds no array of numbers" if "bject" in str(error) or "allow_" in str(error) else str(error)
        raise DataError(f"{where} is not a .npy file of integers ({reason}); write it with numpy.save") from None
    if not isinstance(matrix, np.ndarray):
        raise DataError(f"{where} is an archive of arrays; write the matrix alone with numpy.save")
    try:
        votes = Annotations.from_snorkel(np.ascontiguousarray(matrix))
        if not len(votes):
            raise DataError("every cell is -1, an abstention; there are no labels")
        return votes if classes is None else votes.with_classes(classes)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
