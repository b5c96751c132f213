"""Auto: a single model, selected by the likelihood of held-out annotations with the one-standard-error rule.

    score_m = mean log-likelihood of held-out annotations under m        (kinds/classes/methods/held_out.py)

The candidates, by increasing number of parameters per worker:

    one_coin, even          one accuracy
    mace                    one accuracy, and a distribution of spammed labels
    hierarchical            a confusion matrix, shrunk to the crowd's
    dawid_skene             a confusion matrix

The simplest candidate whose score is within one standard error of the best is selected (the standard error of the
difference on the same annotations): the one-standard-error rule of Breiman et al. (1984), Classification and Regression
Trees, section 3.4.3, doi:10.1201/9781315139470. Candidates that overturn more than `overturn` of the clear majorities
are skipped, because held-out likelihood does not detect classes that have drifted away from the meaning of the labels.
Fails where most of the crowd makes the same errors. Its confidence is that of a single model and mostly too high:
`committee` is better calibrated, and `calibrate` lowers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

from .....core.params import AtLeast, MethodNames, Share
from ...annotations import Annotations
from ..base import Aggregator, SolveOptions
from ..gold import GoldLabels
from ..held_out import HeldOut, held_out, splits, upheld
from ..partitioned import Solution
from ..requirements import affordable, too_sparse
from .committee import check_names, plain_name, solve_method, supporting_prior

# By increasing number of parameters.
CANDIDATES = ("one_coin_even", "mace", "hierarchical", "dawid_skene")
# Used if no label can be held out; it keeps single labels.
FALLBACK = "hierarchical"


@dataclass(frozen=True, kw_only=True)
class Auto(Aggregator):
    """Auto: a single model, selected by the likelihood of held-out annotations.

    `candidates` are registry names ("one_coin_even": classes equally likely), the simplest first. `folds` (2 and up)
    is the number of folds; large data are scored on fewer. `overturn` (0 to 1) is the share of clear majorities that a
    model may overturn. `extra` holds "chosen", "scores" and the "reason". With `prior=` only candidates that support
    it are scored.

    Args:
        candidates: Names of the methods or variants to choose from, the simplest first.
        folds: Number of folds of the held-out annotations; more folds fit on more annotations and take more time.
        overturn: Maximum share of clear majorities that a candidate may overturn; 1 disables the check. If all overturn
            more, the one that overturns the fewest is chosen.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Auto().fit(votes).extra["chosen"]
    'hierarchical'
    """

    name: ClassVar[str] = "auto"
    candidates: MethodNames = CANDIDATES
    folds: Annotated[int, AtLeast(2)] = 5
    overturn: Share = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("candidates", self.candidates, self.seed)

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Score the candidates and fit the preferred one that upholds the majorities."""
        candidates = affordable(supporting_prior("candidates", self.candidates, options), annotations, plain_name)
        scoring_options = SolveOptions(options.n_shards, prior=options.prior)
        if too_sparse(annotations) or not splits(annotations, folds=self.folds, enough=1):
            fallback, why = FALLBACK, "no task has labels of two workers and nothing can be held out"
            if too_sparse(annotations):
                fallback, why = candidates[0], "confusion matrices would be far larger than the data"
            solution = solve_method(fallback, self.seed, gold, options, annotations)
            return _chosen(solution, fallback, [], f"{fallback}, because {why}")
        scores = {
            name: held_out(
                partial(solve_method, name, self.seed, gold, scoring_options),
                annotations,
                folds=self.folds,
                seed=self.seed,
            )
            for name in candidates
        }
        best = max(scores, key=lambda name: scores[name].score)
        upheld_shares: dict[str, float] = {}
        fits: dict[str, Solution] = {}
        for name in _preferred(scores, best):
            fits[name] = solve_method(name, self.seed, gold, options, annotations)
            # Rounded, so that equal shares stay equal when classes are reordered.
            upheld_shares[name] = round(upheld(annotations, fits[name].posterior), 9)
            if upheld_shares[name] >= 1 - self.overturn:
                break
        else:
            name = max(upheld_shares, key=upheld_shares.__getitem__)
        return _chosen(
            fits[name], name, _table(scores, upheld_shares), _reason(name, best, scores, list(upheld_shares))
        )


def _preferred(scores: dict[str, HeldOut], best: str) -> list[str]:
    """Return the candidates within one standard error of the best, simplest first, then the others by score.

    All are scored on the same annotations, so the difference of two scores is more certain than either score.
    """
    close = [name for name in scores if _within_error(scores, best, name)]
    return close + sorted((name for name in scores if name not in close), key=lambda name: -scores[name].score)


def _within_error(scores: dict[str, HeldOut], best: str, name: str) -> bool:
    lead, error = scores[best].lead(scores[name])
    return lead <= error + 1e-9


def _chosen(solution: Solution, name: str, scores: list[dict[str, Any]], reason: str) -> Solution:
    return replace(solution, extra={**solution.extra, "chosen": name, "scores": scores, "reason": reason})


def _table(scores: dict[str, HeldOut], upheld_shares: dict[str, float]) -> list[dict[str, Any]]:
    """Return one row per candidate; `upheld` is None for candidates that were not fitted on all annotations."""
    return [
        {"method": name, "score": s.score, "standard_error": s.standard_error, "upheld": upheld_shares.get(name)}
        for name, s in scores.items()
    ]


def _reason(name: str, best: str, scores: dict[str, HeldOut], tried: list[str]) -> str:
    """Return the reason for the selection as a sentence."""
    if name == best:
        why = f"{name} predicts held-out labels best ({scores[best].score:.4f} nats a label)"
    elif _within_error(scores, best, name):
        gap, error = scores[best].lead(scores[name])
        why = f"{name} is the simplest within one standard error of {best} ({gap:.4f} behind, error {error:.4f})"
    else:
        why = f"{name} predicts held-out labels best of those left"
    others = [other for other in tried if other != name]
    if others:
        why += f"; {', '.join(others)} would overturn too many clear majorities"
    return why
