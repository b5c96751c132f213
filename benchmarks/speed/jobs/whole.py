"""A whole fit of any method on a stored crowd, with a limit to its CPU time."""

from __future__ import annotations

import resource
import time
import warnings

import crowdwise as cw

from .. import data


def fit(path: str, method: str, limit: int, warm: str) -> dict[str, object]:
    """CPU seconds of one fit from Annotations to Result, or why the method refuses.

    A fit of the small crowd `warm` comes first, so that loading compiled code does not count.
    """
    _fit(method, _annotations(warm))
    votes = _annotations(path)
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 5))  # beyond it the system ends the process
    start = time.process_time()
    refusal, result = _fit(method, votes)
    cpu = time.process_time() - start
    return {"cpu": cpu, "refusal": refusal, "iterations": 0 if result is None else result.n_iter}


def _annotations(path: str) -> cw.Annotations:
    return cw.Annotations.from_arrays(*data.load(path))


def _fit(method: str, votes: cw.Annotations) -> tuple[str, cw.Result | None]:
    gold = None
    if "gold" in cw.registry.card(method).needs:  # the time is what counts here, not whether the gold is right
        vote = cw.MajorityVote().fit(votes).to_table().head(1_000)
        gold = vote.select("task", "label")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.CrowdwiseWarning)
        try:
            return "", cw.method(method).fit(votes, gold=gold)
        except cw.CrowdwiseError as refusal:
            return str(refusal), None
