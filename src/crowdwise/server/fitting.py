"""Fits of many answers in a separate process.

Requests do not wait for the fit, its memory is freed when it ends, and if memory is short, the fit fails but not the
server. `python -m crowdwise.server.fitting` reads answers from its input and writes arrays.
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
from .live.fits import FitInput, fit_arrays

# Number of answers from which a fit runs in its own process; for fewer, starting it takes longer than the fit.
MANY = 20_000
# Seconds after which a fit in a separate process is terminated.
LONGEST = 1_800.0


class Fitter:
    """Runs one fit at a time and terminates those that take longer than `longest` seconds."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.longest = longest
        self._process: subprocess.Popen[bytes] | None = None

    def fit(self, rows: FitInput, *, flags: bool = True) -> Arrays:
        """The result of the method as arrays, computed in this process or in another one."""
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
            raise DataError(f"the fit took longer than {self.longest:g} seconds and was terminated") from None
        if self._process.returncode:
            words = errors.decode(errors="replace").strip().splitlines()[-1:]
            raise DataError(f"the fit ended with {self._process.returncode}: {' '.join(words) or 'no message'}"[:300])
        return unpack(out)

    def stop(self) -> None:
        """Terminate a running fit."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()


def packed(rows: FitInput, *, flags: bool) -> bytes:
    """The input of a fit as bytes."""
    plain = {"config": rows.config.to_dict(), "n_tasks": rows.n_tasks, "gold": list(rows.gold.items()),
             "answers": rows.answers, "names": rows.names, "checked": rows.checked, "flags": flags}  # fmt: skip
    return pack({"task": rows.task, "worker": rows.worker, "label": rows.label, "json": text(plain)})


def unpacked(data: bytes) -> tuple[FitInput, bool]:
    """The inverse of `packed`; and whether flags are computed."""
    arrays = unpack(data)
    plain = json.loads(arrays.pop("json").tobytes())
    flags: bool = plain.pop("flags")
    plain |= {"config": Config.of(plain["config"]), "gold": dict(plain["gold"]), "names": tuple(plain["names"])}
    plain["checked"] = tuple(plain["checked"])
    return FitInput(**(plain | arrays)), flags


def main() -> int:
    """Run one fit at low priority."""
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
