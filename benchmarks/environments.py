"""A virtual environment for each peer or tool: made once under .venvs/, used again afterwards."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from . import ROOT


@dataclass(frozen=True)
class Environment:
    """`packages` is what pip is asked for; `alone` are packages taken without what they depend on."""

    name: str
    packages: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    module: str = ""

    @property
    def python(self) -> Path:
        """This environment's interpreter; our own where nothing has to be installed."""
        if not self.packages and not self.alone:
            return Path(sys.executable)
        home = ROOT / ".venvs" / self.name
        return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def ready(self) -> bool:
        """Whether the tool can be imported, after an attempt to install it; the reason it cannot goes to stderr."""
        if self._works():
            return True
        print(f"making an environment in .venvs/{self.name} ...", file=sys.stderr)
        try:
            venv.create(ROOT / ".venvs" / self.name, with_pip=True, clear=True)
            for packages, more in ((self.alone, ["--no-deps"]), (self.packages, [])):
                pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
                if packages:
                    subprocess.run([*pip, *more, *packages], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            print(f"{', '.join(self.alone + self.packages)} could not be installed", file=sys.stderr)
            return False
        return self._works()

    def _works(self) -> bool:
        if not self.python.exists():
            return False
        test = [str(self.python), "-c", f"import {self.module}"] if self.module else [str(self.python), "--version"]
        return subprocess.run(test, capture_output=True, check=False).returncode == 0
