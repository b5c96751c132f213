"""One fit for Python and the command line: the default method where none is named, and confidence calibrated on gold.

A method's own `fit` gives what its model says. `fit` adds two things: the choice of the method, and the calibration by
gold, which must be a random sample of the tasks to say anything of the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core import method_registry as registry
from ..core.callback import Callback
from ..core.errors import ParameterError
from ..core.kind import KindHooks, get
from ..core.result import Result
from ..core.votes import Votes

Sampling = Literal["random", "weights", "chosen"]
SAMPLINGS = ("random", "weights", "chosen")
# What is recorded where nobody states how gold was drawn and the data do not contradict a random sample.
ASSUMED = "assumed random"
CHECK, SAMPLING = "gold_check", "gold_sampling"


def fit(
    votes: Any,
    method: Any = None,
    gold: Any = None,
    *,
    calibrate: bool | None = None,
    sampling: Sampling | None = None,
    prior: Any = None,
    n_shards: int = 1,
    callback: Callback | None = None,
    seed: int = 0,
) -> Result:
    """Labels of these votes with confidence that can be acted on, by the default method or another one.

    `votes` are of any kind, or a table task, worker, label. `method` is a name, a method (`cw.DawidSkene()`) or None:
    the default for these votes and gold. `gold` is the known truth of some tasks: it stays put and teaches, and with
    ten tasks or more it calibrates the confidence of any method (the method's own `fit` does so for ensembles only).
    `sampling` is how the gold tasks were drawn: "random"; "weights" or "chosen" (by hand, by difficulty, by label)
    teach the fit but calibrate nothing; None is tested against the votes and recorded as assumed. `calibrate=False`
    switches calibration off, `calibrate=True` without gold fits a temperature on held-out labels (`cw.calibrate`).
    `prior`, `n_shards` and `callback` go to the method, `seed` to one that is not given as an instance.

    `result.extra["gold_check"]` holds what was learnt from gold, or the reason why nothing was, and the sampling;
    `result.extra["gold_sampling"]` the sampling of any gold that the fit was given.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=300, workers=9, seed=1)
    >>> gold = crowd.truth_table().sample(60, seed=1)
    >>> result = cw.fit(crowd.annotations, "dawid_skene", gold, sampling="random")
    >>> result.extra["gold_check"]["n"], result.extra["gold_check"]["sampling"]
    (60, 'random')
    """
    votes = get("classes").hooks.coerce(votes)
    chosen = _method(method, votes, gold, seed)
    calibrate = allowed(gold, calibrate, sampling)
    able = votes.kind.hooks.supports(KindHooks.calibrate)
    if calibrate and not able:
        votes.kind.hooks.require(KindHooks.calibrate)  # one line that says so
    how: dict[str, Any] = {"calibrate": False} if able and calibrate is False else {}
    result: Result = chosen.fit(votes, gold=gold, prior=prior, n_shards=n_shards, callback=callback, **how)
    if sampling in ("weights", "chosen") and "reason" not in result.extra.get(CHECK, {"reason": ""}):
        raise ParameterError(
            f"gold sets the intervals of {votes.kind.people}, so it must be a random sample, not --sampling {sampling}"
            "; leave --gold out, or label the tasks that --check draws"
        )
    wanted = calibrate or (calibrate is None and able and gold is not None and measurable(chosen.name))
    if wanted and CHECK not in result.extra and "temperature" not in result.extra:
        result = votes.kind.hooks.calibrate(result, votes, gold=gold, prior=prior)
    return recorded(result, sampling, calibrate)


def calibrated_on(result: Result, votes: Votes[Any], gold: Any, sampling: Sampling | None = None) -> Result:
    """A result that was fitted before, its confidence calibrated on `gold`; labels stay as they are.

    The method is fitted again without gold, with the parameters of the result. Nothing is done where gold was not drawn
    at random, where the method needs gold to be fitted, and where the result is calibrated already.
    """
    calibrate = allowed(gold, None, sampling)
    if "slope" in result.extra.get(CHECK, {}):
        if calibrate is False:
            raise ParameterError(
                f"this result was calibrated on gold as a random sample, not sampling {sampling}; fit it again with "
                "--sampling"
            )
        return result
    if calibrate is False or "temperature" in result.extra or not votes.kind.hooks.supports(KindHooks.calibrate):
        return recorded(result, sampling, False)
    if not measurable(result.method):
        return result if result.gold is None else recorded(result, sampling, None)
    plain = replace(result, extra={name: value for name, value in result.extra.items() if name != CHECK})
    return recorded(votes.kind.hooks.calibrate(plain, votes, gold=gold), sampling, None)


def sampling_of(result: Result) -> str | None:
    """How the gold of a result was drawn, as recorded by its fit; None where nothing is recorded."""
    recorded_as = result.extra.get(SAMPLING)
    return None if recorded_as is None else str(recorded_as)


def recorded(result: Result, sampling: Sampling | None, calibrate: bool | None) -> Result:
    """The result with a record of how its gold was drawn, and the reason why confidence is not calibrated on it."""
    check = result.extra.get(CHECK)
    if sampling is None and (calibrate is False or (result.gold is None and check is None)):
        return result  # nothing rests on how gold was drawn
    drawn = sampling or ("refuted as random" if (check or {}).get("refuted") else ASSUMED)
    if check is None or sampling in ("weights", "chosen"):
        reason = _reason(result, sampling, calibrate)
        given = {} if result.gold is None else {"n": int(np.sum(result.gold))}
        check = {**given, "reason": reason} if reason else None
    extra = {**result.extra, SAMPLING: drawn}
    return replace(result, extra=extra if check is None else {**extra, CHECK: {**check, "sampling": drawn}})


def _reason(result: Result, sampling: Sampling | None, calibrate: bool | None) -> str:
    """Why gold did not calibrate confidence; empty where it was not to, or where nothing is known to calibrate."""
    if sampling in ("weights", "chosen"):
        drawn = "chosen" if sampling == "chosen" else "drawn by weights"
        return (
            f"the gold tasks were {drawn}, not drawn at random, so confidence is not calibrated on them; label a "
            "random sample (--check) to measure it"
        )
    if calibrate is False or not result.kind.hooks.supports(KindHooks.calibrate):
        return ""
    return f"{result.method} is fitted to the gold tasks, so they cannot measure it; check other tasks"


def _method(method: Any, votes: Votes[Any], gold: Any, seed: int) -> Any:
    if method is None:
        return registry.method(registry.default_method(votes, gold), seed=seed)
    return registry.method(method, seed=seed) if isinstance(method, str) else method


def measurable(method: str) -> bool:
    """Whether gold can judge a method of this name: it can be made again from its name and fitted without gold."""
    try:
        return "gold" not in registry.card(method).needs
    except ParameterError:
        return False


def allowed(gold: Any, calibrate: bool | None, sampling: Sampling | None) -> bool | None:
    """`calibrate`, or False for gold that was not drawn at random."""
    if sampling is None:
        return calibrate
    if sampling not in SAMPLINGS:
        raise ParameterError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    if gold is None:
        raise ParameterError(f"sampling={sampling!r} (--sampling) is about gold; give gold (--gold) too")
    if sampling == "random":
        return calibrate
    if calibrate:
        raise ParameterError(
            f"calibrate=True (--calibrate) needs gold drawn at random, not sampling {sampling}; leave one out"
        )
    return False
