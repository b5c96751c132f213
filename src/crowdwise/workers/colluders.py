"""Who copies whom, and who has agreed on wrong answers? The same wrong answers, beyond what the fit explains.

1. Groups of dependent workers (`groups`) get one voice, so that they cannot make their own answers the truth.
2. Every pair's same wrong answers are tested against independent errors, with false-discovery control (`dependence`).
3. Pairs in excess make groups; who shares wrong answers with a group as a whole joins it.
4. Groups that no pair betrays are found by weighing copying against working alone over all their pairs (`copying`).
Members who are mostly wrong are `colluding`, the others `copying` (who copies whom, the labels alone cannot say).
After Traganitis & Giannakis (2021), doi:10.1109/TSP.2021.3053534. Fails where the ring is larger than the honest rest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..aggregate.find_groups import own_confusions
from ..annotations import Annotations
from ..result import Result
from .copying import Ratios, Ring, ratios, rings
from .dependence import SharedErrors, components, joiners, shared_errors
from .flags import Flag, examples
from .groups import group_numbers, posterior_with_one_voice
from .judgement import Judgement

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Share of false discoveries among pairs; same wrong answers beyond the expected, as a share of the common tasks.
LEVEL = 0.001
EXCESS = 0.03
# Workers up to whom groups are always searched for.
SMALL = 100
# Labels from which on the pairs in excess themselves make the groups: the search would take a minute.
LARGE = 200_000


def collusion_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flags `colluding` and `copying` with adjusted p-values; the evidence counts the same wrong answers.

    A gold task in the result counts as known: its posterior is certain.
    """
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """The same from a judgement."""
    votes = judgement.annotations
    if votes.n_classes < 2 or votes.n_workers < 3:
        return []
    posterior, group, seen, hot = _pairs_in_excess(judgement, level)
    hits = np.bincount(votes.worker, weights=posterior[votes.task, votes.label], minlength=votes.n_workers)
    right = hits / np.maximum(votes.labels_per_worker, 1)
    out = []
    for w in np.unique(np.concatenate([seen.first[hot], seen.second[hot]])).tolist():
        mine = hot[(seen.first[hot] == w) | (seen.second[hot] == w)]
        mine = mine[np.lexsort((-seen.same_wrong[mine], seen.p_value[mine]))]
        out.append(_flag(votes, posterior, seen, w, mine, float(right[w])))
    for w, members, pooled in joiners(seen, hot, votes.n_workers, level, EXCESS):
        out.append(_joined(votes, posterior, w, members, pooled, float(right[w])))
    # Whoever is found has no say in what the others are measured by: a ring could make its answers the truth.
    found = {flag.worker for flag in out}
    named = np.array([name in found for name in votes.workers])
    rest = votes if not named.any() else votes.take(~named[votes.worker])
    ratio = ratios(rest, posterior, judgement.known, 1 / np.bincount(group)[group])
    for ring in rings(ratio, votes.n_workers, level):
        out += [_copied(votes, posterior, ratio, ring, w, float(right[w])) for w in ring.workers]
    return out


def _pairs_in_excess(judgement: Judgement, level: float) -> tuple[F8, I8, SharedErrors, I8]:
    """The test under the fit; where workers depend on each other, under a posterior with one voice for each group.

    The posterior, the group of each worker, all pairs, and which of them are in excess.
    """
    votes, posterior = judgement.annotations, judgement.posterior
    group = np.arange(votes.n_workers)
    seen = shared_errors(votes, posterior, own_confusions(votes, posterior))
    hot = np.flatnonzero(seen.in_excess(level, EXCESS))
    # The search for groups takes its time: in large crowds only where there is something to search for.
    if votes.n_workers <= SMALL or len(hot) > 2:
        posterior, group = independent_posterior(judgement, components(seen, hot, votes.n_workers))
        if posterior is not judgement.posterior:
            seen = shared_errors(votes, posterior, own_confusions(votes, posterior))
            hot = np.flatnonzero(seen.in_excess(level, EXCESS))
    return posterior, group, seen, hot


def independent_posterior(judgement: Judgement, linked: I8) -> tuple[F8, I8]:
    """The posterior of the fit (where workers depend on each other: with one voice a group), and the groups."""
    votes = judgement.annotations
    group = group_numbers(votes, LEVEL, 0.1) if len(votes) <= LARGE else linked
    if len(np.unique(group)) == len(group):
        return judgement.posterior, group
    posterior = posterior_with_one_voice(votes, group)
    return np.where(judgement.known[:, None], judgement.posterior, posterior), group


def _flag(votes: Annotations, posterior: F8, seen: SharedErrors, w: int, mine: I8, right: float) -> Flag:
    other = np.where(seen.first[mine] == w, seen.second[mine], seen.first[mine])
    best = int(mine[0])
    names = votes.workers.gather(other).to_list()
    words = (
        f"agrees with {names[0]} on {seen.same_wrong[best]:.0f} of {seen.both_wrong[best]:.0f} answers that both have "
        f"wrong, expected {seen.expected[best]:.0f} ({seen.common[best]:.0f} common tasks)"
    )
    if len(names) > 1:
        words += f"; the same with {len(names) - 1} more"
    tasks = _same_wrong_tasks(votes, posterior, w, int(other[0]))
    return Flag(votes.workers[w], _name(right), None, float(seen.p_value[best]), words, tasks, tuple(names))


def _joined(votes: Annotations, posterior: F8, w: int, members: I8, pooled: SharedErrors, right: float) -> Flag:
    """The flag of who shares wrong answers with a whole group."""
    names = tuple(votes.workers.gather(members).to_list())
    words = (
        f"agrees with {len(names)} workers of one group on {pooled.same_wrong[0]:.0f} of {pooled.both_wrong[0]:.0f} "
        f"answers that both have wrong, expected {pooled.expected[0]:.0f} (pair by pair too few to tell)"
    )
    tasks = _same_wrong_tasks(votes, posterior, w, int(members[0]))
    return Flag(votes.workers[w], _name(right), None, float(pooled.p_value[0]), words, tasks, names)


def _copied(votes: Annotations, posterior: F8, ratio: Ratios, ring: Ring, w: int, right: float) -> Flag:
    """The flag of who hands in the same answers as a group."""
    mine = ((ratio.first == w) | (ratio.second == w)) & np.isin(ratio.first, ring.workers)
    mine &= np.isin(ratio.second, ring.workers)
    at = np.flatnonzero(mine)[np.argsort(-ratio.log_ratio[mine], kind="stable")]
    other = np.where(ratio.first[at] == w, ratio.second[at], ratio.first[at])
    names = tuple(votes.workers.gather(other).to_list())
    more = f" and {len(names) - 1} more of one group" if len(names) > 1 else ""
    words = (
        f"gives the same answer as {names[0]}{more} on {ratio.same[at].sum():.0f} of {ratio.common[at].sum():.0f} "
        f"common tasks: copying explains these answers {_times(float(ratio.log_ratio[at].sum()))} times better than "
        "working alone"
    )
    tasks = _same_wrong_tasks(votes, posterior, w, int(other[0]))
    return Flag(votes.workers[w], _name(right), None, ring.p_value, words, tasks, names)


def _times(log_ratio: float) -> str:
    """A factor for people: in full up to a million, then as a power of ten."""
    return f"{np.exp(log_ratio):,.0f}" if log_ratio < np.log(1e6) else f"10^{log_ratio / np.log(10):.0f}"


def _name(right: float) -> str:
    return "colluding" if right < 0.5 else "copying"


def _same_wrong_tasks(votes: Annotations, posterior: F8, a: int, b: int) -> tuple[object, ...]:
    """Tasks on which two workers give the same answer, the least probable answers first."""
    rows = np.flatnonzero((votes.worker == a) | (votes.worker == b))
    key = votes.task[rows].astype(np.int64) * votes.n_classes + votes.label[rows]
    same, times = np.unique(key, return_counts=True)
    task, label = same[times > 1] // votes.n_classes, same[times > 1] % votes.n_classes
    p = posterior[task, label]
    order = np.argsort(p, kind="stable")
    return examples(votes, task[order[p[order] < 0.5]])
