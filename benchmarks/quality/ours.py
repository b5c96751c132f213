"""Our own cells: every registered method that needs no gold, with default parameters."""

from __future__ import annotations

import signal
import time
import warnings
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.core import method_registry as registry

from . import cells, sets
from .score import score

# Methods that draw (found by trying two seeds) count as the mean of so many seeds, on larger sets of one.
SEEDS = 3
LARGE = 4_000
# CPU seconds after which a fit is ended.
LIMIT = 10
# Methods that fit many times over, or many times longer than others, and how many labels are tried with them; what was
# run on larger sets before is kept.
SLOW = ("auto", "belief_propagation", "cbcc", "ebcc", "gibbs", "group_aware", "minimax_entropy")
PATIENCE = 6_000
# Small sets on which two seeds show whether a method draws at all.
PROBES = ("bluebird", "music")


class TooLongError(Exception):
    """The limit of CPU time is over."""


def methods() -> list[str]:
    return [name for name in registry.METHODS if "gold" not in registry.card(name).needs]


def run(names: list[str], *, fresh: bool) -> list[dict[str, Any]]:
    """Rows of every method, set and seed."""
    drawing = {name: draws(name, fresh=fresh) for name in methods()}
    rows = []
    for name in names:
        for method in methods():
            several = drawing[method] and len(sets.load(name).annotations) <= LARGE
            for seed in range(SEEDS if several else 1):
                rows.append(one(method, name, seed, fresh=fresh))
                print(method, name, seed, rows[-1].get("accuracy", rows[-1].get("error")), flush=True)
    return rows


def one(method: str, name: str, seed: int, *, fresh: bool) -> dict[str, Any]:
    """One cell."""
    key = {"side": "crowdwise", "method": method, "set": name, "seed": seed, "version": cells.version(method)}
    labels = len(sets.load(name).annotations)
    if method in SLOW and labels > PATIENCE and not cells.place("fits", key).exists():
        return {**key, "error": f"not tried: slow, and over {PATIENCE:,} labels"}
    return cells.cell("fits", key, lambda: _fit(method, name, seed), fresh=fresh)


def draws(method: str, *, fresh: bool) -> bool:
    """Whether the posterior depends on the seed."""
    key = {"method": method, "version": cells.version(method)}
    return bool(cells.cell("draws", key, lambda: {"draws": _draws(method)}, fresh=fresh)["draws"])


def _draws(method: str) -> bool:
    for name in PROBES:
        try:
            one, two = (_quiet(method, seed, sets.load(name).annotations).posterior for seed in (0, 1))
        except cw.CrowdwiseError:
            continue
        if not np.array_equal(one, two):
            return True
    return False


def _fit(method: str, name: str, seed: int) -> dict[str, Any]:
    data = sets.load(name)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    start = time.process_time()
    try:
        result = _quiet(method, seed, data.annotations)
        took = time.process_time() - start
    except cw.CrowdwiseError as refusal:
        return {"error": f"refuses: {refusal}"}
    except TooLongError:
        return {"error": f"over {LIMIT} CPU s, ended"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"cpu": took, **score(result.posterior, data.truth)}


def _quiet(method: str, seed: int, votes: cw.Annotations) -> cw.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.CrowdwiseWarning)
        return registry.method(method, seed=seed).fit(votes)


def _stop(*_: object) -> None:
    raise TooLongError
