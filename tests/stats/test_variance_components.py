"""Variance components: hand analyses of variance, statsmodels' REML, planted components, unbalanced designs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from crowdwise.errors import DataError
from crowdwise.stats.variance_components import RESIDUAL, variance_components

PLANTED = {("prompt",): 0.5, ("judge",): 0.2, ("prompt", "answer"): 0.3, ("prompt", "judge"): 0.15,
           ("prompt", "answer", "judge"): 0.1, RESIDUAL: 0.25}  # fmt: skip
TERMS = [term for term in PLANTED if term]


def crossed(sizes, seed=0, planted=PLANTED):
    """(y, factors): prompts x answers within prompts x judges x repeats."""
    rng = np.random.default_rng(seed)
    index = np.array(list(product(*map(range, sizes))))
    factors = {"prompt": index[:, 0], "answer": index[:, 1], "judge": index[:, 2]}
    y = rng.normal(size=len(index)) * np.sqrt(planted[RESIDUAL])
    for term, part in planted.items():
        if term:
            cells = np.stack([factors[name] for name in term], axis=1)
            code = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
            y += (rng.normal(size=code.max() + 1) * np.sqrt(part))[code]
    return y, factors


def by_term(components):
    return {frozenset(term): float(value) for term, value in zip(components.terms, components.value, strict=True)}


def test_a_crossed_table_by_hand():
    """p x i without repeats: mean squares of the two-way table."""
    table = np.random.default_rng(1).normal(size=(8, 5)) + np.arange(8)[:, None]
    grand, p, i = table.mean(), table.mean(axis=1), table.mean(axis=0)
    ms_p, ms_i = 5 * ((p - grand) ** 2).sum() / 7, 8 * ((i - grand) ** 2).sum() / 4
    ms_e = ((table - p[:, None] - i + grand) ** 2).sum() / 28
    factors = {"p": np.repeat(np.arange(8), 5), "i": np.tile(np.arange(5), 8)}
    components = variance_components(table.ravel(), factors, [("p",), ("i",), ("p", "i")])
    expected = {frozenset({"p"}): (ms_p - ms_e) / 5, frozenset({"i"}): (ms_i - ms_e) / 8, frozenset(): ms_e}
    assert by_term(components) == pytest.approx(expected)
    assert components.freedom.tolist() == [4, 7, 28]


@pytest.mark.slow
def test_statsmodels_reml_agrees_on_balanced_data():
    import pandas as pd
    import statsmodels.formula.api as smf

    y, factors = crossed((30, 3, 1, 4), seed=2, planted={**PLANTED, ("judge",): 0.0})
    ours = variance_components(y, factors, [("prompt",), ("prompt", "answer")])
    frame = pd.DataFrame({"y": y, "prompt": factors["prompt"], "answer": factors["answer"]})
    model = smf.mixedlm("y ~ 1", frame, groups="prompt", re_formula="1", vc_formula={"answer": "0 + C(answer)"})
    fit = model.fit(reml=True, method="lbfgs", maxiter=2000, pgtol=1e-10)
    theirs = [float(fit.cov_re.iloc[0, 0]), float(fit.vcomp[0]), float(fit.scale)]
    assert ours.value.tolist() == pytest.approx(theirs, rel=1e-4)


def test_unbalanced_sums_of_squares_are_unbiased():
    rng, estimates = np.random.default_rng(3), []
    for seed in range(120):
        y, factors = crossed((25, 3, 4, 2), seed=seed)
        kept = rng.random(len(y)) < 0.7
        parts = {name: code[kept] for name, code in factors.items()}
        estimates.append(by_term(variance_components(y[kept], parts, TERMS)))
    for term, part in PLANTED.items():
        tolerance = 0.06 if term == ("judge",) else 0.035
        assert np.mean([row[frozenset(term)] for row in estimates]) == pytest.approx(part, abs=tolerance), term


@pytest.mark.slow
def test_planted_components_are_recovered_and_covered():
    """The bar's size; judges have four levels, so their variance is compared over many data sets."""
    ratios, covered = [], []
    for seed in range(40):
        components = variance_components(*crossed((200, 3, 4, 2), seed=seed), TERMS, seed=seed)
        true = np.array([PLANTED[next(t for t in PLANTED if set(t) == set(term))] for term in components.terms])
        low, high = components.interval(0.9)
        ratios.append(components.value / true)
        covered.append((low <= true) & (true <= high))
    judge = components.terms.index(("judge",))
    assert np.abs(np.delete(np.mean(ratios, axis=0), judge) - 1).max() < 0.1
    assert 0.82 <= np.mean(covered) <= 0.97


def test_terms_without_values_of_their_own_are_left_to_the_rest():
    factors = {"p": np.repeat(np.arange(6), 2), "i": np.tile([0, 1], 6)}
    components = variance_components(np.random.default_rng(4).normal(size=12), factors, [("p",), ("p", "i"), ("i",)])
    assert components.terms == [("i",), ("p",), RESIDUAL]
    with pytest.raises(DataError, match="no source of variation"):
        variance_components(np.arange(4.0), {"p": np.arange(4)}, [("p",)])


# Scores of ten persons on four items on two occasions: Brennan (2001), Generalizability Theory, table 3.1.
BRENNAN = "26752555 45676757 55465455 59865776 43564564 44476478 26652775 34456664 05455553 68766886"  # fmt: skip


def test_the_g_study_of_a_textbook():
    """Brennan's synthetic data set for p x i x o, and the variance components that the book gives for it."""
    y = np.array([float(digit) for digit in BRENNAN.replace(" ", "")])
    index = np.array(list(product(range(10), range(2), range(4))))
    factors = dict(zip("poi", index.T, strict=True))
    crossings = [("p",), ("i",), ("o",), ("p", "i"), ("p", "o"), ("i", "o"), ("p", "i", "o")]
    components = by_term(variance_components(y, factors, crossings))
    book = {"p": 0.5528, "i": 0.4417, "o": 0.0074, "pi": 0.5750, "po": 0.1009, "io": 0.1565, "": 0.9352}
    assert {"".join(sorted(term)): round(value, 4) for term, value in components.items()} == {
        "".join(sorted(term)): value for term, value in book.items()
    }
