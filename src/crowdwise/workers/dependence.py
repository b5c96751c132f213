"""How often do two workers give the same wrong answer, and how often would they if they erred independently?

For a pair with common tasks i, posterior q and confusions A:

    observed = sum_i sum_k q_ik [both say one l != k],    expected = sum_i sum_k q_ik sum_{l != k} A_m[k, l] A_m'[k, l]

Right answers do not count: two good workers agree because they are good. All sums are sparse products over pairs who
met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations import Annotations
from ..maths.discovery import adjusted
from .pairs import comparable

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# A pair with fewer common tasks says nothing.
MIN_COMMON = 10
# Same wrong answers per expected one: a ring among three classes has two.
LIFT = 1.5
# Pairs from which on the spread of all pairs' scores is taken for the null's.
_MANY = 50
_STRATA = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


@dataclass(frozen=True)
class SharedErrors:
    """Pairs first < second: common tasks, tasks on which both are wrong, the same wrong answers, those expected of
    independent workers, and the p-value adjusted for the number of pairs."""

    first: I8
    second: I8
    common: F8
    both_wrong: F8
    same_wrong: F8
    expected: F8
    p_value: F8

    def in_excess(self, level: float, excess: float) -> npt.NDArray[np.bool_]:
        """Pairs that are significant, by `excess` of their common tasks, and LIFT times what is expected."""
        gap = (self.same_wrong - self.expected) / np.maximum(self.common, 1)
        return np.asarray((self.p_value <= level) & (gap >= excess) & (self.same_wrong >= LIFT * self.expected))


def shared_errors(votes: Annotations, posterior: F8, confusion: F8) -> SharedErrors:
    """The test of all pairs with enough common tasks."""
    from scipy.sparse import csr_array

    votes = comparable(votes, MIN_COMMON)
    shape = (votes.n_workers, votes.n_tasks)
    share = _shares(votes)
    once = csr_array((share, (votes.worker, votes.task)), shape=shape)
    both = (once @ once.T).tocoo()
    keep = (both.row < both.col) & (both.data >= MIN_COMMON - 1e-9)
    first, second, common = both.row[keep].astype(np.int64), both.col[keep].astype(np.int64), both.data[keep]
    place = first, second
    agreed, both_right = np.zeros(len(first)), np.zeros(len(first))
    for label in range(votes.n_classes):
        rows = votes.label == label
        said = csr_array((share[rows], (votes.worker[rows], votes.task[rows])), shape=shape)
        agreed += _at(said @ said.T, place)
        both_right += _at((said * posterior[:, label][None, :]) @ said.T, place)
    right = csr_array((share * posterior[votes.task, votes.label], (votes.worker, votes.task)), shape=shape)
    met = right @ once.T  # how often the first is right where they met
    both_wrong = common - _at(met, place) - _at(met, place[::-1]) + both_right
    expected = np.zeros(len(first))
    for true in range(votes.n_classes):
        mix = _at((once * posterior[:, true][None, :]) @ once.T, place)
        table = confusion[:, true]
        together = np.einsum("pl,pl->p", table[first], table[second])
        expected += mix * (together - table[first, true] * table[second, true])
    same = np.clip(agreed - both_right, 0.0, common)
    return SharedErrors(first, second, common, both_wrong, same, expected, _p_values(same, expected, common))


def components(seen: SharedErrors, hot: I8, n_workers: int) -> I8:
    """Group number of each worker: who is linked by the pairs `hot` shares one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(hot)), (seen.first[hot], seen.second[hot])), shape=(n_workers, n_workers))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def joiners(
    seen: SharedErrors, hot: I8, n_workers: int, level: float, excess: float
) -> list[tuple[int, I8, SharedErrors]]:
    """Workers in no pair in excess who share wrong answers with a group of such pairs as a whole.

    Where workers met on few tasks no single pair may be significant; all pairs with one group together can be. Each
    comes with the members he met and the pooled counts; p-values are adjusted for all workers and groups (Bonferroni).
    """
    component = components(seen, hot, n_workers)
    sizes = np.bincount(component, minlength=1)
    single = sizes[component] == 1
    out = []
    for group in np.flatnonzero(sizes > 1).tolist():
        for w in np.flatnonzero(single).tolist():
            inside = ((seen.first == w) & (component[seen.second] == group)) | (
                (seen.second == w) & (component[seen.first] == group)
            )
            if inside.sum() < 2:
                continue
            pooled = _pool(seen, inside, n_workers * int((sizes > 1).sum()))
            if pooled.in_excess(level, excess)[0]:
                members = np.where(seen.first[inside] == w, seen.second[inside], seen.first[inside])
                out.append((w, members, pooled))
    return out


def _pool(seen: SharedErrors, inside: npt.NDArray[np.bool_], n_tests: int) -> SharedErrors:
    """Several pairs as one."""
    from scipy.special import betainc

    common, both, same, expected = (
        np.array([x[inside].sum()]) for x in (seen.common, seen.both_wrong, seen.same_wrong, seen.expected)
    )
    rate = np.clip(expected / common, 1e-9, 1 - 1e-9)
    p = np.minimum(betainc(np.maximum(same, 1e-9), common - same + 1, rate) * n_tests, 1.0)
    nobody = np.zeros(1, dtype=np.int64)
    return SharedErrors(nobody, nobody, common, both, same, expected, p)


def _p_values(same: F8, expected: F8, common: F8) -> F8:
    """Binomial tails, against the spread that all pairs show, adjusted for their number.

    Hard tasks make everybody err together a little: where the scores of most pairs are wider or higher than the
    theory's, theirs is the null (Efron 2004, doi:10.1198/016214504000000089).
    """
    from scipy.special import betainc, ndtr, ndtri

    rate = np.clip(expected / np.maximum(common, 1), 1e-9, 1 - 1e-9)
    tail = np.where(same > 0, betainc(np.maximum(same, 1e-9), common - same + 1, rate), 1.0)
    z = -ndtri(np.clip(tail, 1e-300, 1 - 1e-12))
    if len(z) >= _MANY:
        # Counts are few: a tail takes only some values, and one of them, nothing shared, is certain. Spread evenly
        # over an outcome's own probability the scores of the null are normal all the same.
        beyond = np.where(same < common, betainc(same + 1, np.maximum(common - same, 1e-9), rate), 0.0)
        even = -ndtri(np.clip(beyond + _STRATA[:, None] * (tail - beyond), 1e-300, 1 - 1e-12))
        middle = float(np.median(even))
        spread = float(np.median(np.abs(even - middle))) * 1.4826
        z = (z - max(middle, 0.0)) / max(spread, 1.0)
    return adjusted(ndtr(-z))


def _shares(votes: Annotations) -> F8:
    """Of several answers of one worker to one task, each counts by its share."""
    pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    _, place, times = np.unique(pair, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / times[place])


def _at(matrix: Any, place: tuple[I8, I8]) -> F8:
    if not len(place[0]):  # scipy makes a sparse array of no places
        return np.empty(0)
    return np.asarray(matrix.tocsr()[place], dtype=np.float64).ravel()
