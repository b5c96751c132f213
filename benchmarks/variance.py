"""Planted variance components: `python -m benchmarks.variance` writes docs/benchmarks/variance.md."""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from crowdwise.evaluation.variance import name_of
from crowdwise.stats.variance_components import RESIDUAL, Term, variance_components

from . import DOCS
from .markdown import figures, write_section

PAGE = DOCS / "variance.md"
HEAD = (
    "# Variance components of an evaluation\n\nEvery figure here was printed by the command above its table. How it "
    "works: [judges](../judges.md#where-the-uncertainty-comes-from).\n"
)
RUNS, SIZES = 300, (200, 3, 4, 2)
PLANTED: dict[Term, float] = {
    ("prompt",): 0.5, ("judge",): 0.2, ("prompt", "answer"): 0.3, ("prompt", "judge"): 0.15,
    ("prompt", "answer", "judge"): 0.1, RESIDUAL: 0.25,
}  # fmt: skip


def planted(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Scores of prompts x answers within prompts x judges x repeats, and the codes of the factors."""
    index = np.array(list(product(*map(range, SIZES))))
    factors = {"prompt": index[:, 0], "answer": index[:, 1], "judge": index[:, 2]}
    y = rng.normal(size=len(index)) * np.sqrt(PLANTED[RESIDUAL])
    for term, part in PLANTED.items():
        if term:
            code = np.ravel_multi_index(
                tuple(factors[name] for name in term), tuple(factors[n].max() + 1 for n in term)
            )
            y += (rng.normal(size=code.max() + 1) * np.sqrt(part))[code]
    return y, factors


def rows(runs: int, missing: float) -> list[list[str]]:
    """Mean and spread of the estimates, and coverage of the 90 % intervals, of each component."""
    rng, values, covered = np.random.default_rng([38, int(100 * missing)]), [], []
    for seed in range(runs):
        y, factors = planted(rng)
        kept = rng.random(len(y)) >= missing
        parts = {name: code[kept] for name, code in factors.items()}
        components = variance_components(y[kept], parts, [term for term in PLANTED if term], seed=seed)
        true = np.array([PLANTED[next(t for t in PLANTED if set(t) == set(term))] for term in components.terms])
        low, high = components.interval(0.9)
        values.append(components.value)
        covered.append((low <= true) & (true <= high))
    out = []
    for k, term in enumerate(components.terms):
        estimates = np.array(values)[:, k]
        line = [f"{true[k]:g}", f"{estimates.mean():.4f}", f"{100 * (estimates.mean() / true[k] - 1):+.1f} %"]
        line += [f"{estimates.std():.4f}", f"{np.mean(covered, axis=0)[k]:.3f}"]
        out.append([name_of(term), *line])
        print(missing, *out[-1], flush=True)
    return out


def main() -> None:
    """Write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    header = ["source", "planted", "mean", "bias", "spread", "90 % interval covers"]
    size = "{} prompts × {} answers × {} judges × {} repeats".format(*SIZES)
    body = (
        f"{runs:,} data sets of {size}. The spread is that of one data set's estimate: four judges tell little about "
        f"the variance between judges.\n\n{figures(header, rows(runs, 0.0))}\n\nWith 30 % of the verdicts missing at "
        f"random:\n\n{figures(header, rows(runs, 0.3))}"
    )
    write_section(PAGE, "planted", "Planted components", "python -m benchmarks.variance", body)


if __name__ == "__main__":
    main()
