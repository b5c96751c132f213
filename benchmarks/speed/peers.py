"""crowd-kit in a virtual environment of its own: made once under .venvs/, used again afterwards."""

from __future__ import annotations

import subprocess
import sys
import venv
from functools import lru_cache
from pathlib import Path

from . import child

CROWD_KIT = "crowd-kit==1.4.2"
HOME = child.ROOT / ".venvs" / "crowd-kit"


@lru_cache(maxsize=1)
def crowd_kit() -> str | None:
    """The Python that has crowd-kit, or None where it cannot be had (the reason goes to stderr)."""
    python = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not _works(python):
        try:
            print(f"making an environment for {CROWD_KIT} in .venvs/crowd-kit ...", file=sys.stderr)
            venv.create(HOME, with_pip=True, clear=HOME.exists())
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", CROWD_KIT]
            subprocess.run(install, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            print(f"{CROWD_KIT} could not be installed; going on without it", file=sys.stderr)
            return None
    return str(python) if _works(python) else None


@lru_cache(maxsize=1)
def crowd_kit_versions() -> dict[str, str] | None:
    """What is installed beside crowd-kit."""
    python = crowd_kit()
    if python is None:
        return None
    found = child.run("crowdkit:versions", python=python)
    found.pop("peak_mb")
    return found


def _works(python: Path) -> bool:
    if not python.exists():
        return False
    done = subprocess.run([str(python), "-c", "import crowdkit.aggregation"], capture_output=True, check=False)
    return done.returncode == 0
