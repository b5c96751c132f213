"""Measurements of crowdwise against its peers; nothing here is installed."""

import os
from pathlib import Path

# The real data sets: where CROWDWISE_DATA says, else in the folder beside the repository if it is there.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("CROWDWISE_DATA", str(_BESIDE))


def data_folder() -> Path:
    """The folder of the real data sets."""
    found = os.environ.get("CROWDWISE_DATA")
    if not found:
        raise SystemExit("the real data sets are not here: set CROWDWISE_DATA to their folder")
    return Path(found)
