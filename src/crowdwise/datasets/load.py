"""Load a standard data set from a local folder."""

from __future__ import annotations

import gzip
import hashlib
import os
import warnings
import zipfile
import zlib
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, LedgerWarning, ParameterError
from ..io.read import read, read_truth
from ..kinds.classes.annotations import Annotations
from .catalogue import CATALOGUE, FAMILIES, DatasetCard

VARIABLE = "CROWDWISE_DATA"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set.

    Attributes:
        name: Name of the set.
        annotations: The labels.
        truth: A table task, label, or None. It may contain tasks without annotations (a test set) and lack tasks that
            have some.
        licence: Licence of the set.
        source: Where the set comes from.
        folder: The folder that it was read from.
    """

    name: str
    annotations: Annotations
    truth: pl.DataFrame | None
    licence: str
    source: str
    folder: Path = field(repr=False)

    @cached_property
    def features(self) -> dict[str, npt.NDArray[Any]] | None:
        """The arrays of features.npz by name (train_task, train_x, ...), read on first access; None without it."""
        path = self.folder / "features.npz"
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} cannot be read ({error}); fetch the data set again") from error


def names() -> list[str]:
    """Return the names of the catalogued sets.

    >>> names()[:3]
    ['abc3', 'adult', 'aircrowd6']
    """
    return sorted(CATALOGUE)


def card(name: str) -> DatasetCard:
    """Return the metadata of a set without reading it.

    >>> card("rte").n_workers
    164
    """
    if name not in CATALOGUE:
        close = get_close_matches(str(name), CATALOGUE, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names())}"
        raise ParameterError(f"there is no data set {name!r}; {hint}")
    return CATALOGUE[name]


def family(name: str) -> str:
    """Return the family of a set; hold out a whole family to test choices made on the other sets.

    >>> family("rte"), family("wsd"), family("dog")
    ('language', 'language', 'dog')
    """
    return FAMILIES[card(name).name]


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a catalogued set from a local folder.

    Each set's folder holds labels.csv or labels.csv.gz (task, worker, label), and optionally truth.csv (task, label)
    and features.npz. Tables may have more columns. A labels file that differs from the catalogued one is loaded with a
    warning.

    Args:
        name: Name of the set.
        folder: Folder with one folder per set (default: environment variable CROWDWISE_DATA).
    """
    about = card(name)
    home = _home(folder) / name
    labels = _labels_file(home, name)
    if _checksum(labels) != about.sha256:
        warnings.warn(
            f"{labels} differs from the catalogued file (by its checksum), so that published figures may not be met",
            LedgerWarning,
            stacklevel=2,
        )
    truth = home / "truth.csv"
    return Dataset(
        name=name,
        annotations=read(labels, duplicates=about.duplicates),
        truth=_truth(truth) if truth.is_file() else None,
        licence=about.licence,
        source=about.source,
        folder=home,
    )


def _truth(path: Path) -> pl.DataFrame:
    """Read the true classes; a class called "none" is intended in the catalogued sets."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*reads like a missing value", LedgerWarning)
        return read_truth(path)


def _home(folder: str | Path | None) -> Path:
    path_name = os.environ.get(VARIABLE) if folder is None else folder
    if not path_name:
        raise DataError(f"no folder of data sets is known; pass folder= or set the environment variable {VARIABLE}")
    path = Path(path_name)
    if not path.is_dir():
        raise DataError(
            f"{path} is not a folder; pass folder= or set {VARIABLE} to the folder that holds the data sets"
        )
    return path


def _labels_file(home: Path, name: str) -> Path:
    for path in (home / "labels.csv", home / "labels.csv.gz"):
        if path.is_file():
            return path
    raise DataError(f"{name} is not in {home.parent}: there is no {name}/labels.csv or {name}/labels.csv.gz")


def _checksum(path: Path) -> str:
    """Return the checksum of the decompressed file, which does not depend on the compression."""
    try:
        raw = path.read_bytes()
        return hashlib.sha256(gzip.decompress(raw) if path.suffix == ".gz" else raw).hexdigest()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); fetch the data set again") from error
