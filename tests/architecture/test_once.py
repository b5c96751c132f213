"""What was written several times is written once, and nobody writes a function that fills a screen."""

from __future__ import annotations

import ast
import re
from dataclasses import fields

import numpy as np
import pytest

from crowdwise.core.intake.coding import Coded
from crowdwise.core.result import FitTrace, Result
from crowdwise.core.votes import Votes
from crowdwise.kinds.classes.methods.partitioned import Solution

from .packages import SRC, modules, tree

# Where a formula has its home; elsewhere it is imported.
HOMES = {
    r"\bgammaln\b": ("stats/dirichlet.py", "kinds/numbers/maths/"),  # Dirichlet evidence and divergence
    r"np\.where\(np\.eye\([^)]*\), ": ("stats/coins.py",),  # matrices of workers who err evenly
    r"np\.minimum\.accumulate": ("kinds/ordered/methods.py",),  # Benjamini-Hochberg is scipy's; thresholds fall
    r"np\.quantile\([^\n]*0\.025": (
        "kinds/classes/workers/dependence.py",
    ),  # of a posterior's draws; resampled tasks: central
}
LONGEST = 48


@pytest.mark.parametrize("pattern", HOMES)
def test_a_formula_has_one_home(pattern):
    for path in modules():
        where = path.relative_to(SRC).as_posix()
        if not where.startswith(HOMES[pattern] or ("nowhere",)):
            for line in path.read_text(encoding="utf-8").splitlines():
                known = "back_square" in line or "block[...]" in line
                assert known or not re.search(pattern, line), f"{where}: {line.strip()}"


def test_votes_and_results_share_their_fields_with_what_they_are_made_of():
    assert issubclass(Votes, Coded)
    assert issubclass(Solution, FitTrace)
    assert issubclass(Result, FitTrace)
    own = {each.name for each in fields(FitTrace)}
    for cls in (Solution, Result):
        assert not own & set(vars(cls).get("__annotations__", {}))
    assert not {each.name for each in fields(Coded)} & set(vars(Votes).get("__annotations__", {}))


def test_no_function_fills_a_screen():
    """Lines after the docstring; compiled kernels are one loop each and cannot be cut without a price."""
    for path in modules():
        if "kernels" in path.as_posix():
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                n = node.end_lineno - first.lineno + 1
                assert n <= LONGEST, f"{path.name}: {node.name} has {n} lines"
                assert n <= 40 or node.name not in ("encode", "read_all")


def test_the_sampler_takes_records():
    from crowdwise.kinds.classes.maths.sampling import gibbs_sweep

    assert len(gibbs_sweep.py_func.__code__.co_varnames[: gibbs_sweep.py_func.__code__.co_argcount]) <= 5


def test_intervals_of_few_tasks_are_wider_than_plain_percentiles():
    from crowdwise.evaluation.intervals import ScoreTerms, intervals

    rng = np.random.default_rng(0)
    loss, label = rng.exponential(size=8), np.zeros(8, dtype=np.int64)
    found = intervals(ScoreTerms({"log_loss": loss}, label, label, 2), 4000, 0)["log_loss"]
    drawn = loss[rng.integers(8, size=(4000, 8))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (found[1] - found[0]) / (high - low) == pytest.approx(np.sqrt(8 / 7) * 2.365 / 1.96, abs=0.08)
