"""`fit`: one entry point for Python and the command line.

It chooses the default method unless one is named, and calibrates confidence on gold. A method's own `fit` returns what
its model estimates. Gold calibrates confidence only if it is a random sample of the tasks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core import method_registry as registry
from ..core.callback import Callback
from ..core.errors import ParameterError
from ..core.kind import KindHooks, get
from ..core.progress import watching
from ..core.result import Result
from ..core.votes import Votes

Sampling = Literal["random", "weights", "chosen"]
SAMPLINGS = ("random", "weights", "chosen")
# Recorded if it is not stated how gold was drawn and the data do not contradict a random sample.
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
    """Estimate labels with confidence that can be acted on.

    Args:
        votes: Votes of any kind, or a table task, worker, label.
        method: Name of a method, a method object (`cw.DawidSkene()`), or None for the default for these votes and gold.
        gold: Known labels of some tasks. They are held fixed and inform the worker estimates. Ten tasks or more
            calibrate the confidence of any method (a method's own `fit` calibrates only ensembles).
        calibrate: False switches calibration off; True without gold fits a temperature on held-out labels (see
            `cw.calibrate`).
        sampling: How the gold tasks were drawn: "random"; "weights" or "chosen" (by hand, by difficulty, by label)
            inform the fit but calibrate nothing; None is tested against the votes and recorded as assumed.
        prior: Prior passed to the method.
        n_shards: Number of shards of the fit.
        callback: Callback passed to the method.
        seed: Seed of a method that is given by name.

    Returns:
        The result. `extra["gold_check"]` holds the calibration or the reason why there is none, and the sampling;
        `extra["gold_sampling"]` the sampling of any gold given to the fit.

    Raises:
        ParameterError: If the options contradict each other.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=300, workers=9, seed=1)
    >>> gold = crowd.truth_table().sample(60, seed=1)
    >>> result = cw.fit(crowd.annotations, "dawid_skene", gold, sampling="random")
    >>> result.extra["gold_check"]["n"], result.extra["gold_check"]["sampling"]
    (60, 'random')
    """
    votes = get("classes").hooks.coerce(votes)
    method_ = _method(method, votes, gold, seed)
    with watching(method_.name):
        return _fit(
            votes, method_, gold, calibrate, sampling, {"prior": prior, "n_shards": n_shards, "callback": callback}
        )


def _fit(
    votes: Votes[Any],
    method_: Any,
    gold: Any,
    calibrate: bool | None,
    sampling: Sampling | None,
    fit_options: dict[str, Any],
) -> Result:
    """Fit a method and calibrate its confidence (see `fit`)."""
    prior = fit_options["prior"]
    calibrate = allowed(gold, calibrate, sampling)
    can_calibrate = votes.kind.hooks.supports(KindHooks.calibrate)
    if calibrate and not can_calibrate:
        votes.kind.hooks.require(KindHooks.calibrate)  # raises
    options: dict[str, Any] = {"calibrate": False} if can_calibrate and calibrate is False else {}
    result: Result = method_.fit(votes, gold=gold, **fit_options, **options)
    if sampling in ("weights", "chosen") and "reason" not in result.extra.get(CHECK, {"reason": ""}):
        raise ParameterError(
            f"gold sets the intervals of {votes.kind.display_name}, so it must be a random sample, not --sampling "
            f"{sampling}; leave --gold out, or label the tasks that --check draws"
        )
    should_calibrate = calibrate or (
        calibrate is None and can_calibrate and gold is not None and measurable(method_.name)
    )
    if should_calibrate and CHECK not in result.extra and "temperature" not in result.extra:
        result = votes.kind.hooks.calibrate(result, votes, gold=gold, prior=prior)
    return recorded(result, sampling, calibrate)


def calibrate(result: Result, votes: Any, gold: Any = None, *, prior: Any = None) -> Result:
    """Calibrate the confidence of a result; its labels stay as they are.

    Args:
        result: A result of any kind whose answers can be right or wrong.
        votes: The votes that the result was fitted to.
        gold: Known answers of a random sample of the tasks. Without gold, class labels are calibrated by a temperature
            fitted to held-out labels; other kinds need gold.
        prior: The prior that the fit was given, if any.

    Returns:
        The result with calibrated confidence.
    """
    votes = get("classes").hooks.coerce(votes)
    calibrated: Result = votes.kind.hooks.calibrate(result, votes, gold=gold, prior=prior)
    return calibrated


def calibrated_on(result: Result, votes: Votes[Any], gold: Any, sampling: Sampling | None = None) -> Result:
    """Return an earlier result with its confidence calibrated on `gold`; labels stay as they are.

    The method is fitted again without gold, with the parameters of the result. Nothing is done if gold was not drawn at
    random, if the method needs gold to be fitted, or if the result is calibrated already.
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
    """Return how the gold of a result was drawn, as recorded by its fit; None if nothing is recorded."""
    recorded_as = result.extra.get(SAMPLING)
    return None if recorded_as is None else str(recorded_as)


def recorded(result: Result, sampling: Sampling | None, calibrate: bool | None) -> Result:
    """Return the result with a record of how its gold was drawn, and why confidence is not calibrated on it."""
    check = result.extra.get(CHECK)
    if sampling is None and (calibrate is False or (result.gold is None and check is None)):
        return result  # it does not matter how gold was drawn
    drawn = sampling or ("refuted as random" if (check or {}).get("refuted") else ASSUMED)
    if check is None or sampling in ("weights", "chosen"):
        reason = _reason(result, sampling, calibrate)
        n_gold = {} if result.gold is None else {"n": int(np.sum(result.gold))}
        check = {**n_gold, "reason": reason} if reason else None
    extra = {**result.extra, SAMPLING: drawn}
    return replace(result, extra=extra if check is None else {**extra, CHECK: {**check, "sampling": drawn}})


def _reason(result: Result, sampling: Sampling | None, calibrate: bool | None) -> str:
    """Return why gold did not calibrate confidence; "" if calibration was off or is not supported."""
    if sampling in ("weights", "chosen"):
        drawn = "chosen" if sampling == "chosen" else "drawn by weights"
        return (
            f"the gold tasks were {drawn}, not drawn at random, so confidence is not calibrated on them; label a "
            "random sample (--check) to measure it"
        )
    if calibrate is False or not result.kind.hooks.supports(KindHooks.calibrate):
        return ""
    if not registry.is_registered(result.method):
        return (
            f"{result.method} is not registered, so it cannot be fitted without gold to measure it; register its class "
            "with cw.registry.register (on the command line -m module:Class)"
        )
    return f"{result.method} is fitted to the gold tasks, so they cannot measure it; check other tasks"


def _method(method: Any, votes: Votes[Any], gold: Any, seed: int) -> Any:
    if method is None:
        return registry.method(registry.default_method(votes, gold), seed=seed)
    return registry.method(method, seed=seed) if isinstance(method, str) else method


def measurable(method: str) -> bool:
    """Whether gold can measure a method: it can be rebuilt from its name and fitted without gold."""
    try:
        return "gold" not in registry.card(method).needs
    except ParameterError:
        return False


def allowed(gold: Any, calibrate: bool | None, sampling: Sampling | None) -> bool | None:
    """Return `calibrate`, or False for gold that was not drawn at random."""
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
