"""Where the repository and the real data sets are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def found_data() -> Path | None:
    """The folder of the real data sets: CROWDWISE_DATA, else the one beside the repository, else nothing."""
    folder = Path(os.environ.get("CROWDWISE_DATA") or ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def data_folder() -> Path:
    """The same for code that needs it."""
    if (folder := found_data()) is None:
        raise SystemExit("the real data sets are not here: set CROWDWISE_DATA to their folder")
    return folder


if (_folder := found_data()) is not None:
    os.environ["CROWDWISE_DATA"] = str(_folder)  # for crowdwise.datasets
