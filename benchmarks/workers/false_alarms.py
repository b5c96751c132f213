"""python -m benchmarks.workers.false_alarms: how many honest workers are flagged? Independent crowds of every sort.

60 workers, 200 to 400 tasks, 2 to 20 classes. Nobody copies. By seed: 3, 5, 10 or all labels a task; classes even, or
nine tasks in ten of one class; wrong answers spread evenly, or most of them on one tempting class a task.

    sd 0, 1, 2   GLAD: P(right) = expit(skill · ease), ease = exp(N(0, sd²)): tasks alike, or some that nobody can do
    guessers     a third of the workers guess, the others are good; only the good are honest

Prints the tables and writes them to docs/benchmarks/workers.md, and what the flags cite to
src/crowdwise/workers/false_alarms.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import crowdwise as cw
from crowdwise.kinds.classes.workers.judgement import Judgement
from crowdwise.kinds.classes.workers.study import flags_of
from crowdwise.workers import agreement_outliers, covariance_flags, robust_outliers
from crowdwise.workers.flags import NAMES, RATES

from .. import DOCS
from ..markdown import table, write_section

CLASSES = (2, 3, 5, 10, 20)
KINDS = ("sd 0", "sd 1", "sd 2", "guessers")
WORKERS, SEEDS = 60, 20
METHOD = "hierarchical"
COMMAND, SECTION = "python -m benchmarks.workers.false_alarms", "false-alarms"
# "unknown" and "coachable" accuse nobody and are not looked for here.
ACCUSING = tuple(name for name in NAMES if name not in ("unknown", "coachable"))
# The flags that `study` raises; the others are asked for by name.
STUDIED = ("constant", "random", "adversarial", "colluding", "copying", "drift")


@dataclass
class Found:
    """Of one sort of crowds: honest workers, those with any flag of `study`, and how many get each flag."""

    honest: int = 0
    any_flag: int = 0
    by_name: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Found) -> Found:
        return Found(self.honest + other.honest, self.any_flag + other.any_flag, self.by_name + other.by_name)


def independent(k: int, kind: str, seed: int) -> tuple[cw.Annotations, np.ndarray]:
    """A crowd in which nobody copies, and who of it is honest."""
    rng = np.random.default_rng([seed, k, KINDS.index(kind)])
    n, labels = int(rng.integers(200, 401)), (3, 5, 10, None)[seed % 4]
    prior = np.full(k, 1 / k) if seed // 4 % 2 == 0 else np.r_[0.9, np.full(k - 1, 0.1 / (k - 1))]
    truth = rng.choice(k, n, p=prior)
    ease = np.exp(rng.normal(0, float(kind[3:]), n)) if kind.startswith("sd") else np.ones(n)
    right = 1 / (1 + np.exp(-np.outer(rng.uniform(0.4, 2.5, WORKERS), ease)))
    honest = np.ones(WORKERS, dtype=bool)
    if kind == "guessers":
        right = np.tile(rng.uniform(0.7, 0.95, WORKERS)[:, None], n)
        honest[: WORKERS // 3] = False
        right[~honest] = 1 / k
    here = np.argsort(rng.random((n, WORKERS)), axis=1)[:, : labels or WORKERS]
    task, worker = np.repeat(np.arange(n), here.shape[1]), here.ravel()
    wrong = (truth[task] + rng.integers(1, k, len(task))) % k
    if seed // 8 % 2 and kind != "guessers":
        tempting = (truth + rng.integers(1, k, n)) % k
        wrong = np.where(rng.random(len(task)) < 0.7, tempting[task], wrong)
    said = np.where(rng.random(len(task)) < right[worker, task], truth[task], wrong)
    known = {"tasks": range(n), "workers": range(WORKERS), "classes": range(k)}
    return cw.Annotations.from_arrays(task, worker, said, time=task * 60.0, **known), honest


def measure(k: int, kind: str, seeds: range) -> Found:
    """All flags on crowds of one sort."""
    out = Found()
    for seed in seeds:
        votes, honest = independent(k, kind, seed)
        flags = flags_of(Judgement(votes, cw.method(METHOD).fit(votes)))
        studied = {f.worker for f in flags if f.name in STUDIED and honest[f.worker]}
        outliers = {f.worker: f for f in [*agreement_outliers(votes), *robust_outliers(votes)]}
        flags += [*outliers.values(), *covariance_flags(votes)]
        names = Counter(f.name for f in flags if f.name != "unknown" and honest[f.worker])
        out += Found(int(honest.sum()), len(studied), names)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="crowds of each sort; fewer write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    found = {(k, kind): _told(k, kind, range(options.seeds)) for k in CLASSES for kind in KINDS}
    total = sum(found.values(), Found())
    tables = page(found, total)
    print(tables)
    if options.seeds >= SEEDS:
        flags = {name: total.by_name[name] for name in ACCUSING}
        made = {"command": COMMAND, "honest": total.honest, "flagged": flags}
        RATES.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
        words = (__doc__ or "").partition("\n\n")[2].partition("\n\nPrints")[0].replace("\n\n", "\n\n```\n") + "\n```"
        write_section(DOCS / "workers.md", SECTION, "False alarms", COMMAND, f"{words}\n\n{tables}")


def _told(k: int, kind: str, seeds: range) -> Found:
    found = measure(k, kind, seeds)
    print(f"K = {k}, {kind}: {found.any_flag} of {found.honest}", dict(found.by_name), flush=True)
    return found


def page(found: dict[tuple[int, str], Found], total: Found) -> str:
    """Two tables: by sort of crowd, and by flag."""
    cells = {at: f"{one.any_flag} of {one.honest:,}" for at, one in found.items()}
    rows = [[f"K = {k}", *(cells[k, kind] for kind in KINDS)] for k in CLASSES]
    flags = [[name, f"{total.by_name[name]} of {total.honest:,}", f"{total.by_name[name] / total.honest:.3%}"]
             for name in ACCUSING]  # fmt: skip
    both = f"{total.any_flag} of {total.honest:,}", f"{total.any_flag / total.honest:.3%}"
    flags.append(["any that `study` raises", *both])
    return f"{table(['honest workers flagged', *KINDS], rows)}\n\n{table(['flag', 'honest workers', 'share'], flags)}"


if __name__ == "__main__":
    main()
