"""Fits of many answers in a process of their own.

People who answer do not wait for it, its memory is gone when it ends, and where the machine has too little the fit
fails and the server goes on. `python -m crowdwise.server.fitting` reads answers from its input and writes arrays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

from ..core.errors import CrowdwiseError, DataError
from .config import Config
from .live.baseline import Arrays, pack, text, unpack
from .live.fits import Rows, fit_arrays

# Answers from which a fit is worth a process: below, its start would take longer than the fit.
MANY = 20_000
# Seconds after which a fit in a process of its own is ended.
LONGEST = 1_800.0


class Fitter:
    """One fit at a time; one that takes longer than `longest` seconds is ended."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.longest = longest
        self._process: subprocess.Popen[bytes] | None = None

    def fit(self, rows: Rows, *, flags: bool = True) -> Arrays:
        """What the method believes, from this process or another: the same."""
        if max(len(rows.task), len(rows.answers or ())) < MANY or not sys.executable:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return fit_arrays(rows, flags=flags)
        command = [sys.executable, "-m", "crowdwise.server.fitting"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, errors = self._process.communicate(packed(rows, flags=flags), timeout=self.longest)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise DataError(f"the fit took longer than {self.longest:g} seconds and was ended") from None
        if self._process.returncode:
            words = errors.decode(errors="replace").strip().splitlines()[-1:]
            raise DataError(f"the fit ended with {self._process.returncode}: {' '.join(words) or 'no word'}"[:300])
        return unpack(out)

    def stop(self) -> None:
        """Give up a fit that runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()


def packed(rows: Rows, *, flags: bool) -> bytes:
    """Answers as bytes."""
    plain = {"config": rows.config.to_dict(), "n_tasks": rows.n_tasks, "gold": list(rows.gold.items()),
             "answers": rows.answers, "names": rows.names, "checked": rows.checked, "flags": flags}  # fmt: skip
    return pack({"task": rows.task, "worker": rows.worker, "label": rows.label, "json": text(plain)})


def unpacked(data: bytes) -> tuple[Rows, bool]:
    """And back; whether flags are asked for."""
    arrays = unpack(data)
    plain = json.loads(arrays.pop("json").tobytes())
    flags: bool = plain.pop("flags")
    plain |= {"config": Config.of(plain["config"]), "gold": dict(plain["gold"]), "names": tuple(plain["names"])}
    plain["checked"] = tuple(plain["checked"])
    return Rows(**(plain | arrays)), flags


def main() -> int:
    """One fit, after everybody else's work."""
    if hasattr(os, "nice"):
        os.nice(10)
    warnings.simplefilter("ignore")
    rows, flags = unpacked(sys.stdin.buffer.read())
    try:
        arrays = pack(fit_arrays(rows, flags=flags))
    except CrowdwiseError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.buffer.write(arrays)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
