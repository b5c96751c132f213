"""What methods that see a text as a chain share: learning, judging by what was learnt, and decoding."""

from __future__ import annotations

import numpy as np

from ...core.errors import ParameterError
from ...maths.spans.chain import ChainFit, pass_, viterbi
from ...maths.spans.rows import F8, I8
from ...maths.spans.units import Units
from .base import BY_WORKER, Arrays
from .found import Judged
from .work import Work

# Numbers in the table of workers above which a fit would not be worth the memory.
LARGEST = 150_000_000


def refuse_too_large(name: str, work: Work, previous: bool) -> None:
    """One line where the workers' tables would be too large."""
    k = 1 + 2 * work.n_tags
    size = work.n_workers * k ** (3 if previous else 2)
    if size > LARGEST:
        raise ParameterError(
            f"{name} would need a table of {size:,} numbers for {work.n_workers:,} workers and {work.n_tags:,} tags; "
            "take token_dawid_skene or span_vote"
        )


def arrays_of(found: ChainFit) -> dict[str, np.ndarray]:
    """What is kept of a fit."""
    return {f"{BY_WORKER}a": found.a, "start": found.start, "move": found.move}


def posterior(work: Work, arrays: Arrays) -> F8:
    """q[unit, state] by what was learnt."""
    q = np.zeros((len(work.units), 1 + 2 * work.n_tags))
    log_a = np.log(np.maximum(arrays[f"{BY_WORKER}a"], 1e-300))
    pass_(work.chain, log_a, np.asarray(arrays["start"]), np.asarray(arrays["move"]), q)
    silent = np.repeat(np.diff(work.row_offsets) == 0, np.diff(work.units.offsets)) & (work.known < 0)
    q[silent] = np.eye(q.shape[1])[0]
    return q


def decoded(units: Units, q: F8, n_tags: int) -> Judged:
    """The path with most of the posterior on it among those that never do what is forbidden."""
    k = 1 + 2 * n_tags
    path = viterbi(units, q, np.zeros(k), np.zeros((k, k)), n_tags)
    return of_path(q, path)


def decoded_inside_first(units: Units, q: F8, n_tags: int) -> Judged:
    """Marked where all tags together have more than half, as in a vote; which tag, and where spans begin, by the best
    path. A place that two tags share is then not lost to neither."""
    k = 1 + 2 * n_tags
    score = q.copy()
    score[:, 1:] += np.where(q[:, :1] < 0.5, 1.0, -1.0)
    return of_path(q, viterbi(units, score, np.zeros(k), np.zeros((k, k)), n_tags))


def of_path(q: F8, path: I8) -> Judged:
    """States as tags, begins and marginals of tags."""
    return Judged(q[:, 1::2] + q[:, 2::2], (path + 1) // 2, path % 2 == 1)
